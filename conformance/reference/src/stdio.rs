//! The stdio edge: one message a line, one answer a line.

use crate::Server;
use crate::dispatch::{Reply, Transport, handle, oversized};
use crate::outlet::Outlet;
use crate::scope::Scope;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

/// Serves one client until the input ends. Each message says its own era; `initialize` opens the legacy one.
///
/// # Errors
/// Those of reading and writing.
pub async fn serve_stdio(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    server: &Server,
) -> io::Result<()> {
    let (lines, received) = mpsc::channel(1);
    let read = read_lines(reader, server.options.body_limit, lines);
    let answer = answer_lines(received, writer, server);
    tokio::select! {
        ended = async { tokio::try_join!(read, answer) } => ended.map(|_| ()),
        never = server.state.run_jobs() => match never {},
    }
}

/// A line without its end; none if it was too long.
type Line = Option<Vec<u8>>;

async fn read_lines(
    reader: impl AsyncRead + Unpin,
    limit: usize,
    lines: mpsc::Sender<Line>,
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while let Some(whole) = read_line(&mut reader, &mut line, limit).await? {
        let line = whole.then(|| std::mem::take(&mut line));
        if lines.send(line).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Answers in the order of the lines, but for a call that waits: it holds up no other.
async fn answer_lines(
    mut lines: mpsc::Receiver<Line>,
    mut writer: impl AsyncWrite + Unpin,
    server: &Server,
) -> io::Result<()> {
    let initialized = AtomicBool::new(false);
    let scope = Arc::new(Scope::stream());
    let (outlet, mut said) = Outlet::open();
    let transport = Transport::Stdio {
        initialized: &initialized,
        scope: &scope,
    };
    let mut answers = FuturesUnordered::new();
    let mut ended = false;
    while !(ended && answers.is_empty() && said.is_empty()) {
        let text = tokio::select! {
            biased;
            Some(text) = said.recv() => text,
            Some(reply) = answers.next() => match reply {
                Reply::Message { text, .. } | Reply::Session { text, .. } => text,
                Reply::Accepted | Reply::Refused(_) | Reply::Cancelled => continue,
            },
            line = lines.recv(), if !ended => {
                match line {
                    Some(line) => answers.push(answer(server, line, &transport, &outlet)),
                    None => {
                        ended = true;
                        server.closing.send_replace(true);
                    }
                }
                continue;
            }
        };
        writer.write_all(format!("{text}\n").as_bytes()).await?;
        writer.flush().await?;
    }
    Ok(())
}

async fn answer(server: &Server, line: Line, transport: &Transport<'_>, outlet: &Outlet) -> Reply {
    match line {
        Some(line) => handle(server, &line, transport, outlet).await,
        None => oversized(server.options.body_limit),
    }
}

/// Reads a line without its end. `Some(false)`: the line was longer than `limit` and was passed over. `None`: the
/// input has ended.
async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    limit: usize,
) -> io::Result<Option<bool>> {
    line.clear();
    let (mut length, mut seen) = (0_usize, false);
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(seen.then_some(length <= limit));
        }
        seen = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        length = length.saturating_add(part.len());
        if length <= limit {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(length <= limit));
        }
    }
}
