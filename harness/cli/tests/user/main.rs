//! A user's `cargo test --features hil` on the boards of an inventory: it goes the way of `mcp-hil run`. This program is both,
//! the user's test and what starts it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
#[path = "../loop/lab.rs"]
#[allow(dead_code)] // the other tests use it all
mod lab;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match std::env::var_os(tests::USER) {
        // all that a user writes
        Some(_) => mcp_hil::main("../../firmware/boards/virt"),
        None => tests::run(),
    }
}

#[cfg(target_os = "linux")]
mod tests {
    use super::lab::{Lab, Ran, ended};
    use libtest_mimic::{Arguments, Trial};
    use std::process::ExitCode;

    /// Set for the user's test.
    pub const USER: &str = "MCP_HIL_TEST_AS_USER";

    pub fn run() -> ExitCode {
        let trial = |name: &str, test: fn()| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        };
        let trials = vec![
            trial("the_boards_of_the_inventory_are_flashed_and_tested", all_boards),
            trial("a_board_that_is_named_is_flashed_alone", one_board),
            trial("where_no_board_fits_one_in_qemu_is_taken", none_fits),
        ];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    }

    /// The user's test, with the inventory of a lab.
    fn user(lab: &Lab, words: &[&str], target: Option<&str>) -> Ran {
        let program = std::env::current_exe().unwrap();
        let mut command = lab.inside(&[program.to_str().unwrap()]);
        command
            .args(words)
            .env(USER, "1")
            .env("MCP_HIL_INVENTORY", lab.path("boards.toml"))
            .env_remove(mcp_hil::suite::TARGET);
        if let Some(target) = target {
            command.env(mcp_hil::suite::TARGET, target);
        }
        ended(command)
    }

    fn says(ran: &Ran, text: &str) {
        let said = ran.stdout.contains(text) || ran.stderr.contains(text);
        assert!(said, "no {text:?} in\n{}{}", ran.stdout, ran.stderr);
    }

    fn all_boards() {
        let lab = Lab::new(2);
        let ran = user(&lab, &["2025-11-25/uptime"], None);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        says(&ran, "test inventory::2025-11-25/uptime ... ok");
        for (board, mac) in [("desk-0", "02:00:0a:0d:25:0a"), ("desk-1", "02:00:0a:0d:25:0b")] {
            for stage in ["lease", "identify", "flash", "reset", "boot", "find"] {
                says(&ran, &format!("stage {board} {stage}  ("));
            }
            says(&ran, &format!("esp32c3, {mac}"));
            assert!(!ran.stderr.contains("in flash already"), "{ran:?}");
        }
        assert_eq!(ran.stderr.matches(", runs this build").count(), 2, "{ran:?}");

        // a firmware that fails is a failed test with the name of the failure, also on a second board
        lab.throw(1, "fault boot-panic");
        let failed = user(&lab, &["2025-11-25/uptime"], None);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        says(&failed, "desk-1: boot-panic: ");
        lab.throw(1, "fault none");

        // and so is a board that runs another build than the one that was flashed
        lab.flash_other(0);
        lab.throw(0, "fault old-firmware");
        let old = user(&lab, &["2025-11-25/uptime"], None);
        assert_eq!(old.code, Some(1), "{old:?}");
        says(&old, "desk-0: old-firmware: ");
        lab.throw(0, "fault none");
        assert_eq!(user(&lab, &["2025-11-25/uptime"], None).code, Some(0));
    }

    fn one_board() {
        let lab = Lab::new(2);
        let blank = std::fs::read(lab.path("boards/board-0/flash.bin")).unwrap();
        let ran = user(&lab, &["2025-11-25/uptime"], Some("board:desk-1"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        says(&ran, "test board-desk-1::2025-11-25/uptime ... ok");
        says(&ran, "stage desk-1 flash  (");
        assert!(!ran.stderr.contains("desk-0"), "{ran:?}");
        assert!(std::fs::read(lab.path("boards/board-0/flash.bin")).unwrap() == blank);
        assert!(std::fs::read(lab.path("boards/board-1/flash.bin")).unwrap() != blank);
        let wrong = user(&lab, &["2025-11-25/uptime"], Some("board:desk-7"));
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        says(&wrong, "there is no board \"desk-7\"");
    }

    fn none_fits() {
        let folder = tempfile::tempdir().unwrap();
        let inventory = folder.path().join("boards.toml");
        std::fs::write(
            &inventory,
            "[boards.c6]\nport = \"/dev/no-such-port\"\nchip = \"esp32c6\"\n",
        )
        .unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .arg("2025-11-25/uptime")
            .env(USER, "1")
            .env("MCP_HIL_INVENTORY", inventory)
            .env_remove(mcp_hil::suite::TARGET);
        let ran = ended(command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        says(&ran, "stage board-0 start  (");
    }
}
