//! The boards of a bench at a glance, as a table and as JSON: pure.

use super::inventory::{BoardKind, Entry};
use super::lease::Holder;
use super::memory::Memory;
use crate::report::{columns, escape_line};
use serde_json::json;
use std::time::SystemTime;

/// A board and what is known of it now.
#[derive(Clone, Debug)]
pub struct Row {
    /// The board.
    pub board: Entry,
    /// Its port is there.
    pub present: bool,
    /// Who has its lease.
    pub holder: Option<Holder>,
    /// What is remembered of it.
    pub memory: Memory,
}

/// The boards in columns.
pub fn table(rows: &[Row], now: SystemTime) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "BOARD", "CHIP", "MAC", "PORT", "STATE", "FIRMWARE", "ENDPOINT", "NOTES",
    ]
    .map(str::to_owned);
    let cells: Vec<_> = std::iter::once(header)
        .chain(rows.iter().map(|row| cells(row, now)))
        .collect();
    columns(&cells).iter().map(|line| format!("{line}\n")).collect()
}

fn cells(row: &Row, now: SystemTime) -> [String; 8] {
    let Row { board, memory, .. } = row;
    let or_dash = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| escape_line(&text));
    let state = match (&row.holder, row.present) {
        (Some(holder), _) => format!("leased by {}", holder.describe(now)),
        (None, true) => "free".to_owned(),
        (None, false) if board.kind == BoardKind::Chip => "no emulator".to_owned(),
        (None, false) => "no port".to_owned(),
    };
    let firmware = memory.firmware.as_ref().map(|firmware| {
        let build: Option<String> = firmware
            .build_id
            .as_deref()
            .map(|id| id.chars().take(12).collect());
        build.map_or_else(
            || firmware.file.clone(),
            |build| format!("{} {build}", firmware.file),
        )
    });
    [
        board.name.clone(),
        or_dash(board.chip.map(|chip| chip.to_string())),
        or_dash(board.mac.map(|mac| mac.to_string())),
        board.port.display().to_string(),
        escape_line(&state),
        or_dash(firmware),
        or_dash(memory.endpoint.clone()),
        escape_line(&board.notes),
    ]
}

/// The same for programs: `{"boards": [{"name", "kind", "chip", "mac", "port", "usb", "present", "lease", "firmware", "endpoint", "flash_baud", "notes"}]}`.
/// What is not known is `null`; `lease` is `null` when the board is free, or `{"pid", "who", "since", "command"}`.
pub fn json(rows: &[Row]) -> String {
    let boards: Vec<_> = rows
        .iter()
        .map(|row| {
            let Row { board, memory, .. } = row;
            json!({
                "name": board.name,
                "kind": board.kind.name(),
                "chip": board.chip.map(|chip| chip.to_string()),
                "mac": board.mac.map(|mac| mac.to_string()),
                "port": board.port.display().to_string(),
                "usb": board.usb,
                "present": row.present,
                "lease": row.holder,
                "firmware": memory.firmware,
                "endpoint": memory.endpoint,
                "flash_baud": memory.flash_baud,
                "notes": board.notes,
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&json!({ "boards": boards })).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    fn rows() -> Vec<Row> {
        let row = |name: &str, holder| Row {
            board: Entry::on_port(name, Path::new("/dev/ttyACM0")),
            present: true,
            holder,
            memory: Memory::default(),
        };
        let holder = Holder {
            pid: 4711,
            who: "ann".to_owned(),
            since: 1000,
            command: "mcp-hil flash".to_owned(),
        };
        vec![row("window", None), row("shelf", Some(holder))]
    }

    #[test]
    fn a_table_says_who_has_which_board() {
        let table = table(&rows(), UNIX_EPOCH + Duration::from_secs(1030));
        let lines: Vec<_> = table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "BOARD CHIP MAC PORT STATE FIRMWARE ENDPOINT NOTES",
                "window - - /dev/ttyACM0 free - -",
                "shelf - - /dev/ttyACM0 leased by ann (pid 4711, mcp-hil flash) for 30 s - -",
            ]
        );
    }

    #[test]
    fn json_has_what_is_known() {
        let value: serde_json::Value = serde_json::from_str(&json(&rows())).unwrap();
        assert_eq!(value["boards"][0]["lease"], serde_json::Value::Null);
        assert_eq!(value["boards"][1]["lease"]["who"], "ann");
        assert_eq!(value["boards"][1]["kind"], "board");
    }
}
