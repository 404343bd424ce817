//! Judges one answer by what a step expects: pure.

use crate::client::Reply;
use crate::matcher::{self, Mismatch, Outcome};
use crate::message::{self, RequestId};
use crate::shape::Shapes;
use crate::transcript::{Captures, Expect, Pattern};
use serde_json::Value;

/// What is wrong with an answer, and what to show beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Every difference; empty if the answer is as expected.
    pub mismatches: Vec<Mismatch>,
    /// What the message should have been, as near to what came as can be; none if the message is not at fault.
    pub expected: Option<String>,
    /// The message that came, in the same form.
    pub got: Option<String>,
    /// What the answer gave to keep.
    pub captured: Captures,
}

/// What is known of the request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The message sent, if it could be read as one.
    pub message: Option<&'a Value>,
    /// Whether it went over HTTP.
    pub http: bool,
}

/// Judges an answer. An unreadable body is a mismatch wherever a message is looked at.
pub fn judge(
    expect: &Expect,
    asked: Asked<'_>,
    reply: &Reply,
    shapes: &Shapes,
    captures: &Captures,
) -> Verdict {
    let mut verdict = Verdict::default();
    if asked.http {
        let status = reply.status.map(Value::from);
        named(
            &mut verdict,
            "HTTP status",
            expect.status.as_ref(),
            status.as_ref(),
            captures,
        );
        for (name, pattern) in &expect.headers {
            let value = reply.header(name).map(Value::from);
            named(
                &mut verdict,
                &format!("header {name}"),
                Some(pattern),
                value.as_ref(),
                captures,
            );
        }
    }
    let body = Value::from(String::from_utf8_lossy(&reply.body));
    named(&mut verdict, "body", expect.body.as_ref(), Some(&body), captures);
    if let Some(pattern) = &expect.message {
        message_as(&mut verdict, pattern, reply, captures);
    }
    if asked.http {
        verdict.mismatches.extend(media_type_fault(asked.message, reply));
    }
    let readable = reply.message.as_ref();
    let mut faults = shapes.faults_before(&reply.earlier);
    if let Some(answer) = readable {
        faults.extend(shapes.faults(asked.message.and_then(message::method), answer));
        faults.extend(id_fault(asked.message, answer));
    }
    for fault in faults {
        let mismatch = Mismatch {
            pointer: String::new(),
            expected: "a message of the revision's shape".to_owned(),
            got: fault,
        };
        verdict.mismatches.push(mismatch);
    }
    verdict
}

/// Compares a part of the answer that has a name instead of a pointer.
fn named(
    verdict: &mut Verdict,
    name: &str,
    pattern: Option<&Pattern>,
    got: Option<&Value>,
    captures: &Captures,
) {
    let Some(pattern) = pattern else { return };
    let Outcome { mismatches, captured } = matcher::compare(pattern, got, captures);
    let renamed = mismatches.into_iter().map(|mismatch| Mismatch {
        pointer: format!("{name}{}", mismatch.pointer),
        ..mismatch
    });
    verdict.mismatches.extend(renamed);
    verdict.captured.extend(captured);
}

fn message_as(verdict: &mut Verdict, pattern: &Pattern, reply: &Reply, captures: &Captures) {
    if let Some(reason) = &reply.unreadable {
        let expected = matcher::expected(pattern, captures).to_string();
        verdict.mismatches.push(Mismatch {
            pointer: String::new(),
            expected,
            got: reason.clone(),
        });
        return;
    }
    let got = reply.message.as_ref();
    let Outcome { mismatches, captured } = matcher::compare(pattern, got, captures);
    if !mismatches.is_empty() {
        let pretty =
            |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:#}"));
        verdict.expected = Some(pretty(matcher::nearest(pattern, got, captures).as_ref()));
        verdict.got = Some(pretty(got));
    }
    verdict.mismatches.extend(mismatches);
    verdict.captured.extend(captured);
}

/// What answers a request with a message says in which form (2025-11-25, Streamable HTTP, "Sending Messages to the
/// Server", 5; 2026-07-28, the same, 6). An answer of 4xx or 5xx needs no message, so nothing is asked of its form.
fn media_type_fault(request: Option<&Value>, reply: &Reply) -> Option<Mismatch> {
    let answers = request.and_then(message::method).is_some()
        && reply.status.is_some_and(|status| (200..300).contains(&status))
        && reply.message.is_some();
    let said = reply.header("content-type");
    let essence = said
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let known = ["application/json", "text/event-stream"]
        .iter()
        .any(|known| essence.eq_ignore_ascii_case(known));
    (answers && !known).then(|| Mismatch {
        pointer: "header content-type".to_owned(),
        expected: "application/json or text/event-stream".to_owned(),
        got: said.map_or_else(|| "nothing".to_owned(), |said| format!("{said:?}")),
    })
}

/// An answer's id must be the request's, type and all; only an error may say that it could not read it.
fn id_fault(request: Option<&Value>, answer: &Value) -> Option<String> {
    let request = request.filter(|request| message::method(request).is_some())?;
    let sent = RequestId::of_message(request)?;
    let theirs = answer.get("id").unwrap_or(&Value::Null);
    let unread = theirs.is_null() && answer.get("error").is_some();
    (!unread && RequestId::of(theirs).as_ref() != Some(&sent))
        .then(|| format!("request {sent} was answered with id {theirs}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Revision;
    use crate::transcript::{Action, Transcript};
    use serde_json::json;

    fn expect(text: Value) -> Expect {
        let transcript = json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [
            {"name": "s", "send": {"message": {}}, "expect": text}]});
        let transcript = Transcript::parse("t.json", &transcript.to_string()).unwrap();
        match transcript.steps.into_iter().next().unwrap().action {
            Action::Exchange { mut expect, .. } => expect.remove(0),
            _ => unreachable!(),
        }
    }

    fn verdict(expected: Value, status: u16, body: &str) -> Vec<String> {
        let answer = crate::http::Answer {
            status,
            body: body.into(),
            headers: vec![
                ("Allow".into(), "POST".into()),
                ("Content-Type".into(), "application/json".into()),
            ],
            ..Default::default()
        };
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let asked = Asked {
            message: Some(&request),
            http: true,
        };
        let shapes = Shapes::of(Revision::R2025_11_25).unwrap();
        let verdict = judge(
            &expect(expected),
            asked,
            &answer.into(),
            &shapes,
            &Captures::default(),
        );
        verdict
            .mismatches
            .into_iter()
            .map(|m| format!("{}: {}", m.pointer, m.got))
            .collect()
    }

    const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    const NONE: [&str; 0] = [];

    #[test]
    fn status_headers_and_body_are_named() {
        assert_eq!(
            verdict(
                json!({"status": 200, "headers": {"allow": "POST"}, "body": PONG}),
                200,
                PONG
            ),
            NONE
        );
        assert_eq!(
            verdict(
                json!({"status": 405, "headers": {"ALLOW": "GET", "x": "y"}}),
                200,
                PONG
            ),
            ["HTTP status: 200", "header ALLOW: \"POST\"", "header x: nothing"]
        );
    }

    #[test]
    fn no_message_means_an_empty_body() {
        let absent = json!({"message": {"$absent": true}});
        assert_eq!(verdict(absent.clone(), 202, ""), NONE);
        assert_eq!(verdict(absent.clone(), 202, "null")[0], ": null");
        assert!(verdict(absent, 202, "<p>")[0].starts_with(": the body is not JSON"));
    }

    #[test]
    fn the_id_keeps_its_type_whatever_the_transcript_says() {
        let any = json!({"message": {"$any": true}});
        assert_eq!(verdict(any.clone(), 200, PONG), NONE);
        assert_eq!(
            verdict(any.clone(), 200, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#),
            [": request 1 was answered with id \"1\""]
        );
        let unread = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#;
        assert_eq!(verdict(any, 400, unread), NONE);
    }
}
