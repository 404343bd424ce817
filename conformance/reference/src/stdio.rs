//! The stdio edge: one message a line, one answer a line.

use crate::Server;
use crate::dispatch::{Reply, Transport, handle, oversized};
use std::io;
use std::sync::atomic::AtomicBool;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// Serves one client until the input ends. Each message says its own era; `initialize` opens the legacy one.
///
/// # Errors
/// Those of reading and writing.
pub async fn serve_stdio(
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    server: &Server,
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let initialized = AtomicBool::new(false);
    let limit = server.options.body_limit;
    let mut line = Vec::new();
    while let Some(whole) = read_line(&mut reader, &mut line, limit).await? {
        let reply = if whole {
            handle(
                server,
                &line,
                &Transport::Stdio {
                    initialized: &initialized,
                },
            )
        } else {
            oversized(limit)
        };
        if let Reply::Message { text, .. } = reply {
            writer.write_all(format!("{text}\n").as_bytes()).await?;
            writer.flush().await?;
        }
    }
    Ok(())
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
