//! The bearer token, from a request to its answer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mcp_device::{Millis, Request, Response};
use mcp_device_net::http::{CONSTANT_MAX, Handler};
use mcp_hil_board_startup::guard::Guarded;

const TOKEN: &str = "0123456789abcdef=";
type Header<'a> = (&'a str, &'a [u8]);

/// Answers 200 and counts.
#[derive(Default)]
struct Open(Cell<u32>);

impl Handler for Open {
    async fn handle<'a>(&self, _: Millis, _: &Request<'_>, _: &'a mut [u8]) -> Response<'a> {
        self.0.set(self.0.get() + 1);
        Response {
            status: 200,
            content_type: None,
            allow: None,
            body: b"",
        }
    }
}

/// Status and body of the answer to a request with these headers, and whether it came through.
fn ask(token: Option<&str>, method: &str, headers: &[Header<'_>]) -> (u16, Vec<u8>, bool) {
    let guarded = Guarded::new(Open::default(), token);
    let request = Request {
        method,
        path: "/mcp",
        headers,
        body: b"{}",
    };
    let mut buffer = [0; 16];
    let mut future = pin!(guarded.handle(Millis(0), &request, &mut buffer));
    let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("nothing waits here");
    };
    (answer.status, answer.body.to_vec(), guarded.inner().0.get() == 1)
}

fn status(headers: &[Header<'_>]) -> u16 {
    let (status, _, through) = ask(Some(TOKEN), "POST", headers);
    assert_eq!(
        through,
        status == 200,
        "a refused request must not reach the device"
    );
    status
}

#[test]
fn the_token_lets_in_however_the_scheme_is_written() {
    for value in [
        "Bearer 0123456789abcdef=",
        "bearer 0123456789abcdef=",
        "BEARER  0123456789abcdef=",
    ] {
        assert_eq!(status(&[("authorization", value.as_bytes())]), 200, "{value}");
    }
}

#[test]
fn anything_else_does_not() {
    assert_eq!(status(&[]), 401);
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer0123456789abcdef=",
        "Basic 0123456789abcdef=",
        "0123456789abcdef=",
        "Bearer 0123456789abcdef",
        "Bearer 0123456789abcdef==",
        "Bearer 0123456789abcdeF=",
        "Bearer 0123456789abcdef= x",
        "Bearer 0123456789abcdef=0123456789abcdef=",
        "Bearer 1123456789abcdef=",
    ] {
        assert_eq!(status(&[("Authorization", value.as_bytes())]), 401, "{value}");
    }
    let twice: Header<'_> = ("Authorization", b"Bearer 0123456789abcdef=");
    assert_eq!(status(&[twice, twice]), 401, "one header, or none");
}

#[test]
fn the_refusal_tells_a_person_what_to_do() {
    let (status, body, _) = ask(Some(TOKEN), "POST", &[]);
    assert_eq!(
        (status, &body[..]),
        (401, &b"this board wants `Authorization: Bearer TOKEN`\n"[..])
    );
    assert!(body.len() <= CONSTANT_MAX, "the edge sends no longer constant");
    assert_eq!(
        ask(Some(TOKEN), "HEAD", &[]).1,
        b"",
        "an answer to HEAD has no body"
    );
}

#[test]
fn without_a_token_everyone_is_let_in() {
    assert_eq!(ask(None, "POST", &[]).0, 200);
    assert_eq!(ask(None, "POST", &[("Authorization", b"Bearer anything")]).0, 200);
}
