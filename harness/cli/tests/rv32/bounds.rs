//! Bodies that would take most memory and stack if they were taken apart without bounds (`fixtures/contract`, "Message
//! bounds"). A native board has room for mistakes; this one has 16 KiB of heap and 12 KiB of stack.

use crate::lab::{BOUNDS, Ready};

const HEAD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":"#;
const TAIL: &str = "}}";
const BODY_MAX: usize = 16384;

/// Arguments that fill a body to its last byte, as far as whole units go.
fn filled(open: &str, unit: &str, close: &str) -> String {
    let room = BODY_MAX - HEAD.len() - TAIL.len() - open.len() - close.len();
    format!("{HEAD}{open}{}{close}{TAIL}", unit.repeat(room / unit.len()))
}

pub fn awkward_bodies(ready: &Ready) -> Result<(), String> {
    let keys: Vec<_> = (0..1800).map(|key| format!("\"{key}\":0")).collect();
    let levels = 10_000 / 2;
    let tested = ready.start(BOUNDS)?;
    for (what, body, status, told) in [
        ("16 KiB of 0,", filled("[", "0,", "0]"), 400, r#""code":-32600"#),
        ("16 KiB of [],", filled("[", "[],", "0]"), 400, r#""code":-32600"#),
        (
            "nesting of 10,000",
            format!("{HEAD}{}{}{TAIL}", "[".repeat(levels), "]".repeat(levels)),
            400,
            r#""code":-32600"#,
        ),
        (
            "nesting of 10,000 that never ends",
            format!("{HEAD}{}", "[".repeat(10_000)),
            400,
            r#""code":-32"#,
        ),
        // within the bounds, so the arguments are looked at: the first fault is the one that is told
        (
            "1,800 keys",
            format!("{HEAD}{{{}}}{TAIL}", keys.join(",")),
            200,
            r#"required property \"text\" is missing"#,
        ),
    ] {
        assert!(body.len() <= BODY_MAX, "{what}: {} bytes", body.len());
        let answer = tested.post(body.as_bytes())?;
        if answer.0 != status || !answer.1.contains(told) {
            return Err(tested.with_console(&format!(
                "{what} is answered {answer:?}, not {status} with {told}"
            )));
        }
        tested.is_well(what)?;
    }
    Ok(())
}
