//! `mcp-hil run`, and what an installed command has with it. With the feature `hil` firmware is run.

use crate::run::{File, command, finish, run};

#[test]
fn an_installed_command_needs_no_checkout() {
    let child = command(&["replay", "reference", "--filter", "/unknown-tool"])
        .current_dir("/")
        .spawn()
        .unwrap();
    finish(child)
        .ended(0, "pass  2025-11-25/unknown-tool")
        .ended(0, "pass  2026-07-28/unknown-tool");
}

#[cfg(target_os = "linux")]
#[test]
fn two_for_what_is_no_firmware() {
    run(&["run", "/no/such/file"]).ended(2, "/no/such/file: No such file");
    let file = File::with_text("no ELF");
    run(&["run", file.path()]).ended(2, "is no firmware: it is no ELF file, no application image");
    run(&["run", "/bin/true"]).ended(2, "a firmware is an executable for 32-bit RISC-V");
    let elsewhere = elf(0x4200_0000, &[]);
    run(&["run", &elsewhere.1]).ended(3, "no board is plugged in");
    let here = elf(0x8000_0000, &[]);
    run(&["run", &here.1, "--boards", "0"]).ended(2, "a number of boards from 1 to 100");
    run(&["run", &here.1, "--filter", "no such transcript"]).ended(4, "no transcript is chosen");
}

/// An executable for 32-bit RISC-V with this code at its entry (System V ABI, "Object Files").
fn elf(entry: u32, code: &[u32]) -> (tempfile::TempDir, String) {
    const HEAD: u32 = 52;
    const PROGRAM_HEADER: u32 = 32;
    let offset = HEAD + PROGRAM_HEADER;
    let length = u32::try_from(code.len() * 4).unwrap();
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    let (executable, risc_v) = (2_u16, 243_u16);
    file.extend([executable, risc_v].map(u16::to_le_bytes).concat());
    file.extend([1, entry, HEAD, 0, 0].map(u32::to_le_bytes).concat());
    file.extend([52_u16, 32, 1, 40, 0, 0].map(u16::to_le_bytes).concat());
    let load = [1, offset, entry, entry, length, length, 7, 4];
    file.extend(load.map(u32::to_le_bytes).concat());
    file.extend(code.iter().flat_map(|word| word.to_le_bytes()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("firmware.elf");
    std::fs::write(&path, file).unwrap();
    (folder, path.display().to_string())
}

#[cfg(feature = "hil")]
mod on_boards {
    use super::*;
    use mcp_hil_harness::board::firmware::VIRTUAL;
    use std::path::Path;

    fn firmware() -> String {
        let folder = VIRTUAL.find(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let build = VIRTUAL.build(&folder, Path::new(env!("CARGO")));
        runtime.block_on(build).unwrap().display().to_string()
    }

    #[test]
    fn a_firmware_is_run_on_two_boards_each_with_its_logs() {
        let logs = tempfile::tempdir().unwrap();
        let folder = logs.path().to_str().unwrap();
        let ran = run(&[
            "run",
            &firmware(),
            "--boards",
            "2",
            "--filter",
            "/uptime",
            "--logs",
            folder,
        ]);
        ran.ended(0, "4 passed, 0 failed, 0 skipped");
        for (board, mac) in [("board-0", "0d250a"), ("board-1", "0d250b")] {
            for stage in ["start", "boot", "find", "replay"] {
                ran.ended(0, &format!("stage {board} {stage}  ("));
            }
            ran.ended(0, &format!("mcp-hil-{mac} at http://10.13.37."));
            ran.ended(0, &format!("pass  {board} 2026-07-28/uptime"));
            let read = |name: &str| std::fs::read_to_string(logs.path().join(board).join(name)).unwrap();
            assert!(read("console.log").contains("stage=serving"));
            assert!(read("verdicts.log").starts_with(&format!("pass  {board} 2025-11-25/uptime")));
            assert!(read("exchanges/2026-07-28__uptime.log").contains("\"uptime_ms\""));
        }
        // the first block of a pcapng file
        let capture = std::fs::read(logs.path().join("network.pcapng")).unwrap();
        assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    }

    #[test]
    fn one_for_a_firmware_that_ends() {
        // lui t0,0x100; lui t1,5; addi t1,t1,0x555; sw t1,0(t0): the machine's power is off
        let off = elf(0x8000_0000, &[0x0010_02b7, 0x0000_5337, 0x5553_0313, 0x0062_a023]);
        run(&["run", &off.1, "--filter", "/uptime"]).ended(1, "hung: the board ended ");
    }

    #[test]
    fn every_report_of_a_run_has_the_boards_with_their_stages() {
        let off = elf(0x8000_0000, &[0x0010_02b7, 0x0000_5337, 0x5553_0313, 0x0062_a023]);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut arguments = ["run", &off.1, "--boards", "2", "--filter", "/uptime"]
            .map(str::to_owned)
            .to_vec();
        for format in ["json", "junit", "markdown", "html"] {
            arguments.extend([format!("--{format}"), path(format)]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&arguments).ended(1, "stage board-1 boot  (");
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        let report: serde_json::Value = serde_json::from_str(&read("json")).unwrap();
        assert!(
            crate::reports::schema_of_reports().is_valid(&report),
            "{report:#}"
        );
        for board in ["board-0", "board-1"] {
            let stages = report["stages"].as_array().unwrap().iter();
            let stages: Vec<_> = stages
                .filter(|stage| stage["board"] == board)
                .map(|stage| {
                    (
                        stage["name"].as_str().unwrap(),
                        stage["failed"].as_bool().unwrap(),
                    )
                })
                .collect();
            assert_eq!(stages, [("start", false), ("boot", true)]);
        }
        let result = &report["results"][1];
        assert_eq!((&result["id"], &result["stage"]), (&"run".into(), &"boot".into()));
        assert!(result["findings"][0]["advice"].is_string(), "{result:#}");
        let document = read("junit");
        let document = roxmltree::Document::parse(&document).unwrap();
        let stages = document
            .descendants()
            .filter(|node| node.attribute("name") == Some("stage boot"));
        let values: Vec<_> = stages.map(|node| node.attribute("value").unwrap()).collect();
        assert!(
            values.len() == 2 && values.iter().all(|value| value.ends_with("FAILED: hung")),
            "{values:?}"
        );
        for board in ["board-0", "board-1"] {
            let markdown = read("markdown");
            let line = markdown
                .lines()
                .find(|line| line.starts_with(&format!("| <code>{board}</code> | ❌ fail |")));
            assert!(
                line.is_some_and(|line| line.contains("**boot ") && line.contains(": hung**")),
                "{markdown}"
            );
            assert!(read("html").contains(&format!("<button data-search=\"{board}\">")));
        }
    }

    #[test]
    fn one_for_a_firmware_that_comes_to_nothing() {
        // j .
        let nothing = elf(0x8000_0000, &[0x0000_006f]);
        run(&[
            "run",
            &nothing.1,
            "--filter",
            "/uptime",
            "--deadline-factor",
            "0.05",
        ])
        .ended(
            1,
            "hung: it told neither on its console nor over mDNS within 1.5 s",
        );
    }
}
