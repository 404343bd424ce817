//! Clients that hold on to what others need.

use crate::lab::{BODY, Ready, SILENT, STRETCHED, Tested, UNREAD};
use mcp_hil::targets::stretch;
use std::time::{Duration, Instant};

pub fn silent_and_half_sent(ready: &Ready) -> Result<(), String> {
    let tested = ready.start(SILENT)?;
    let silent = (0..8).map(|_| tested.connect()).collect::<Result<Vec<_>, _>>()?;
    tested.is_well("8 silent connections")?;
    let half_sent = (0..4)
        .map(|_| {
            let mut client = tested.connect()?;
            let head = client.head(8000);
            client.send(format!("{head}{}", " ".repeat(4000)).as_bytes())?;
            Ok(client)
        })
        .collect::<Result<Vec<_>, String>>()?;
    tested.is_well("8 silent connections and 4 half-sent requests")?;
    drop((silent, half_sent));
    tested.is_well("they are gone")
}

pub fn that_never_read(ready: &Ready) -> Result<(), String> {
    let tested = ready.start(UNREAD)?;
    // 4 times 4000 characters: more than the sockets of both sides take
    let text = "x".repeat(4000);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}","repeat":4}}}}}}"#
    );
    let clients = (0..6)
        .map(|_| {
            let client = tested.connect()?;
            let mut client = client.with_little_room()?;
            let head = client.head(call.len());
            client.send(format!("{head}{call}").as_bytes())?;
            Ok(client)
        })
        .collect::<Result<Vec<_>, String>>()?;
    tested.is_well("6 clients that never read")?;
    drop(clients);
    tested.is_well("they are gone")
}

pub fn a_body_of_1_mib(ready: &Ready) -> Result<(), String> {
    let tested = ready.start(BODY)?;
    for _ in 0..3 {
        let (status, body) = tested.post(&vec![b' '; 1 << 20])?;
        if status != 413 {
            return Err(tested.with_console(&format!("1 MiB is answered {status}: {body}")));
        }
        tested.is_well("a body of 1 MiB")?;
    }
    Ok(())
}

/// A half-sent body is answered 408 after 5 s (`firmware/README.md`), on a stretched board after twice that.
pub fn stretched_deadline(ready: &Ready) -> Result<(), String> {
    let mut tested = ready.start(STRETCHED)?;
    let obeyed = |result: Result<(), mcp_hil_virtual_board::Error>| result.map_err(|error| error.to_string());
    obeyed(stretch(&mut tested.board, 2))?;
    is_refused_after(&tested, 10)?;
    obeyed(stretch(&mut tested.board, 1))?;
    is_refused_after(&tested, 5)?;
    for wrong in ["0", "101", "-1", "+1", "1.5", "", "4294967297"] {
        let typed = tested.board.type_line(&format!("deadline-factor {wrong}"));
        obeyed(typed)?;
    }
    let is_warning = |text: &str| text == "mcp-device warning: deadline-factor takes a number from 1 to 100";
    let warned = tested
        .board
        .wait_for("seven warnings", Duration::from_secs(5), |console| {
            let warnings = console.lines().filter(|line| is_warning(&line.text)).count();
            (warnings == 7).then_some(())
        });
    obeyed(warned)?;
    tested.is_well("a stretched deadline")
}

fn is_refused_after(tested: &Tested, seconds: u64) -> Result<(), String> {
    let mut client = tested.connect()?;
    let head = client.head(100);
    client.send(head.as_bytes())?;
    let sent = Instant::now();
    let (status, _) = client.answer()?;
    let took = sent.elapsed();
    let right = Duration::from_secs(seconds)..Duration::from_secs(seconds + 2);
    if status == 408 && right.contains(&(took + Duration::from_millis(20))) {
        return Ok(());
    }
    Err(tested.with_console(&format!(
        "a half-sent body was answered {status} after {took:?}, not 408 after {seconds} s"
    )))
}
