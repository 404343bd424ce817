//! `mcp-hil discover`.

use crate::args::Discover;
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::discover::{DiscoverError, Discovery, Found, Options, Search, discover};
use mcp_hil_harness::report::{columns, escape, escape_line};
use std::fmt::Write as _;

/// Ends well if as many boards as were waited for, or one, can be used.
pub async fn run(args: Discover) -> Exit {
    let wanted = args.wait.map_or(1, std::num::NonZeroUsize::get);
    let search = Search {
        options: Options {
            service: args.service,
            interfaces: args.interface,
        },
        wait: args.wait.map(std::num::NonZeroUsize::get),
        limit: args.timeout,
        known: args.known,
    };
    let discovery = match discover(&search).await {
        Ok(discovery) => discovery,
        Err(error @ (DiscoverError::Service(_) | DiscoverError::Interface(_))) => {
            return Exit::Usage.because(&error.to_string());
        }
        Err(error) => return Exit::Infrastructure.because(&error.to_string()),
    };
    if args.json {
        output::print(false, &discovery.json());
    } else {
        output::print(false, &table(&discovery.devices));
        output::print(true, &remarks(&discovery));
    }
    let usable = discovery
        .devices
        .iter()
        .filter(|board| board.url.is_some())
        .count();
    if usable >= wanted {
        Exit::Passed
    } else {
        Exit::Infrastructure.because(&format!("boards that can be used: {usable}, wanted: {wanted}"))
    }
}

/// The boards in columns, with what is odd about each below it.
fn table(boards: &[Found]) -> String {
    if boards.is_empty() {
        return String::new();
    }
    let header = [
        "INSTANCE",
        "HOSTNAME",
        "URL",
        "ID",
        "BUILD",
        "INTERFACE",
        "REACHABLE",
    ]
    .map(str::to_owned);
    let rows: Vec<_> = std::iter::once(header).chain(boards.iter().map(row)).collect();
    let mut text = String::new();
    for (at, line) in columns(&rows).iter().enumerate() {
        let _ = writeln!(text, "{line}");
        let board = at.checked_sub(1).and_then(|at| boards.get(at));
        for oddity in board.into_iter().flat_map(|board| &board.oddities) {
            let _ = writeln!(text, "  ! {}", escape_line(&oddity.to_string()));
        }
    }
    text
}

fn row(board: &Found) -> [String; 7] {
    let shown = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), escape_line);
    let reachable = match board.reachable {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    // a build id's first digits tell builds apart, and the table stays narrow
    let build = board
        .build
        .as_deref()
        .map(|build| build.chars().take(12).collect::<String>());
    [
        escape_line(&board.instance),
        shown(board.hostname.as_deref()),
        shown(board.url.as_deref()),
        shown(board.id.as_deref()),
        shown(build.as_deref()),
        board.interface.clone(),
        reachable.to_owned(),
    ]
}

fn remarks(discovery: &Discovery) -> String {
    let mut text = String::new();
    for (sender, unreadable) in &discovery.unreadable {
        let (packets, reason) = (unreadable.packets, &unreadable.reason);
        let _ = writeln!(
            text,
            "{packets} packets from {sender} could not be read: {}",
            escape_line(reason)
        );
    }
    if let Some(diagnosis) = &discovery.diagnosis {
        text.push_str(&escape(&diagnosis.to_string()));
    }
    text
}
