//! `mcp-hil snapshot`.

use crate::run::{File, run};
use serde_json::Value;

#[test]
fn a_surface_is_the_same_each_time_and_a_change_shows() {
    let folder = File::ping();
    let file = folder.beside("surface.json");
    run(&["snapshot", "reference", "--out", &file]).ended(0, "");
    let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    run(&["snapshot", &stdio, "--check", &file]).ended(0, "");
    let text = std::fs::read_to_string(&file).unwrap();
    let surface: Value = serde_json::from_str(&text).unwrap();
    let revisions = &surface["revisions"];
    assert_eq!(
        revisions["2025-06-18"]["initialize"]["serverInfo"]["name"],
        "mcp-hil-device"
    );
    assert_eq!(
        revisions["2025-06-18"]["tools/list"].as_array().unwrap().len(),
        14
    );
    assert_eq!(revisions["2025-11-25"]["tools/list"], "as in 2025-06-18");
    assert_eq!(revisions["2026-07-28"]["server/discover"]["ttlMs"], 60000);
    std::fs::write(&file, text.replace("\"maximum\": 100", "\"maximum\": 255")).unwrap();
    run(&["snapshot", "reference", "--check", &file])
        .ended(1, "-                 \"maximum\": 255")
        .ended(1, "+                 \"maximum\": 100");
    run(&["snapshot", "reference", "--check", &folder.beside("none")]).ended(2, "No such file");
    for (text, why) in [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("{", "the file is not JSON: EOF"),
        (
            "{\"revisions\": {}}",
            "the file is no snapshot: it has no \"mcp-hil\": \"surface/1\"",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let next = format!("write one with mcp-hil snapshot reference --out {file}");
        run(&["snapshot", "reference", "--check", &file])
            .ended(2, &format!("{file}: {why}"))
            .ended(2, &next);
    }
    run(&["snapshot", "http://127.0.0.1:9/mcp"]).ended(3, "could not reach");
}
