//! `mcp-hil discover`: what it prints and how it ends.

use crate::responder::{Announcement, Responder, service};
use std::net::TcpListener;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
        .args(arguments)
        .output()
        .unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn discover(service: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let arguments = [
        "discover",
        "--service",
        service,
        "--interface",
        "lo",
        "--timeout",
        "2",
    ];
    run(&[&arguments[..], more].concat())
}

#[test]
fn the_table_is_in_the_order_of_names() {
    let service = service();
    let _last = Responder::start(Announcement::good(&service, "zulu", 2));
    let _first = Responder::start(Announcement::good(&service, "alpha", 3));
    let (_, table, remarks) = discover(&service, &[]);
    let names: Vec<_> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ["alpha", "zulu"], "{table}{remarks}");
}

#[test]
fn a_label_has_63_bytes_at_most() {
    let long = format!("_{}._tcp", "x".repeat(63));
    let (code, _, remarks) = discover(&long, &[]);
    assert_eq!(code, Some(2), "{remarks}");
    assert!(remarks.contains("of 63 bytes at most"), "{remarks}");
}

#[test]
fn boards_stand_in_a_table_with_their_oddities() {
    let service = service();
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let _good = Responder::start(Announcement {
        port: Some(port),
        ..Announcement::good(&service, "good", 2)
    });
    let _odd = Responder::start(Announcement {
        text: Some(&["path=/x"]),
        ..Announcement::good(&service, "odd", 3)
    });
    let (code, table, remarks) = discover(&service, &[]);
    assert_eq!(code, Some(0), "{remarks}");
    assert!(
        !remarks.contains("interfaces:"),
        "a diagnosis of nothing: {remarks}"
    );
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "INSTANCE",
            "HOSTNAME",
            "URL",
            "ID",
            "BUILD",
            "INTERFACE",
            "REACHABLE"
        ]
    );
    let url = format!("http://127.0.0.2:{port}/mcp");
    let good = vec!["good", "two", &url, "02:00:00:00:00:01", "-", "lo", "yes"];
    let odd = vec!["odd", "three", "http://127.0.0.3:18791/x", "-", "-", "lo", "no"];
    assert!(lines.contains(&good), "{table}");
    let at = lines
        .iter()
        .position(|line| *line == odd)
        .unwrap_or_else(|| panic!("{table}"));
    assert!(
        table
            .lines()
            .nth(at + 1)
            .unwrap()
            .starts_with("  ! its TXT record has path=\"/x\""),
        "{table}"
    );
}

#[test]
fn json_has_the_shape_of_esp_claw_and_more() {
    let service = service();
    let _board = Responder::start(Announcement::good(&service, "good", 2));
    let (code, json, _) = discover(&service, &["--json", "--wait", "1"]);
    assert_eq!(code, Some(0));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let board = &json["devices"][0];
    assert_eq!(json["count"], 1);
    assert_eq!(board["instance"], "good");
    assert_eq!(board["hostname"], "two");
    assert_eq!(board["ip"], "127.0.0.2");
    assert_eq!(board["port"], 18791);
    assert_eq!(board["endpoint"], "mcp");
    assert_eq!(board["server_url"], "http://127.0.0.2:18791");
    assert_eq!(board["url"], "http://127.0.0.2:18791/mcp");
    assert_eq!(board["txt"]["id"], "02:00:00:00:00:01");
    assert_eq!(board["oddities"], serde_json::json!([]));
    assert_eq!(json["diagnosis"], serde_json::Value::Null);
}

#[test]
fn nothing_found_is_infrastructure_with_a_diagnosis() {
    let service = service();
    let (code, table, remarks) = discover(&service, &[]);
    assert_eq!((code, table.as_str()), (Some(3), ""));
    assert!(
        remarks.contains(&format!(
            "no board that can be used answered for {service}.local\n"
        )),
        "{remarks}"
    );
    assert!(remarks.contains("\n  lo: 127.0.0.1/8"), "{remarks}");
    assert!(remarks.contains("\ntry: only loopback was searched"), "{remarks}");
    let (code, json, _) = discover(&service, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["count"]), (Some(3), &serde_json::json!(0)));
    assert_eq!(json["diagnosis"]["interfaces"][0]["name"], "lo");
}

#[test]
fn other_services_are_told_when_nothing_is_found() {
    let (wanted, other) = (service(), service());
    // it is asked by nobody; what it says of itself now and then is heard all the same
    let chatter = Announcement::good(&other, "chatter", 4);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let chat = std::thread::spawn({
        let stop = std::sync::Arc::clone(&stop);
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                drop(Responder::start(chatter.clone()));
            }
        }
    });
    let (code, _, remarks) = discover(&wanted, &[]);
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    chat.join().unwrap();
    assert_eq!(code, Some(3));
    assert!(
        remarks.contains(&format!("\n  {other}.local from 127.0.0.4\n")),
        "{remarks}"
    );
}

#[test]
fn a_known_board_is_reachable_but_not_announced() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (code, _, remarks) = discover(&service(), &["--known", &url]);
    assert_eq!(code, Some(3));
    assert!(
        remarks.contains(&format!("\n{url} is reachable but not announced\n")),
        "{remarks}"
    );
    drop(listener);
    let (_, _, remarks) = discover(&service(), &["--known", &url]);
    assert!(
        remarks.contains(&format!("\n{url} is neither announced nor reachable\n")),
        "{remarks}"
    );
}

#[test]
fn too_few_boards_and_only_faulty_ones_are_infrastructure() {
    let service = service();
    let _zero = Responder::start(Announcement {
        port: Some(0),
        ..Announcement::good(&service, "zero", 2)
    });
    let (code, table, remarks) = discover(&service, &[]);
    assert_eq!(code, Some(3));
    assert!(table.contains("! its SRV record says port 0"), "{table}");
    assert!(
        remarks.contains("boards with a faulty announcement: 1"),
        "{remarks}"
    );
    let _good = Responder::start(Announcement::good(&service, "good", 3));
    assert_eq!(discover(&service, &[]).0, Some(0));
    assert_eq!(discover(&service, &["--wait", "2"]).0, Some(3));
}

#[test]
fn bad_arguments_are_usage_errors() {
    for (arguments, said) in [
        (
            vec!["--interface", "nosuch0"],
            "no interface has the name or address \"nosuch0\"",
        ),
        (
            vec!["--service", "mcp", "--interface", "lo"],
            "\"mcp\" is no type of service",
        ),
        (vec!["--timeout", "0"], "give seconds from 0.01 to 3600"),
        (vec!["--wait", "0"], "--wait"),
        (vec!["--known", "board"], "\"board\" is not a URL"),
    ] {
        let (code, _, error) = run(&[&["discover"], &arguments[..]].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said), "{error}");
    }
    for (target, said) in [
        ("mdns:", "is followed by the instance"),
        ("mdns:a%nosuch0", "no interface has the name"),
    ] {
        let (code, _, error) = run(&["replay", target]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_target_that_nobody_announces_is_infrastructure() {
    let (code, _, error) = run(&[
        "replay",
        "mdns:nobody-is-called-this%lo",
        "--deadline-factor",
        "0.2",
    ]);
    assert_eq!(code, Some(3));
    assert!(
        error.contains("no board called \"nobody-is-called-this\" answered"),
        "{error}"
    );
    assert!(error.contains("interfaces:"), "{error}");
}
