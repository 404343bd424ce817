//! The native board announces itself with the device's own responder.

use mcp_hil_harness::board::firmware::NATIVE;
use mcp_hil_harness::board::native::NativeBoard;
use mcp_hil_harness::discover::{Options, Search, discover};
use std::path::Path;
use std::time::Duration;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_native_board_is_found_and_replayed_by_name() {
    let folder = NATIVE.find(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let firmware = NATIVE.build(&folder, Path::new(env!("CARGO"))).await.unwrap();
    let board = NativeBoard::start(&firmware, Duration::from_secs(10))
        .await
        .unwrap();
    let search = |limit| Search {
        options: Options {
            interfaces: vec!["lo".to_owned()],
            ..Options::default()
        },
        wait: None,
        limit: Duration::from_secs(limit),
        known: vec![board.endpoint.clone()],
    };

    let discovery = discover(&search(4)).await.unwrap();
    let is = |id: &Option<String>| *id == board.boot.mac;
    let found = discovery
        .devices
        .iter()
        .find(|found| is(&found.id))
        .unwrap_or_else(|| panic!("{discovery:#?}"));
    assert_eq!(found.target().as_ref(), Some(&board.endpoint));
    assert_eq!(found.build, board.boot.build_id);
    assert_eq!(
        (found.reachable, found.oddities.as_slice()),
        (Some(true), [].as_slice())
    );
    assert!(discovery.unannounced.is_empty());

    let target = format!("mdns:{}.local%lo", found.hostname.as_deref().unwrap());
    let replay = Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
        .args(["replay", &target, "--filter", "/uptime"])
        // a proxy that must not be asked
        .envs([
            ("http_proxy", "http://127.0.0.1:9"),
            ("HTTP_PROXY", "http://127.0.0.1:9"),
        ])
        .output()
        .await
        .unwrap();
    let told =
        String::from_utf8_lossy(&replay.stdout).into_owned() + &String::from_utf8_lossy(&replay.stderr);
    assert_eq!(replay.status.code(), Some(0), "{told}");
    assert!(told.contains("pass  2025-11-25/uptime"), "{told}");
}
