//! The board does what its configuration sector says (`fixtures/configuration`). The sectors are the samples that every
//! writer must make, so these trials stand for whatever writes them.

use crate::client::Client;
use crate::lab::{CONFIGURED, DAMAGED, FIXED, RESTARTED, Ready, runtime};
use mcp_hil::targets::BOOT_LIMIT;
use mcp_hil_harness::discover::{Browser, Found, Options};
use mcp_hil_harness::target::Endpoint;
use mcp_hil_virtual_board::plan::HOST_INTERFACE;
use mcp_hil_virtual_board::{Board, BoardOptions};
use std::path::Path;
use std::time::{Duration, Instant};

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
/// What `wired.json` gives.
const TOKEN: &str = "0123456789abcdef";
const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// A board says what is wrong at once; this is for a busy machine.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// The bytes of a sample.
fn sample(name: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/configuration")
        .join(name);
    let hex: String = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {error}", path.display()))?
        .split_whitespace()
        .collect();
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or_default(), 16))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Switches a board on that has this sector. The file is read by QEMU as it starts, and again at a reset.
fn switch_on(ready: &Ready, place: usize, sector: &[u8]) -> Result<(Board, tempfile::TempDir), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("a,b.bin"); // with a comma, which QEMU's options are separated by
    std::fs::write(&file, sector).map_err(|error| error.to_string())?;
    let options = BoardOptions {
        configuration: Some(file),
        ..BoardOptions::default()
    };
    Ok((ready.switch_on(place, &options)?, folder))
}

fn serving(board: &Board) -> Result<Endpoint, String> {
    let serving = board
        .wait_until_serving(BOOT_LIMIT)
        .map_err(|error| error.to_string())?;
    Endpoint::parse(&serving.url).map_err(|error| error.to_string())
}

fn state(board: &Board) -> Result<String, String> {
    let stage = board
        .wait_for_stage("configuration", TOLD_WITHIN)
        .map_err(|error| error.to_string())?;
    stage
        .field("state")
        .map(str::to_owned)
        .ok_or_else(|| "the stage has no state".to_owned())
}

fn is(what: &str, found: impl std::fmt::Debug, wanted: impl std::fmt::Debug) -> Result<(), String> {
    match format!("{found:?}") == format!("{wanted:?}") {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {wanted:?}")),
    }
}

/// The status of a request with this `Authorization`, and the challenge in its answer.
fn status(endpoint: &Endpoint, authorization: Option<&str>) -> Result<(u16, bool), String> {
    let mut client = Client::connect(endpoint)?;
    let head = client.head(LIST.len());
    let field = authorization.map(|value| format!("Authorization: {value}\r\n\r\n"));
    let head = match &field {
        Some(field) => head.replace("\r\n\r\n", &format!("\r\n{field}")),
        None => head,
    };
    client.send(&[head.as_bytes(), LIST].concat())?;
    let (head, status, _) = client.answer_with_head()?;
    Ok((
        status,
        head.to_ascii_lowercase().contains("www-authenticate: bearer"),
    ))
}

pub fn token_and_hostname(ready: &Ready) -> Result<(), String> {
    let (board, _folder) = switch_on(ready, CONFIGURED, &sample("wired.hex")?)?;
    is("state", state(&board)?, "ok")?;
    let endpoint = serving(&board)?;
    is("without a token", status(&endpoint, None)?, (401, true))?;
    for wrong in [
        "Bearer 0123456789abcdeg",
        "Bearer",
        "Basic MDEyMzQ1Njc4OWFiY2RlZg==",
    ] {
        is(wrong, status(&endpoint, Some(wrong))?, (401, true))?;
    }
    let right = format!("Bearer {TOKEN}");
    is("the token", status(&endpoint, Some(&right))?, (200, false))?;
    let found = find(|found| found.hostname.as_deref() == Some("a"))?;
    is("port", found.port, Some(endpoint.port))?;
    is(
        "address",
        found.ip.map(|ip| ip.to_string()),
        Some(endpoint.host.clone()),
    )?;
    match board.console().tail(usize::MAX).contains(TOKEN) {
        true => Err("the token stands on the console".to_owned()),
        false => Ok(()),
    }
}

pub fn own_address(ready: &Ready) -> Result<(), String> {
    let (board, _folder) = switch_on(ready, FIXED, &sample("static.hex")?)?;
    let endpoint = serving(&board)?;
    is("address", &endpoint.host, "10.13.37.150")?;
    is("a request there", status(&endpoint, None)?, (200, false))?;
    let found = find(|found| found.hostname.as_deref() == Some("bench-static"))?;
    is(
        "address told over mDNS",
        found.ip.map(|ip| ip.to_string()),
        Some("10.13.37.150".to_owned()),
    )
}

/// A damaged sector may have asked for a token: the board says so and serves nobody.
pub fn damaged(ready: &Ready) -> Result<(), String> {
    let mut sector = sample("wired.hex")?;
    *sector.last_mut().ok_or("the sample is empty")? ^= 1;
    let (board, _folder) = switch_on(ready, DAMAGED, &sector)?;
    is("state", state(&board)?, "bad")?;
    const LINE: &str = "mcp-device warning: configuration: its CRC-32 is wrong: it is damaged, or was not written to its end; \
        write a configuration sector, and reset the board";
    let begun = Instant::now();
    while !board.console().tail(usize::MAX).contains(LINE) {
        if begun.elapsed() > TOLD_WITHIN {
            return Err(format!("no line {LINE:?}:\n{}", board.console().tail(20)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    match board.wait_for_stage("address", Duration::from_secs(2)) {
        Ok(_) => Err("the board went on".to_owned()),
        Err(_) => Ok(()),
    }
}

/// A board that starts again has its configuration still.
pub fn restart(ready: &Ready) -> Result<(), String> {
    let (mut board, _folder) = switch_on(ready, RESTARTED, &sample("wired.hex")?)?;
    let before = serving(&board)?;
    is("without a token", status(&before, None)?, (401, true))?;
    board.type_line("restart").map_err(|error| error.to_string())?;
    let begun = Instant::now();
    while board.console().tail(usize::MAX).matches("stage=reset").count() < 2 {
        if begun.elapsed() > TOLD_WITHIN {
            return Err(format!("no second start:\n{}", board.console().tail(20)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    is("state", state(&board)?, "ok")?;
    let after = serving(&board)?;
    is("without a token", status(&after, None)?, (401, true))
}

/// What is found over mDNS that fits.
fn find(fits: impl Fn(&Found) -> bool) -> Result<Found, String> {
    let options = Options {
        interfaces: vec![HOST_INTERFACE.to_owned()],
        ..Options::default()
    };
    runtime()?.block_on(async {
        let mut browser = Browser::start(&options).map_err(|error| error.to_string())?;
        let complete = |found: &&Found| found.complete && fits(found);
        let found = browser
            .wait((Instant::now() + FOUND_WITHIN).into(), |found| {
                found.iter().any(|found| complete(&found))
            })
            .await;
        found
            .iter()
            .find(complete)
            .cloned()
            .ok_or_else(|| format!("not found, but {found:#?}"))
    })
}
