//! Every exit code of `replay`, on purpose.

use crate::run::{File, command, finish, ping, run};
use crate::server::{mcp, pong, request, serve};
use serde_json::json;
use std::io::{BufReader, Write as _};
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

#[test]
fn zero_when_everything_passes() {
    let ran = run(&["replay", "reference", "--filter", "2025-11-25/tools-list-pages"]);
    ran.ended(0, "pass  2025-11-25/tools-list-pages")
        .ended(0, "reference: 1 passed, 0 failed, 0 skipped");
    assert_eq!(ran.stderr, "");
}

#[test]
fn one_when_something_fails() {
    let mut transcript = ping();
    transcript["steps"][0]["expect"]["message"]["result"] = json!({"no": "such"});
    let file = File::new(&transcript);
    run(&["replay", "reference", file.path()]).ended(1, "/result/no: expected \"such\", got nothing");
}

#[test]
fn two_for_a_transcript_that_is_not_json() {
    let file = File::with_text("{\n  \"title\": ");
    run(&["replay", "reference", file.path()])
        .ended(2, "one.json")
        .ended(2, "line 2 column 11");
}

#[test]
fn two_for_a_transcript_with_a_fault_inside() {
    let mut transcript = ping();
    transcript["steps"][0]["expect"]["message"]["id"] = json!({"$regexp": "x"});
    let file = File::new(&transcript);
    run(&["replay", "reference", file.path()]).ended(2, "/steps/0/expect/message/id: no matcher \"$regexp\"");
}

#[test]
fn two_for_files_and_targets_that_are_not_there() {
    run(&["replay", "reference", "/no/such/file.json"]).ended(2, "/no/such/file.json: No such file");
    run(&["replay", "telnet://x"]).ended(2, "is not an http URL");
    run(&["replay", "nowhere"]).ended(2, "\"nowhere\" is no target; use one of");
    run(&["check", "127.0.0.1:8000"]).ended(2, "did you mean http://127.0.0.1:8000/mcp?");
    run(&["check", "http:/board.local/x"]).ended(2, "did you mean http://board.local/x?");
    run(&["replay", "stdio:"]).ended(2, "name a program");
    run(&["replay", "native", "--firmware", "/no/such/file"]).ended(2, "there is no such file");
    run(&["replay", "reference", "--revision", "2024-01-01"]).ended(2, "no revision \"2024-01-01\"");
    run(&["replay", "reference", "--deadline-factor", "0"]).ended(2, "a number from 0.01 to 1000");
    run(&["replay", "reference", "--json", "/no/such/folder/x"]).ended(2, "can't be written");
}

#[test]
fn two_for_a_contract_that_nothing_knows() {
    run(&["replay", "reference", "--contract", "mcp-hil/2"])
        .ended(2, "--contract mcp-hil/2: no such contract; known: mcp-hil/1");
    let mut transcript = ping();
    transcript["needs"] = json!({"contract": "other/1"});
    let file = File::new(&transcript);
    run(&["replay", &mcp(pong), file.path(), "--contract", "other/1"]).ended(0, "1 passed");
    run(&["replay", &mcp(pong), file.path(), "--contract", "other/2"]).ended(2, "known: mcp-hil/1, other/1");
}

#[test]
fn two_for_a_user_in_the_url() {
    let ran = run(&["replay", "http://me:secret@127.0.0.1:9/mcp"]);
    ran.ended(2, "a user name or password in the URL");
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
}

#[test]
fn two_for_one_file_for_both_reports() {
    let file = File::ping();
    let (one, same) = (file.beside("report"), file.beside("./report"));
    run(&[
        "replay",
        "reference",
        file.path(),
        "--json",
        &one,
        "--junit",
        &same,
    ])
    .ended(2, "--json and --junit can't both go to");
    run(&[
        "replay",
        "reference",
        file.path(),
        "--json",
        &one,
        "--junit",
        &file.beside("other"),
    ])
    .ended(0, "1 passed");
}

#[test]
fn two_for_a_folder_as_firmware() {
    run(&["replay", "native", "--firmware", "/tmp"]).ended(2, "--firmware /tmp: is no regular file");
}

#[test]
fn a_page_that_is_no_mcp_server_is_described() {
    let url = serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while request(&mut reader).is_some() {
            let _ = writer.write_all(
                b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>",
            );
        }
    });
    let file = File::ping();
    run(&["replay", &url, file.path()]).ended(
        1,
        "no JSON-RPC message: HTTP status 302, Location \"/login\", Content-Type \"text/html\"",
    );
}

#[test]
fn check_says_what_to_try_where_no_server_is() {
    let answer = |head: &'static str| {
        serve(move |stream| {
            let mut writer = stream.try_clone().unwrap();
            let mut reader = BufReader::new(stream);
            while request(&mut reader).is_some() {
                let _ =
                    writer.write_all(format!("HTTP/1.1 {head}\r\nContent-Length: 3\r\n\r\n<p>").as_bytes());
            }
        })
    };
    let file = File::ping();
    let (json, junit) = (file.beside("check.json"), file.beside("check.xml"));
    let page = answer("200 OK\r\nContent-Type: text/html");
    let ran = run(&["check", &page, "--json", &json, "--junit", &junit]);
    ran.ended(3, "try: a web page answers there");
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert!(
        crate::reports::schema_of_reports().is_valid(&report),
        "{report:#}"
    );
    assert_eq!(report["infrastructure"], 1);
    let text = std::fs::read_to_string(junit).unwrap();
    assert_eq!(
        roxmltree::Document::parse(&text)
            .unwrap()
            .root_element()
            .attribute("errors"),
        Some("1")
    );
    let wrong = answer("404 Not Found").replace("/mcp", "/mpc");
    run(&["check", &wrong]).ended(3, &format!("many are at /mcp: {}", wrong.replace("/mpc", "/mcp")));
    run(&["check", &wrong.replace("http:", "https:")]).ended(3, "leave out the s: http://");
    run(&["check", "http://127.0.0.1:1/mcp"]).ended(3, "nothing listens on port 1: start the server");
    run(&["check", "stdio:true"]).ended(3, "try: start the command by hand");
}

#[test]
fn two_for_what_check_does_not_know_with_the_nearest() {
    run(&["check", "reference", "--only", "tool"])
        .ended(2, "\"tool\" is no area and no check; did you mean \"tools\"?");
    let file = File::with_text("[[expected]]\nid = \"tools/unknown-tol\"\nreason = \"x\"\n");
    run(&["check", "reference", "--baseline", file.path()]).ended(2, "did you mean \"tools/unknown-tool\"?");
    run(&["check", "reference", "--profile", "esp-clav"]).ended(2, "known: esp-claw");
    let tools = ["check", "reference", "--only", "caching", "--allow-tool"];
    run(&[&tools[..], &["ecoh"]].concat()).ended(
        2,
        "--allow-tool ecoh: the server has no such tool; did you mean \"echo\"?; it lists ",
    );
    run(&[&tools[..], &["echo"]].concat()).ended(0, "PASS  reference");
}

#[test]
fn two_for_boards_outside_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    for target in [
        "native",
        #[cfg(target_os = "linux")]
        "virtual",
        #[cfg(target_os = "linux")]
        "virtual:2",
    ] {
        let child = command(&["replay", target])
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        finish(child).ended(2, "give a firmware with --firmware FILE");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn two_for_virtual_boards_that_can_t_be() {
    run(&["replay", "virtual:0"]).ended(2, "a number of boards from 1 to 100");
    run(&["replay", "virtual:101"]).ended(2, "a number of boards from 1 to 100");
    run(&["replay", "virtual:x"]).ended(2, "a number of boards from 1 to 100");
    run(&["replay", "virtuals"]).ended(2, "\"virtuals\" is no target");
    run(&["replay", "virtual", "--firmware", "/no/such/file"]).ended(2, "there is no such file");
    run(&["replay", "reference", "--impair", "loss=1%"]).ended(2, "--impair is for virtual boards");
    let file = File::with_text("no ELF");
    run(&["replay", "virtual", "--firmware", file.path()]).ended(2, file.path());
    run(&["virtual", "--boards", "0"]).ended(2, "a number of boards from 1 to 100");
    run(&["virtual", "--boards", "101"]).ended(2, "a number of boards from 1 to 100");
    run(&["virtual", "--logs", "/dev/null/x"]).ended(2, "--logs /dev/null/x: ");
    run(&["replay", "reference", "--pcap", "x"]).ended(2, "--pcap is for virtual boards");
    // the test's own program is an ELF file, but not of a board
    let ours = std::env::current_exe().unwrap().display().to_string();
    for command in [&["virtual"][..], &["replay", "virtual"]] {
        run(&[command, &["--firmware", &ours]].concat()).ended(2, "the board runs 32-bit RISC-V");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn three_before_a_build_where_boards_can_t_be() {
    for arguments in [&["virtual"][..], &["replay", "virtual"]] {
        // not by `env`, which would not be found there
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-hil"));
        command.args(arguments).env("PATH", "/no/such/folder");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = finish(command.spawn().unwrap());
        ran.ended(3, "qemu-system-riscv32 is not on PATH");
        assert!(!ran.stderr.contains("building"), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn three_for_a_toolchain_without_the_boards_target() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let said = "error[E0463]: can't find crate for `core`";
    std::fs::write(
        &cargo,
        format!("#!/bin/sh\necho \"{}\" >&2\nexit 101\n", said.replace('`', "\\`")),
    )
    .unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let child = command(&["replay", "native"])
        .env("CARGO", &cargo)
        .spawn()
        .unwrap();
    finish(child).ended(3, "ci/riscv-toolchain");
}

#[test]
fn three_when_nobody_is_there() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let file = File::ping();
    run(&["replay", &format!("http://{free}/mcp"), file.path()]).ended(3, "Connection refused");
    let ran = run(&["replay", &format!("http://{free}/mcp"), "--filter", "tools-list"]);
    ran.ended(3, "4 not played for want of a target");
    assert_eq!(
        ran.stdout.matches("Connection refused").count(),
        1,
        "{}",
        ran.stdout
    );
    run(&["replay", "stdio:no-such-program", file.path()]).ended(3, "no program of this name in PATH");
    run(&["replay", &format!("stdio:{}", file.path()), file.path()]).ended(3, "may not be run");
}

#[test]
fn three_for_a_firmware_that_is_none() {
    let file = File::ping();
    run(&["replay", "native", "--firmware", file.path()]).ended(3, "can't be read");
    run(&["replay", "native", "--firmware", "/bin/true"]).ended(3, "did not say that it serves");
}

#[test]
fn three_for_the_transport_of_2024() {
    let url = serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        let Some((method, _)) = request(&mut reader) else {
            return;
        };
        let text = if method == "get" {
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages\n\n"
        } else {
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
        };
        let _ = writer.write_all(text.as_bytes());
        request(&mut reader);
    });
    let file = File::ping();
    run(&["replay", &url, file.path(), "--deadline-factor", "0.1"])
        .ended(3, "HTTP+SSE transport of 2024-11-05");
}

#[test]
fn four_when_nothing_ran() {
    run(&["replay", "reference", "--filter", "no such transcript"]).ended(4, "no transcript is chosen");
    let mut transcript = ping();
    transcript["needs"] = json!({"contract": "other/1"});
    let file = File::new(&transcript);
    run(&["replay", &mcp(pong), file.path()]).ended(4, "skip  2025-11-25/one: needs contract other/1");
    transcript["needs"] = json!({"tools": ["echo"]});
    let file = File::new(&transcript);
    let url = mcp(|message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}));
    run(&["replay", &url, file.path()]).ended(4, "the target has no tool \"echo\"");
    let mut transcript = ping();
    transcript["revision"] = json!("2026-07-28");
    let file = File::new(&transcript);
    run(&["replay", &mcp(pong), file.path()]).ended(4, "the target does not speak 2026-07-28");
}

#[test]
fn help_tells_the_codes_and_the_targets() {
    let ran = run(&["replay", "--help"]);
    ran.ended(0, "Exit codes:")
        .ended(0, "4  nothing ran")
        .ended(0, "stdio:COMMAND")
        .ended(0, "  http[s]://HOST/PATH  an endpoint");
    run(&["discover", "--help"]).ended(0, "3  fewer boards");
    run(&["reference", "--help"]).ended(0, "3  infrastructure: the port");
    #[cfg(target_os = "linux")]
    run(&["virtual", "--help"]).ended(0, "1  the command that ran inside");
}
