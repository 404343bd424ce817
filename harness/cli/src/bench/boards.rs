//! `mcp-hil boards` and `mcp-hil boards scan`.

use super::args::{Boards, BoardsAction, Line};
use super::{blocking, failed, flash, load};
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::bench::choose;
use mcp_hil_harness::bench::flash::job::Task;
use mcp_hil_harness::bench::inventory::{self, BoardKind, Entry, Inventory, Scanned};
use mcp_hil_harness::bench::lease::{Holder, Leases};
use mcp_hil_harness::bench::memory::Memories;
use mcp_hil_harness::bench::overview::{self, Row};
use mcp_hil_harness::bench::ports::{self, Port};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// By then a board has said what it is.
const IDENTIFY: Duration = Duration::from_secs(30);

pub(crate) async fn run(args: Boards) -> Exit {
    let done = match &args.action {
        None => list(&args),
        Some(BoardsAction::Scan { ports }) => scan(args.inventory.as_deref(), ports).await,
    };
    done.unwrap_or_else(|exit| exit)
}

fn list(args: &Boards) -> Result<Exit, Exit> {
    let inventory = load(args.inventory.as_deref())?;
    let ports = ports::list();
    let known = inventory.as_ref().map_or(&[][..], |inventory| &inventory.boards);
    let strangers = ports
        .iter()
        .filter(|port| port.may_be_board() && !known.iter().any(|board| port.is(&board.port)))
        .map(|port| Entry::on_port(&port.path.display().to_string(), port.stable()));
    let (leases, memories) = (Leases::of_this_machine(), Memories::of_user());
    let rows: Vec<_> = known
        .iter()
        .cloned()
        .chain(strangers)
        .map(|board| Row {
            present: board.is_there(),
            holder: leases.holder(&choose::lease_key(&board)).unwrap_or_default(),
            memory: memories.read(&choose::memory_key(&board)),
            board,
        })
        .collect();
    if args.json {
        output::print(false, &overview::json(&rows));
        return Ok(Exit::Passed);
    }
    match &inventory {
        Some(inventory) => output::print(true, &format!("inventory: {}\n", inventory.file().display())),
        None => output::print(true, "no inventory; `mcp-hil boards scan` writes one\n"),
    }
    if rows.is_empty() {
        output::print(true, "no boards\n");
    }
    output::print(false, &overview::table(&rows, SystemTime::now()));
    Ok(Exit::Passed)
}

async fn scan(named: Option<&Path>, only: &[PathBuf]) -> Result<Exit, Exit> {
    let file = inventory::find(named)
        .or_else(inventory::of_user)
        .ok_or_else(|| {
            Exit::Usage.because("where should the inventory be? give --inventory FILE; there is no HOME")
        })?;
    let mut inventory = if file.exists() {
        load(Some(&file))?.unwrap_or_else(|| Inventory::new(&file))
    } else {
        Inventory::new(&file)
    };
    let ports = wanted_ports(&inventory, only);
    if ports.is_empty() {
        return Err(Exit::Infrastructure.because(
            "no board is plugged in: no USB serial port of a known make, and no other in the inventory",
        ));
    }
    let (mut worst, mut found) = (None, 0);
    for port in ports {
        match identify(&inventory, &port).await {
            Ok(scanned) => {
                found += 1;
                let shown = format!("{}  {}  {}", scanned.chip, scanned.mac, port.stable().display());
                let (name, changed) = inventory.take_up(&scanned);
                let what = if changed { "taken up" } else { "as before" };
                output::print(false, &format!("{name}  {shown}  {what}\n"));
            }
            Err(exit) => worst = Some(exit),
        }
    }
    if found > 0 {
        inventory
            .save()
            .map_err(|error| Exit::Infrastructure.because(&error.to_string()))?;
        output::print(true, &format!("inventory: {}\n", inventory.file().display()));
    }
    worst.map_or(Ok(Exit::Passed), Err)
}

/// The ports to be asked: those that were named, or those on USB that may be boards and those of the inventory.
fn wanted_ports(inventory: &Inventory, only: &[PathBuf]) -> Vec<Port> {
    let all = ports::list();
    let plain = |path: &PathBuf| Port {
        path: path.clone(),
        ..Port::default()
    };
    let find = |path: &PathBuf| {
        all.iter()
            .find(|port| port.is(path))
            .cloned()
            .unwrap_or_else(|| plain(path))
    };
    if !only.is_empty() {
        return only.iter().map(find).collect();
    }
    let mut ports: Vec<_> = all.iter().filter(|port| port.may_be_board()).cloned().collect();
    for board in &inventory.boards {
        // what an emulator is, its entry says
        if board.kind != BoardKind::Chip
            && board.port.exists()
            && !ports.iter().any(|port| port.is(&board.port))
        {
            ports.push(find(&board.port));
        }
    }
    ports
}

async fn identify(inventory: &Inventory, port: &Port) -> Result<Scanned, Exit> {
    let known = inventory
        .boards
        .iter()
        .find(|board| port.is(&board.port))
        .cloned();
    let mut board = known.unwrap_or_else(|| Entry::on_port(&port.path.display().to_string(), port.stable()));
    // whatever is there is to be found out
    (board.mac, board.chip) = (None, None);
    let leased = board.clone();
    let lease = blocking(move || {
        let leases = Leases::of_this_machine();
        choose::lease(
            &leases,
            &[leased],
            &Holder::here("mcp-hil boards scan"),
            Duration::ZERO,
            |_| {},
        )
    })
    .await?;
    let (_, _lease) = lease.map_err(|failure| failed(&failure))?;
    let line = Line {
        baud: Some(115_200),
        deadline: IDENTIFY,
    };
    let done = flash::job(&board, Task::Identify, &line, false).await?;
    flash::restart(&board).await?;
    let unknown =
        |what: &str| Exit::Infrastructure.because(&format!("{}: its {what} can't be read", board.name));
    Ok(Scanned {
        port: port.clone(),
        mac: done.identity.mac.parse().map_err(|_| unknown("MAC address"))?,
        chip: done.identity.chip.parse().map_err(|_| unknown("chip"))?,
    })
}
