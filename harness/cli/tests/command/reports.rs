//! Reports for programs, read back by other programs' parsers.

use crate::run::{File, ping, run};
use serde_json::{Value, json};

fn failing() -> File {
    let mut transcript = ping();
    transcript["title"] = json!("quotes \" & <brackets> \u{1}");
    transcript["steps"][0]["expect"]["message"]["id"] = json!(2);
    File::new(&transcript)
}

#[test]
fn json_has_the_evidence() {
    let file = failing();
    let ran = run(&["replay", "reference", file.path(), "--json", "-"]);
    ran.ended(1, "FAIL  2025-11-25/one");
    // standard output holds the report and nothing else
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["failed"], &report["passed"]), (&json!(1), &json!(0)));
    let result = &report["results"][0];
    assert_eq!(result["verdict"], "fail");
    assert_eq!(
        result["mismatches"][0],
        json!({"pointer": "/id", "expected": "2", "got": "1"})
    );
    assert!(
        result["exchange"]["sent"]
            .as_str()
            .unwrap()
            .starts_with("POST /mcp HTTP/1.1\r\n")
    );
    assert!(
        result["exchange"]["received"]
            .as_str()
            .unwrap()
            .starts_with("HTTP/1.1 200 OK\r\n")
    );
    // the handshake's two, and the ping
    assert_eq!(result["exchanges"].as_array().unwrap().len(), 3);
}

#[test]
fn junit_is_read_by_an_xml_parser() {
    let file = failing();
    let path = file.beside("report.xml");
    run(&["replay", "reference", file.path(), "--junit", &path]).ended(1, "FAIL");
    let text = std::fs::read_to_string(path).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let find = |name: &str| {
        document
            .descendants()
            .find(|node| node.has_tag_name(name))
            .unwrap()
    };
    assert_eq!(find("testsuites").attribute("failures"), Some("1"));
    assert_eq!(find("testcase").attribute("name"), Some("one"));
    assert_eq!(find("testcase").attribute("classname"), Some("2025-11-25"));
    assert_eq!(
        find("failure").attribute("message"),
        Some("the answer is not as expected")
    );
    assert!(find("failure").text().unwrap().contains("/id: expected 2, got 1"));
}

#[test]
fn the_curl_line_repeats_the_exchange() {
    let file = failing();
    let (child, url) = crate::processes::reference();
    let ran = run(&["replay", &url, file.path()]);
    let line = ran
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("to repeat: "))
        .unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", line])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.ends_with(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        "{text}"
    );
    drop(child);
}

#[test]
fn colour_comes_only_when_asked() {
    let file = failing();
    let ran = run(&["replay", "reference", file.path(), "--color", "always"]);
    assert!(ran.stdout.contains("\u{1b}[31m-   \"id\": 2,"), "{}", ran.stdout);
    let ran = run(&["replay", "reference", file.path()]);
    assert!(!ran.stdout.contains('\u{1b}'));
}
