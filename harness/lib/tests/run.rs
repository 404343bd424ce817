//! What a run makes of boards that get no further than their start. They are played by this test, on loopback.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use mcp_hil_harness::bench::failure::{Failure, Kind};
use mcp_hil_harness::board::console::Console;
use mcp_hil_harness::discover;
use mcp_hil_harness::report::{Case, Verdict};
use mcp_hil_harness::run::{Clues, Dut, Options, Stages, Started, run};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// A board, or why it can't be had.
struct Board(Result<Prints, &'static str>);

/// What is on its console, from the start.
#[derive(Clone, Copy, Debug)]
struct Prints {
    lines: &'static [&'static str],
    /// It ends after that.
    ends: bool,
}

impl Console for Prints {
    fn since(&self, _: Instant) -> Vec<String> {
        self.lines.iter().map(|line| (*line).to_owned()).collect()
    }

    fn ended(&self) -> bool {
        self.ends
    }
}

impl Dut for Board {
    fn name(&self) -> &str {
        "desk"
    }

    async fn start(&mut self, _: &Stages<'_>) -> Result<Started, Failure> {
        Ok(Started {
            at: Instant::now(),
            console: Arc::new(
                self.0
                    .map_err(|reason| Failure::new(Kind::PortMissing, "desk", reason))?,
            ),
            clues: Clues::default(),
        })
    }
}

/// Runs a firmware on a board that comes to nothing: the one result that there is.
async fn result_of(board: Result<Prints, &'static str>) -> Case {
    result_with(board, None).await
}

async fn result_with(board: Result<Prints, &'static str>, symbols: Option<PathBuf>) -> Case {
    let options = Options {
        symbols,
        // a hundredth: nobody is there to be waited for
        deadline_factor: 0.01,
        search: discover::Options {
            interfaces: vec!["lo".to_owned()],
            // nobody else's
            service: "_mcp-hil-run._tcp".to_owned(),
        },
        ..Options::default()
    };
    let report = run("firmware.elf", &mut [Board(board)], &[], &options, |_| ()).await;
    let [played] = <[Case; 1]>::try_from(report.results).unwrap();
    assert_eq!(
        (played.id.as_str(), played.board.as_deref()),
        ("run", Some("desk"))
    );
    played
}

async fn prints(lines: &'static [&'static str]) -> Verdict {
    result_of(Ok(Prints { lines, ends: false })).await.verdict
}

#[tokio::test]
async fn a_board_that_can_t_be_had_is_the_bench_s_matter() {
    let Verdict::Infrastructure(reason) = result_of(Err("no such port")).await.verdict else {
        panic!("it was judged");
    };
    assert!(reason.starts_with("port-missing: no such port"), "{reason}");
}

#[tokio::test]
async fn a_board_without_an_address_is_the_network_s_matter() {
    let verdict = prints(&[
        "mcp-device boot stage=reset reason=power-on",
        "mcp-device boot stage=mac mac=02:00:5e:00:53:01",
    ]);
    let Verdict::Infrastructure(reason) = verdict.await else {
        panic!("it was judged");
    };
    assert!(
        reason.starts_with("no-network: the board 02:00:5e:00:53:01 "),
        "{reason}"
    );
}

#[tokio::test]
async fn a_firmware_that_ends_has_failed_with_its_console() {
    let lines = &["mcp-device panic at src/main.rs:1:1: no"];
    let Verdict::Fail(findings) = result_of(Ok(Prints { lines, ends: true })).await.verdict else {
        panic!("it did not fail");
    };
    let failure = &findings[0];
    assert!(failure.reason.starts_with("boot-panic: "), "{}", failure.reason);
    assert_eq!(failure.console, lines);
}

/// An executable of one function, `lost`, at 0x80000000 (System V ABI, "Object Files": a symbol table and its names).
fn elf() -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2_u16, 243].map(u16::to_le_bytes).concat());
    let (code, names) = (0x8000_0000_u32, 52 + 4 * 40);
    file.extend([1, code, 0, 52, 0].map(u32::to_le_bytes).concat());
    file.extend([52_u16, 0, 0, 40, 4, 3].map(u16::to_le_bytes).concat());
    let sections = [
        [0; 10],
        // .text: nothing of it is in the file
        [0, 8, 6, code, 0, 16, 0, 0, 4, 0],
        [0, 2, 0, 0, names + 6, 32, 3, 1, 4, 16],
        [0, 3, 0, 0, names, 6, 0, 0, 1, 0],
    ];
    file.extend(sections.concat().into_iter().flat_map(u32::to_le_bytes));
    file.extend(b"\0lost\0");
    file.extend([0; 16]);
    file.extend([1, code, 16].map(u32::to_le_bytes).concat());
    // a global function, in section 1
    file.extend([0x12, 0, 1, 0]);
    file
}

#[tokio::test]
async fn the_addresses_of_a_panic_are_explained() {
    let lines = &[
        "mcp-device panic at src/main.rs:1:1: no",
        "mcp-device backtrace 0x80000004",
        "mcp-device backtrace 0x80001000",
    ];
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), elf()).unwrap();
    let result = result_with(Ok(Prints { lines, ends: true }), Some(file.path().to_owned())).await;
    let Verdict::Fail(findings) = result.verdict else {
        panic!("it did not fail");
    };
    assert_eq!(
        findings[0].console,
        [&lines[..], &["at 0x80000004 lost"]].concat()
    );
}

#[tokio::test]
async fn a_firmware_that_says_nothing_has_failed() {
    let Verdict::Fail(findings) = prints(&["hello"]).await else {
        panic!("it did not fail");
    };
    let failure = &findings[0];
    assert!(
        failure.reason.starts_with("hung: it told neither "),
        "{}",
        failure.reason
    );
}

#[tokio::test]
async fn a_firmware_that_serves_and_is_not_announced_has_failed() {
    let verdict = prints(&[
        "mcp-device boot stage=mac mac=02:00:5e:00:53:01",
        "mcp-device boot stage=address ip=127.0.0.1",
        "mcp-device boot stage=serving url=http://127.0.0.1:9/mcp",
    ]);
    let Verdict::Fail(findings) = verdict.await else {
        panic!("it did not fail");
    };
    let failure = &findings[0];
    let expected = "not-announced: the board (02:00:5e:00:53:01, 127.0.0.1) ";
    assert!(failure.reason.starts_with(expected), "{}", failure.reason);
}
