//! A failure shows what the board printed since the step began.

use crate::lab::{CONSOLE, Ready, runtime};
use mcp_hil_harness::board::console::Console;
use mcp_hil_harness::replay::{CONTRACT, Subject, replay};
use mcp_hil_harness::report;
use mcp_hil_harness::target::Target;
use mcp_hil_harness::transcript;
use std::sync::Arc;
use std::time::Duration;

const TRANSCRIPT: &str = r#"{
    "title": "fails", "about": "The second step takes a second and fails.", "revision": "2026-07-28",
    "steps": [
        {"name": "passes", "wait_ms": 500},
        {"name": "fails", "expect": {"status": 418}, "send":
            {"raw": ["GET ${path} HTTP/1.1\r\nHost: ${host}\r\n", {"pause_ms": 1000}, "\r\n"]}}
    ]
}"#;

pub fn of_a_failing_step(ready: &Ready) -> Result<(), String> {
    let mut tested = ready.start(CONSOLE)?;
    // the last thing that it prints unasked
    tested
        .board
        .wait_for_stage("announced", Duration::from_secs(5))
        .map_err(|error| error.to_string())?;
    let subject = Subject {
        console: Some(tested.board.shared_console() as Arc<dyn Console>),
        ..Subject::new(Target::Http(tested.endpoint.clone()), Some(CONTRACT.to_owned()))
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("fails.json");
    std::fs::write(&file, TRANSCRIPT).map_err(|error| error.to_string())?;
    let transcripts = transcript::read(&[file]).map_err(|error| error.to_string())?;
    let mut typed = Ok(());
    let report = std::thread::scope(|scope| {
        let typing = scope.spawn(|| {
            // in the first step, and in the second
            for _ in 0..2 {
                tested.board.type_line("stats")?;
                std::thread::sleep(Duration::from_millis(1000));
            }
            Ok(())
        });
        let report = runtime()
            .map(|runtime| runtime.block_on(replay("virtual", &[subject], &transcripts, 1.0, |_| ())));
        typed = typing
            .join()
            .unwrap_or(Ok(()))
            .map_err(|error: mcp_hil_virtual_board::Error| error.to_string());
        report
    })?;
    typed?;
    let findings = report.results.first().map(|played| played.verdict.findings());
    let Some([failure]) = findings else {
        return Err(format!("no failure: {report:?}"));
    };
    let [line] = failure.console.as_slice() else {
        return Err(format!("not the one line of the step: {:?}", failure.console));
    };
    let junit = report::junit(&report).map_err(|error| error.to_string())?;
    let texts = [
        report::line(
            &report.results[0],
            report::style::Style::PLAIN,
            report::Detail::Full,
        ),
        report::json(&report),
        junit,
    ];
    match texts
        .iter()
        .find(|text| !text.contains("mcp-device stats static=") || !text.contains(line.as_str()))
    {
        Some(text) => Err(format!("{line:?} is not in\n{text}")),
        None => Ok(()),
    }
}
