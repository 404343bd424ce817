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
    let finding = &result["findings"][0];
    let exchange = &finding["exchanges"][0];
    assert_eq!(
        finding["mismatches"][0],
        json!({"pointer": "/id", "expected": "2", "got": "1"})
    );
    assert!(
        exchange["sent"]
            .as_str()
            .unwrap()
            .starts_with("POST /mcp HTTP/1.1\r\n")
    );
    assert!(
        exchange["received"]
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

pub fn schema_of_reports() -> jsonschema::Validator {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/report.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

const HOSTILE: &str = "\u{1b}[2J</pre><script>alert(1)</script><img src=x onerror=alert(2)> ``` ]]>\u{202e}";

#[test]
fn every_report_of_a_replay_holds_what_a_hostile_server_says_as_text() {
    let mut transcript = ping();
    transcript["steps"][0]["expect"]["message"]["result"] = json!({});
    let file = File::new(&transcript);
    let names = ["x.json", "x.xml", "x.md", "x.html"].map(|name| file.beside(name));
    let [json, junit, markdown, html] = &names;
    let url = crate::server::mcp(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"a": HOSTILE}}),
    );
    let ran = run(&[
        "replay",
        &url,
        file.path(),
        "--json",
        json,
        "--junit",
        junit,
        "--markdown",
        markdown,
        "--html",
        html,
    ]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    let read = |path: &String| std::fs::read_to_string(path).unwrap();
    let report: Value = serde_json::from_str(&read(json)).unwrap();
    let errors: Vec<_> = schema_of_reports()
        .iter_errors(&report)
        .map(|e| e.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(
        report.to_string().contains("<script>alert(1)"),
        "the JSON holds all"
    );
    assert!(roxmltree::Document::parse(&read(junit)).is_ok());
    for text in [ran.stdout, read(junit), read(markdown), read(html)] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
    for text in [read(markdown), read(html)] {
        assert!(
            !text.contains("<script>alert") && !text.contains("<img"),
            "{text}"
        );
    }
}

#[test]
fn a_check_is_reported_with_its_clause() {
    let file = File::ping();
    let (json, junit) = (file.beside("c.json"), file.beside("c.xml"));
    run(&[
        "check",
        "reference",
        "--only",
        "2025-11-25/jsonrpc/no-version",
        "--json",
        &json,
        "--junit",
        &junit,
    ])
    .ended(0, "PASS  reference");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!(schema_of_reports().is_valid(&report));
    assert_eq!(
        report["results"][0]["clauses"],
        json!(["jsonrpc-2.0/request-without-version-rejected"])
    );
    let text = std::fs::read_to_string(junit).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let case = document
        .descendants()
        .find(|node| node.has_tag_name("testcase"))
        .unwrap();
    assert_eq!(case.attribute("name"), Some("no-version"));
    assert_eq!(case.attribute("classname"), Some("2025-11-25.jsonrpc"));
    let clause = case
        .descendants()
        .find(|node| node.has_tag_name("property"))
        .unwrap();
    assert_eq!(
        clause.attribute("value"),
        Some("jsonrpc-2.0/request-without-version-rejected")
    );
}
