//! Messages over the standard streams of a child process, one a line.

use super::{Exchange, Limits, Reply};
use crate::fault::Fault;
use crate::http::Piece;
use crate::http::answer::MAX_ANSWER;
use crate::message::{self, RequestId};
use crate::process::Guarded;
use crate::repeat;
use crate::target::Command;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Bytes of standard error that are kept: the last ones.
const MAX_STDERR: usize = 64 << 10;
/// Lines of it that are told when the server ends.
const SHOWN_LINES: usize = 10;
/// Lines read ahead of what is asked for; a flood waits in the pipe. Each may be as long as an answer.
const MAX_AHEAD: usize = 1;

/// A process that was just started may take this many times as long for its first line: interpreters and package runners
/// load first.
const START: u32 = 3;

/// How many times as long as a short while, and as the answer to the request behind it took, an answer is waited for.
const GRACE: u32 = 4;

/// A running server.
#[derive(Debug)]
pub struct StdioWire {
    command: Command,
    limits: Limits,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Lines of the handshake, without which no other can be repeated.
    opening: Vec<Vec<u8>>,
    /// It wrote a line already.
    has_spoken: bool,
    /// Requests that got no answer in time: should it come, it is not that of the next.
    given_up: Vec<RequestId>,
    process: Guarded,
}

impl StdioWire {
    /// Starts the command. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Fault::Unreachable`]: the program is not there or may not be run.
    pub fn spawn(command: &Command, limits: Limits) -> Result<Self, Fault> {
        let unreachable = |reason| Fault::Unreachable {
            target: command.to_string(),
            reason,
        };
        let mut process = Guarded::spawn(command).map_err(unreachable)?;
        let (sender, lines) = mpsc::channel(MAX_AHEAD);
        let stderr = Arc::default();
        let input = process.child.stdin.take();
        if let Some(stdout) = process.child.stdout.take() {
            tokio::spawn(read_lines(stdout, sender));
        }
        if let Some(pipe) = process.child.stderr.take() {
            tokio::spawn(keep_last(pipe, Arc::clone(&stderr)));
        }
        Ok(Self {
            command: command.clone(),
            limits,
            input,
            lines,
            stderr,
            opening: Vec::new(),
            has_spoken: false,
            given_up: Vec::new(),
            process,
        })
    }

    /// What the server wrote to standard error, the last 64 KiB.
    pub fn stderr(&self) -> String {
        self.stderr
            .lock()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Sends a line. With `wants_answer` waits for the next response; without, gives the response that comes in a short
    /// while, if any does.
    pub async fn exchange(&mut self, line: &[u8], wants_answer: bool) -> Exchange {
        let started = Instant::now();
        let mut exchange = self.send(line, started + self.limits.answer).await;
        let limit = if wants_answer {
            self.patience()
        } else {
            self.limits.quiet
        };
        let mut reply = Reply::default();
        match self
            .response(started + limit, &mut reply, &mut exchange.received)
            .await
        {
            Ok(()) => exchange.replies.push(reply),
            Err(fault) => {
                exchange.fault = self.explain(fault, limit, wants_answer).await;
                self.give_up(line);
            }
        }
        if exchange.fault.is_none() && exchange.replies.is_empty() {
            exchange.replies.push(Reply::default());
        }
        exchange.time = started.elapsed();
        exchange.cut()
    }

    /// Sends a line that is no request, and where nothing comes of it soon, `request` behind it. A server that answers that,
    /// and for a while more not the line, passes the line over: who waits longer learns no more.
    pub async fn exchange_before(&mut self, line: &[u8], request: &Value) -> Exchange {
        let started = Instant::now();
        let limit = self.patience();
        let mut exchange = self.send(line, started + limit).await;
        let mut reply = Reply::default();
        let soon = started + self.limits.quiet;
        let mut came = self.response(soon, &mut reply, &mut exchange.received).await;
        if matches!(came, Err(Fault::Silent(_))) {
            let asked = Instant::now();
            let bytes = request.to_string().into_bytes();
            exchange.sent.extend(self.write(bytes, started + limit).await);
            came = self
                .response(started + limit, &mut reply, &mut exchange.received)
                .await;
            let id = RequestId::of_message(request);
            let is_theirs = reply.message.as_ref().map(RequestId::of_message) == Some(id);
            if came.is_ok() && is_theirs {
                let while_more = GRACE * self.limits.quiet.max(asked.elapsed());
                let until = (Instant::now() + while_more).min(started + limit);
                reply = Reply::default();
                came = self.response(until, &mut reply, &mut exchange.received).await;
            } else {
                self.give_up(request.to_string().as_bytes());
            }
        }
        match came {
            Ok(()) => exchange.replies.push(reply),
            Err(fault) => {
                exchange.fault = self.explain(fault, started.elapsed(), true).await;
                self.give_up(line);
            }
        }
        exchange.time = started.elapsed();
        exchange.cut()
    }

    /// After a line that is no message: whether a response comes on a later one, so that what wrote it is a server.
    pub async fn answers_later(&mut self) -> bool {
        let deadline = Instant::now() + self.patience();
        self.given_up.clear();
        loop {
            let (mut reply, mut received) = (Reply::default(), Vec::new());
            match self.response(deadline, &mut reply, &mut received).await {
                Ok(()) => {
                    return reply
                        .message
                        .is_some_and(|message| message.get("jsonrpc").is_some());
                }
                Err(Fault::NotAMessage(_)) => {}
                Err(_) => return false,
            }
        }
    }

    /// Sends a line to which no answer is due, and waits for none.
    pub async fn notify(&mut self, line: &[u8]) -> Exchange {
        self.send(line, Instant::now() + self.limits.answer).await
    }

    /// Sends several lines at once and gives an exchange for each; answers are matched by id.
    pub async fn together(&mut self, lines: &[Vec<u8>]) -> Vec<Exchange> {
        let started = Instant::now();
        let limit = self.patience();
        let deadline = started + limit;
        let ids: Vec<_> = lines
            .iter()
            .map(|line| {
                serde_json::from_slice(line)
                    .ok()
                    .and_then(|m| RequestId::of_message(&m))
            })
            .collect();
        let mut exchanges = Vec::new();
        for line in lines {
            exchanges.push(self.send(line, deadline).await);
        }
        while exchanges.iter().any(|exchange| exchange.replies.is_empty()) {
            let (mut reply, mut received) = (Reply::default(), Vec::new());
            if let Err(fault) = self.response(deadline, &mut reply, &mut received).await {
                let fault = self.explain(fault, limit, true).await;
                for exchange in exchanges
                    .iter_mut()
                    .filter(|exchange| exchange.replies.is_empty())
                {
                    exchange.received.extend_from_slice(&received);
                    exchange.fault.clone_from(&fault);
                }
                lines.iter().for_each(|line| self.give_up(line));
                break;
            }
            let id = reply.message.as_ref().and_then(RequestId::of_message);
            let open = |index: &usize| exchanges[*index].replies.is_empty();
            let theirs = (0..lines.len())
                .filter(open)
                .find(|index| id.is_some() && ids[*index] == id);
            // an answer to no request of ours goes to the first that waits, where it shows as a mismatch
            let Some(index) = theirs.or_else(|| (0..lines.len()).find(open)) else {
                break;
            };
            exchanges[index].received.extend_from_slice(&received);
            exchanges[index].time = started.elapsed();
            exchanges[index].replies.push(reply);
        }
        exchanges
    }

    /// Writes pieces as they stand, with the pauses between them, and reads this many responses.
    pub async fn raw(&mut self, pieces: &[Piece], answers: usize) -> Exchange {
        let started = Instant::now();
        let limit = self.patience();
        let deadline = started + limit;
        let mut exchange = Exchange::default();
        for piece in pieces {
            match (piece, &mut self.input) {
                (Piece::Pause(time), _) => sleep(*time).await,
                (Piece::Bytes(bytes), Some(input)) => {
                    let _ = timeout_at(deadline, async {
                        input.write_all(bytes).await?;
                        input.flush().await
                    })
                    .await;
                    exchange.sent.extend_from_slice(bytes);
                }
                (Piece::Bytes(_), None) => {}
            }
        }
        exchange.repeat = self.repeat(exchange.sent.trim_ascii_end());
        while exchange.replies.len() < answers {
            let mut reply = Reply::default();
            if let Err(fault) = self.response(deadline, &mut reply, &mut exchange.received).await {
                exchange.fault = self.explain(fault, limit, true).await;
                break;
            }
            exchange.replies.push(reply);
        }
        exchange.time = started.elapsed();
        exchange.cut()
    }

    /// Closes the server's standard input and says whether the process ended within a time.
    pub async fn ends_within(&mut self, limit: Duration) -> bool {
        self.input = None;
        // a full pipe would keep it from its end
        let drain = async { while self.lines.recv().await.is_some() {} };
        let ended = async {
            let (_, status) = tokio::join!(drain, self.process.child.wait());
            status.is_ok()
        };
        timeout(limit, ended).await.unwrap_or(false)
    }

    /// A shell line that repeats this one, after the handshake if there was one.
    fn repeat(&self, line: &[u8]) -> String {
        let lines: Vec<_> = self.opening.iter().map(Vec::as_slice).chain([line]).collect();
        repeat::pipe(&self.command, &lines)
    }

    async fn send(&mut self, line: &[u8], deadline: Instant) -> Exchange {
        let repeat = self.repeat(line);
        let parsed = serde_json::from_slice::<Value>(line).ok();
        let method = parsed.as_ref().and_then(message::method);
        if matches!(method, Some("initialize" | "notifications/initialized")) {
            self.opening.push(line.to_vec());
        }
        Exchange {
            sent: self.write(line.to_vec(), deadline).await,
            repeat,
            ..Exchange::default()
        }
    }

    /// Writes a line and gives its bytes.
    async fn write(&mut self, mut bytes: Vec<u8>, deadline: Instant) -> Vec<u8> {
        bytes.push(b'\n');
        if let Some(input) = &mut self.input {
            // a server that ended or does not read shows as a missing answer, with more to tell
            let _ = timeout_at(deadline, async {
                input.write_all(&bytes).await?;
                input.flush().await
            })
            .await;
        }
        bytes
    }

    /// Reads to the next response.
    async fn response(
        &mut self,
        deadline: Instant,
        reply: &mut Reply,
        received: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        loop {
            let line = match timeout_at(deadline, self.lines.recv()).await {
                Err(_) => return Err(Fault::Silent(Duration::ZERO)),
                Ok(None) => {
                    return Err(Fault::Closed {
                        bytes: received.len(),
                        reset: false,
                        note: String::new(),
                    });
                }
                Ok(Some(line)) => line,
            };
            if received.len() + line.len() > MAX_ANSWER {
                return Err(crate::http::Malformed::TooLarge.into());
            }
            self.has_spoken = true;
            received.extend_from_slice(&line);
            received.push(b'\n');
            let Ok(value) = serde_json::from_slice::<Value>(&line) else {
                return Err(Fault::NotAMessage(
                    String::from_utf8_lossy(&line).chars().take(200).collect(),
                ));
            };
            if self.is_given_up(&value) {
                continue;
            }
            if message::is_response(&value) || !value.is_object() {
                reply.message = Some(value);
                reply.body = line;
                return Ok(());
            }
            // where a server may not ask, it fails for that once its answer is there
            if let Some(ours) = message::reply_to(&value) {
                self.write(ours.to_string().into_bytes(), deadline).await;
            }
            reply.earlier.push(value);
        }
    }

    /// How long the next answer may take.
    fn patience(&self) -> Duration {
        if self.has_spoken {
            self.limits.answer
        } else {
            self.limits.answer * START
        }
    }

    fn give_up(&mut self, line: &[u8]) {
        let message = serde_json::from_slice::<Value>(line).ok();
        self.given_up
            .extend(message.as_ref().and_then(RequestId::of_message));
    }

    /// Whether this answers a request that is not waited for any more; it does so once.
    fn is_given_up(&mut self, message: &Value) -> bool {
        let id = RequestId::of_message(message).filter(|_| message::is_response(message));
        let place = id.and_then(|id| self.given_up.iter().position(|given_up| *given_up == id));
        place.map(|place| self.given_up.swap_remove(place)).is_some()
    }

    /// Fills in what only the caller knows; silence is no fault where no answer is due.
    async fn explain(&mut self, fault: Fault, limit: Duration, wants_answer: bool) -> Option<Fault> {
        match fault {
            Fault::Silent(_) if !wants_answer => None,
            Fault::Silent(_) => Some(Fault::Silent(limit)),
            Fault::Closed { bytes, reset, .. } => {
                let status = timeout(self.limits.quiet, self.process.child.wait()).await;
                let mut note = match status {
                    Ok(Ok(status)) => format!("; {status}"),
                    _ => String::new(),
                };
                match last_lines(&self.stderr()).as_slice() {
                    [] => {}
                    [line] => note = format!("{note}; standard error ends with: {line}"),
                    lines => note = format!("{note}; standard error ends with:\n{}", lines.join("\n")),
                }
                Some(Fault::Closed { bytes, reset, note })
            }
            other => Some(other),
        }
    }
}

/// The last lines that say something, in order.
fn last_lines(text: &str) -> Vec<&str> {
    let told = text.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<_> = told.take(SHOWN_LINES).collect();
    lines.reverse();
    lines
}

async fn read_lines(stdout: impl AsyncRead + Unpin, lines: mpsc::Sender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        // one byte over the limit, so that the reader of the line sees that it is too long
        match (&mut stdout)
            .take(MAX_ANSWER as u64 + 1)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                if lines.send(line).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn keep_last(mut pipe: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        if let Ok(mut kept) = kept.lock() {
            kept.extend_from_slice(&buffer[..count]);
            let surplus = kept.len().saturating_sub(MAX_STDERR);
            kept.drain(..surplus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &[u8] = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
    const NEXT: &[u8] = br#"{"jsonrpc":"2.0","id":"b","method":"ping"}"#;

    /// A server whose life is a shell script; its answers may take a second.
    fn server(script: &str) -> StdioWire {
        let command = Command {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
        };
        StdioWire::spawn(&command, Limits::scaled(0.1)).unwrap()
    }

    #[tokio::test]
    async fn a_process_that_was_just_started_has_more_time() {
        let mut wire =
            server(r#"sleep 1.5; read line; echo '{"jsonrpc":"2.0","id":"a","result":{}}'; sleep 9"#);
        let exchange = wire.exchange(PING, true).await;
        assert!(exchange.message().is_some(), "{exchange:?}");
        let exchange = wire.exchange(NEXT, true).await;
        assert_eq!(exchange.fault, Some(Fault::Silent(Duration::from_secs(1))));
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_not_taken_for_the_next() {
        let mut wire = server(
            r#"echo '{"jsonrpc":"2.0","method":"notifications/message"}'; read line; read line
            echo '{"jsonrpc":"2.0","id":"a","result":{}}'; echo '{"jsonrpc":"2.0","id":"b","result":{}}'; sleep 9"#,
        );
        let exchange = wire.exchange(PING, true).await;
        assert!(matches!(exchange.fault, Some(Fault::Silent(_))), "{exchange:?}");
        let exchange = wire.exchange(NEXT, true).await;
        assert_eq!(exchange.message().map(|answer| &answer["id"]), Some(&"b".into()));
    }

    #[tokio::test]
    async fn a_line_is_passed_over_when_the_request_behind_it_is_answered() {
        let next: Value = serde_json::from_slice(NEXT).unwrap();
        let mut wire = server(
            r#"echo '{"jsonrpc":"2.0","method":"notifications/message"}'; read line; read line
            echo '{"jsonrpc":"2.0","id":"b","result":{}}'; sleep 9"#,
        );
        let exchange = wire.exchange_before(b"not JSON", &next).await;
        assert!(matches!(exchange.fault, Some(Fault::Silent(after)) if after < Duration::from_secs(1)));
        assert!(exchange.sent.starts_with(b"not JSON\n{"));
    }

    #[tokio::test]
    async fn an_answer_to_a_line_that_comes_behind_that_to_the_next_is_its_answer() {
        let next: Value = serde_json::from_slice(NEXT).unwrap();
        let mut wire = server(
            r#"read line; read line; echo '{"jsonrpc":"2.0","id":"b","result":{}}'
            echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}'; sleep 9"#,
        );
        let exchange = wire.exchange_before(b"not JSON", &next).await;
        assert_eq!(exchange.message().unwrap()["error"]["code"], -32700);
    }

    #[tokio::test]
    async fn an_answer_to_a_line_that_was_taken_for_passed_over_is_not_that_to_a_later_one() {
        let next: Value = serde_json::from_slice(NEXT).unwrap();
        let mut wire = server(
            r#"read line; read line; echo '{"jsonrpc":"2.0","id":"b","result":{}}'; read line
            echo '{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"late"}}'
            echo '{"jsonrpc":"2.0","id":"c","result":{}}'; sleep 9"#,
        );
        let exchange = wire
            .exchange_before(br#"{"id":"a","method":"ping"}"#, &next)
            .await;
        assert!(matches!(exchange.fault, Some(Fault::Silent(_))), "{exchange:?}");
        let later = br#"{"jsonrpc":"2.0","id":"c","method":"ping"}"#;
        let exchange = wire.exchange(later, true).await;
        assert_eq!(exchange.message().map(|answer| &answer["id"]), Some(&"c".into()));
    }
}
