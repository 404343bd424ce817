//! `mcp-hil monitor`.

use super::args::Monitor;
use super::{acquire, blocking, failed, log_of};
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::bench::capture::{Capture, Line};
use mcp_hil_harness::bench::choose;
use mcp_hil_harness::bench::power::{Power as _, Start};
use mcp_hil_harness::bench::recognise::{Recogniser, Sign};
use mcp_hil_harness::bench::symbols::Symbols;
use mcp_hil_harness::report::escape_line;
use regex::Regex;
use std::time::{Duration, Instant};

/// How long new lines are waited for before the time is looked at.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) async fn run(args: Monitor) -> Exit {
    follow(args).await.unwrap_or_else(|exit| exit)
}

async fn follow(args: Monitor) -> Result<Exit, Exit> {
    let symbols = args
        .elf
        .as_deref()
        .map(Symbols::open)
        .transpose()
        .map_err(|error| Exit::Usage.because(&format!("--elf {error}")))?;
    let held = acquire(&args.choice, args.board.as_deref(), "monitor").await?;
    let (board, site) = (held.board.clone(), choose::site(&held.board));
    let log = log_of(&board, args.log.as_deref());
    let opened = blocking(move || match args.reset {
        true => board.power.restart(&site, Start::Run, board.console_baud),
        false => site.open(board.console_baud),
    })
    .await?;
    let port = opened.map_err(|failure| failed(&failure))?;
    let board = held.board.clone();
    let capture =
        Capture::start(port, &choose::site(&board), board.console_baud, log.as_deref()).map_err(|error| {
            Exit::Usage.because(&format!("the log {}: {error}", log.unwrap_or_default().display()))
        })?;
    let mut follower = Follower {
        signs: Recogniser::default(),
        explained: 0,
        named: false,
        unstartable: false,
        symbols,
        until: args.until,
    };
    let end = args.timeout.map(|timeout| Instant::now() + timeout);
    let exit = blocking(move || {
        let _held = held;
        let mut next = 0;
        loop {
            let (lines, then) = capture
                .wait(LOOK, |content| {
                    Some(content.lines_from(next)).filter(|(lines, _)| !lines.is_empty())
                })
                .unwrap_or((Vec::new(), next));
            next = then;
            for line in &lines {
                if follower.line(line) {
                    return Exit::Passed;
                }
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return match &follower.until {
                    None => Exit::Passed,
                    Some(until) => {
                        let seconds = args.timeout.unwrap_or_default().as_secs_f64();
                        Exit::Failed.because(&format!(
                            "{}: no line matched {:?} within {seconds} s",
                            board.name,
                            until.as_str()
                        ))
                    }
                };
            }
        }
    });
    Ok(exit.await?)
}

/// Shows lines, and what they mean.
struct Follower {
    signs: Recogniser,
    explained: usize,
    named: bool,
    unstartable: bool,
    symbols: Option<Symbols>,
    until: Option<Regex>,
}

impl Follower {
    /// Shows a line. True: it is the one that was waited for.
    fn line(&mut self, line: &Line) -> bool {
        if line.is_note {
            output::print(true, &format!("-- {}\n", line.text));
            return false;
        }
        output::print(false, &format!("{}\n", escape_line(&line.text)));
        match self.signs.line(&line.text) {
            Some(Sign::Panic(_)) => note("the firmware panicked"),
            Some(Sign::Watchdog(_)) => note("a watchdog was not fed"),
            Some(Sign::BrownOut(_)) => note("the supply fell too low: another cable, hub or power supply"),
            // the ROM says it again and again
            Some(Sign::BadImage(_)) if !std::mem::replace(&mut self.unstartable, true) => {
                note("what is in flash can't be started");
            }
            Some(Sign::Download) => note("the ROM loader waits for a flashing tool"),
            Some(Sign::Reset { .. } | Sign::BadImage(_)) | None => {}
        }
        if let (Some(symbols), Some(crash)) = (&self.symbols, self.signs.crash()) {
            let new = crash.addresses.get(self.explained..).unwrap_or_default();
            for place in symbols.explain(new) {
                note(&escape_line(&place));
            }
            self.explained = crash.addresses.len();
        }
        if self.signs.is_loop() && !self.named {
            self.named = true;
            note(&format!(
                "boot-loop: it started {} times and was never up: {}",
                self.signs.resets().0,
                self.signs.reasons()
            ));
        }
        self.until
            .as_ref()
            .is_some_and(|until| until.is_match(&line.text))
    }
}

fn note(text: &str) {
    output::print(true, &format!("-- {text}\n"));
}
