//! From the file's shape to a checked transcript.

use super::captures::{check_template, check_text};
use super::error::Fault;
use super::pattern::{Compiler, escape};
use super::{Action, Content, Expect, Needs, RawPiece, Send, Step, Transcript, raw};
use crate::revision::Era;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Most bytes that a `repeat` may make, and that a raw connection may send.
const MAX_REPEAT: usize = 64 << 20;
/// Longest wait: a run in CI that waits longer looks like one that hangs.
const MAX_WAIT: Duration = Duration::from_secs(3600);

pub fn transcript(file: &str, raw: raw::Transcript) -> Result<Transcript, Fault> {
    let name = Path::new(file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let revision: crate::revision::Revision = raw
        .revision
        .parse()
        .map_err(|error: crate::revision::UnknownRevision| Fault::new("/revision", error.to_string()))?;
    if !raw.handshake && revision.era() == Era::Modern {
        return Err(Fault::new(
            "/handshake",
            "this revision has no handshake; leave the member out",
        ));
    }
    let transport = match raw.needs.transport.as_deref() {
        None => None,
        Some("http") => Some("http"),
        Some("stdio") => Some("stdio"),
        Some(_) => return Err(Fault::new("/needs/transport", "use \"http\" or \"stdio\"")),
    };
    if raw.steps.is_empty() {
        return Err(Fault::new("/steps", "there must be a step"));
    }
    let mut known = BTreeSet::new();
    let mut steps = Vec::new();
    for (index, raw) in raw.steps.into_iter().enumerate() {
        steps.push(step(raw, &mut known, &format!("/steps/{index}"))?);
    }
    Ok(Transcript {
        name,
        title: raw.title,
        about: raw.about,
        revision,
        needs: Needs {
            contract: raw.needs.contract,
            tools: raw.needs.tools,
            transport,
        },
        handshake: raw.handshake,
        tests_deadline: raw.tests_deadline,
        steps,
    })
}

fn step(raw: raw::Step, known: &mut BTreeSet<String>, pointer: &str) -> Result<Step, Fault> {
    let raw::Step {
        name,
        send: sent,
        expect: expected,
        together,
        until,
        deadline_ms,
        every_ms,
        wait_ms,
    } = raw;
    let mut found = BTreeSet::new();
    let action = match (sent, expected, together, until, deadline_ms, every_ms, wait_ms) {
        (Some(sent), Some(expected), None, None, None, None, None) => {
            let send = send(sent, known, &format!("{pointer}/send"))?;
            let place = format!("{pointer}/expect");
            let list = match expected {
                Value::Array(_) if !matches!(send.content, Content::Raw(_)) => {
                    return Err(Fault::new(&place, "a list of answers goes with raw only"));
                }
                Value::Array(list) => list
                    .into_iter()
                    .enumerate()
                    .map(|(i, value)| (format!("{place}/{i}"), value))
                    .collect(),
                one => vec![(place, one)],
            };
            if list.is_empty() {
                return Err(Fault::new(
                    &format!("{pointer}/expect"),
                    "give an answer, or several in order; nothing would be looked at",
                ));
            }
            let mut expect = Vec::new();
            for (place, value) in list {
                let value =
                    raw::Expect::deserialize(value).map_err(|error| Fault::new(&place, error.to_string()))?;
                expect.push(answer(value, known, &mut found, &place)?);
            }
            let last = expect.len().saturating_sub(1);
            if expect.iter().take(last).any(|expect| expect.closed.is_some()) {
                return Err(Fault::new(
                    pointer,
                    "closed goes with the last answer of a connection",
                ));
            }
            if expect.iter().any(|expect| expect.closed.is_some()) && !matches!(send.content, Content::Raw(_))
            {
                return Err(Fault::new(pointer, "closed goes with raw only"));
            }
            Action::Exchange { send, expect }
        }
        (None, None, Some(pairs), None, None, None, None) if pairs.len() > 1 => {
            let mut checked = Vec::new();
            for (index, pair) in pairs.into_iter().enumerate() {
                let place = format!("{pointer}/together/{index}");
                let send = not_raw(send(pair.send, known, &format!("{place}/send"))?, &place)?;
                let place = format!("{place}/expect");
                let expect = answer(pair.expect, known, &mut found, &place)?;
                checked.push((send, not_closed(expect, &place)?));
            }
            Action::Together(checked)
        }
        (Some(sent), None, None, Some(until), Some(deadline), Some(every), None) => Action::Until {
            send: not_raw(send(sent, known, &format!("{pointer}/send"))?, pointer)?,
            until: {
                let place = format!("{pointer}/until");
                let until = answer(until, known, &mut found, &place)?;
                Box::new(not_closed(until, &place)?)
            },
            deadline: wait(deadline, &format!("{pointer}/deadline_ms"))?,
            every: wait(every.max(1), &format!("{pointer}/every_ms"))?,
        },
        (None, None, None, None, None, None, Some(millis)) => {
            Action::Wait(wait(millis, &format!("{pointer}/wait_ms"))?)
        }
        _ => {
            return Err(Fault::new(
                pointer,
                "a step is send with expect; together with two or more; send, until, deadline_ms and every_ms; or wait_ms",
            ));
        }
    };
    known.append(&mut found);
    Ok(Step { name, action })
}

fn wait(millis: u64, pointer: &str) -> Result<Duration, Fault> {
    let time = Duration::from_millis(millis);
    if time > MAX_WAIT {
        let most = MAX_WAIT.as_millis();
        return Err(Fault::new(pointer, format!("no more than {most} ms (an hour)")));
    }
    Ok(time)
}

/// Other answers than those of raw leave the connection to the client, so nothing could be said of its end.
fn not_closed(expect: Expect, pointer: &str) -> Result<Expect, Fault> {
    if expect.closed.is_some() {
        Err(Fault::new(pointer, "closed goes with raw only"))
    } else {
        Ok(expect)
    }
}

fn not_raw(send: Send, pointer: &str) -> Result<Send, Fault> {
    if matches!(send.content, Content::Raw(_)) {
        Err(Fault::new(pointer, "raw has a step of its own"))
    } else {
        Ok(send)
    }
}

fn send(raw: raw::Send, known: &BTreeSet<String>, pointer: &str) -> Result<Send, Fault> {
    let raw::Send {
        message,
        body,
        body_base64,
        repeat_body,
        raw,
        bare,
        method,
        path,
        headers,
        chunked,
    } = raw;
    let content = match (message, body, body_base64, repeat_body, raw) {
        (Some(message), None, None, None, None) => {
            check_template(&message, known, &format!("{pointer}/message"))?;
            Content::Message(message)
        }
        (None, Some(text), None, None, None) => {
            check_text(&text, known, &format!("{pointer}/body"))?;
            Content::Body(text)
        }
        (None, None, Some(text), None, None) => {
            Content::Bytes(bytes(&text, &format!("{pointer}/body_base64"))?)
        }
        (None, None, None, Some(repeat), None) => {
            let unit = repeated(&repeat.unit, repeat.count, &format!("{pointer}/repeat_body"))?;
            Content::Bytes([repeat.head.into_bytes(), unit, repeat.tail.into_bytes()].concat())
        }
        (None, None, None, None, Some(pieces)) => {
            if bare || method.is_some() || path.is_some() || !headers.is_empty() || !chunked.is_empty() {
                return Err(Fault::new(
                    pointer,
                    "raw is the whole connection: no other member goes with it",
                ));
            }
            let mut known = known.clone();
            known.extend(["host".to_owned(), "path".to_owned()]);
            let (mut checked, mut length) = (Vec::new(), 0);
            for (index, value) in pieces.into_iter().enumerate() {
                let place = format!("{pointer}/raw/{index}");
                let piece = piece(value, &known, &place)?;
                length += match &piece {
                    RawPiece::Text(text) => text.len(),
                    RawPiece::Bytes(bytes) => bytes.len(),
                    RawPiece::Pause(_) => 0,
                };
                if length > MAX_REPEAT {
                    return Err(Fault::new(
                        &place,
                        format!("more than {MAX_REPEAT} bytes on the connection"),
                    ));
                }
                checked.push(piece);
            }
            Content::Raw(checked)
        }
        _ => {
            return Err(Fault::new(
                pointer,
                "give exactly one of message, body, body_base64, repeat_body and raw",
            ));
        }
    };
    if let Some(place) = chunked.iter().position(|size| *size == 0) {
        return Err(Fault::new(
            &format!("{pointer}/chunked/{place}"),
            "a chunk has at least one byte",
        ));
    }
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~-".contains(&b))
    };
    if method.as_deref().is_some_and(|method| !token(method)) {
        return Err(Fault::new(
            &format!("{pointer}/method"),
            "not an HTTP token; send other bytes with raw",
        ));
    }
    let mut checked = Vec::new();
    for (name, value) in headers {
        let place = format!("{pointer}/headers/{}", escape(&name));
        let plain = |text: &str| !text.contains(['\r', '\n', '\0']);
        let value = match value {
            Value::Null => None,
            Value::String(text) if token(&name) && plain(&text) => Some(text),
            _ => {
                return Err(Fault::new(
                    &place,
                    "give a string without line ends, or null; send other bytes with raw",
                ));
            }
        };
        check_text(value.as_deref().unwrap_or_default(), known, &place)?;
        checked.push((name, value));
    }
    if path
        .as_deref()
        .is_some_and(|path| !path.starts_with('/') || path.contains(char::is_whitespace))
    {
        return Err(Fault::new(
            &format!("{pointer}/path"),
            "begins with / and has no white space; send other bytes with raw",
        ));
    }
    Ok(Send {
        content,
        bare,
        method,
        path,
        headers: checked,
        chunked,
    })
}

fn piece(value: Value, known: &BTreeSet<String>, pointer: &str) -> Result<RawPiece, Fault> {
    let what = "give a string, {\"base64\"}, {\"repeat\", \"count\"} or {\"pause_ms\"}";
    let bad = || Fault::new(pointer, what);
    let members = match &value {
        Value::String(text) => {
            check_text(text, known, pointer)?;
            return Ok(RawPiece::Text(text.clone()));
        }
        Value::Object(members) => members,
        _ => return Err(bad()),
    };
    let member = |name: &str| members.get(name);
    match (
        members.len(),
        member("base64"),
        member("repeat"),
        member("count"),
        member("pause_ms"),
    ) {
        (1, Some(Value::String(text)), ..) => Ok(RawPiece::Bytes(bytes(text, pointer)?)),
        (2, _, Some(Value::String(unit)), Some(count), _) => {
            let count = count
                .as_u64()
                .and_then(|count| count.try_into().ok())
                .ok_or_else(bad)?;
            Ok(RawPiece::Bytes(repeated(unit, count, pointer)?))
        }
        (1, _, _, _, Some(millis)) => Ok(RawPiece::Pause(wait(millis.as_u64().ok_or_else(bad)?, pointer)?)),
        _ => Err(bad()),
    }
}

fn bytes(base64: &str, pointer: &str) -> Result<Vec<u8>, Fault> {
    STANDARD
        .decode(base64)
        .map_err(|error| Fault::new(pointer, format!("not Base64: {error}")))
}

fn repeated(unit: &str, count: usize, pointer: &str) -> Result<Vec<u8>, Fault> {
    if unit.len().saturating_mul(count) > MAX_REPEAT {
        return Err(Fault::new(pointer, format!("more than {MAX_REPEAT} bytes")));
    }
    Ok(unit.repeat(count).into_bytes())
}

fn answer(
    raw: raw::Expect,
    known: &BTreeSet<String>,
    found: &mut BTreeSet<String>,
    pointer: &str,
) -> Result<Expect, Fault> {
    let extra = match raw.extra.as_deref() {
        None => false,
        Some("allow") => true,
        Some(_) => {
            return Err(Fault::new(
                &format!("{pointer}/extra"),
                "only \"allow\" is possible",
            ));
        }
    };
    let mut compiler = Compiler {
        known,
        captured: BTreeSet::new(),
        extra,
    };
    let mut compile = |member: &str, value: Option<Value>| {
        value
            .map(|value| compiler.compile(&value, &format!("{pointer}/{member}")))
            .transpose()
    };
    let status = compile("status", raw.status)?;
    let message = compile("message", raw.message)?;
    let body = compile("body", raw.body)?;
    let mut headers = Vec::new();
    for (name, value) in raw.headers {
        if let Some(pattern) = compile(&format!("headers/{}", escape(&name)), Some(value))? {
            headers.push((name, pattern));
        }
    }
    if status.is_none() && message.is_none() && body.is_none() && headers.is_empty() && raw.closed.is_none() {
        return Err(Fault::new(
            pointer,
            "nothing is expected here; give status, headers, message, body or closed",
        ));
    }
    found.append(&mut compiler.captured);
    Ok(Expect {
        status,
        headers,
        message,
        body,
        closed: raw.closed,
    })
}
