//! What the harness remembers of a board from run to run: the rate that held, the firmware last seen, where it answered.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is remembered of a board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Baud rate at which the last flashing went well.
    pub flash_baud: Option<u32>,
    /// Firmware last seen.
    pub firmware: Option<Firmware>,
    /// URL at which it answered last.
    pub endpoint: Option<String>,
}

/// A firmware that was flashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// Name of the file.
    pub file: String,
    /// Its GNU build id, if it has one.
    pub build_id: Option<String>,
    /// Seconds since 1970 at which it was seen.
    pub seen: u64,
}

/// The folder of what is remembered.
#[derive(Clone, Debug)]
pub struct Memories(Option<PathBuf>);

impl Memories {
    /// That of `MCP_HIL_STATE`, or of the user.
    pub fn of_user() -> Self {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let folder = set("MCP_HIL_STATE")
            .or_else(|| set("XDG_STATE_HOME").map(|folder| folder.join("mcp-hil")))
            .or_else(|| set("HOME").map(|home| home.join(".local/state/mcp-hil")));
        Self(folder)
    }

    /// A folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self(Some(folder.to_owned()))
    }

    /// What is remembered of a board; nothing, if that can't be read.
    pub fn read(&self, key: &str) -> Memory {
        let read = || serde_json::from_str(&std::fs::read_to_string(self.path(key)?).ok()?).ok();
        read().unwrap_or_default()
    }

    /// Changes it. What can't be written is forgotten: a run does not fail for that.
    pub fn change(&self, key: &str, change: impl FnOnce(&mut Memory)) {
        let Some(path) = self.path(key) else {
            return;
        };
        let mut memory = self.read(key);
        change(&mut memory);
        let write = || {
            std::fs::create_dir_all(path.parent()?).ok()?;
            let draft = path.with_extension(format!("{}.new", std::process::id()));
            std::fs::write(&draft, serde_json::to_string_pretty(&memory).ok()?).ok()?;
            std::fs::rename(&draft, &path).ok()
        };
        let _: Option<()> = write();
    }

    /// The log of a board's console, to which every run adds.
    pub fn log(&self, board: &str) -> Option<PathBuf> {
        let name: String = board.chars().map(|c| if c == '/' { '_' } else { c }).collect();
        Some(
            self.0
                .as_ref()?
                .join(format!("logs/{}.log", name.trim_start_matches('_'))),
        )
    }

    /// Where an emulated board keeps its things, as its flash.
    pub fn folder_of(&self, board: &str) -> PathBuf {
        let folder = self
            .0
            .clone()
            .unwrap_or_else(|| std::env::temp_dir().join("mcp-hil"));
        folder.join("chips").join(board)
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let name: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        Some(self.0.as_ref()?.join(format!("{name}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_there_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let memories = Memories::in_folder(&folder.path().join("state"));
        assert_eq!(memories.read("60:55:f9:00:00:01"), Memory::default());
        memories.change("60:55:f9:00:00:01", |memory| memory.flash_baud = Some(921_600));
        memories.change("60:55:f9:00:00:01", |memory| {
            memory.endpoint = Some("http://x/".to_owned())
        });
        let memory = memories.read("60:55:f9:00:00:01");
        assert_eq!(
            (memory.flash_baud, memory.endpoint.as_deref()),
            (Some(921_600), Some("http://x/"))
        );
        assert_eq!(memories.read("another"), Memory::default());
    }
}
