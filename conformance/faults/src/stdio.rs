//! The proxy over stdio: lines both ways.

use crate::ask::Ask;
use crate::fault::Fault;
use crate::inject::Injector;
use crate::reply::{Framing, Reply};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

/// Requests that are remembered for their answers.
const REMEMBERED: usize = 256;
/// Most bytes of one read.
const READ: usize = 64 << 10;
/// How long a server that ignores the end of its input goes on.
const LINGER: Duration = Duration::from_secs(60);

/// Stands between a client and a server that talk lines, until the server's output ends; gives how often the fault
/// changed what was asked or answered.
///
/// # Errors
/// Those of reading and writing.
pub async fn relay(
    fault: &'static Fault,
    mut client_in: impl AsyncRead + Unpin,
    mut client_out: impl AsyncWrite + Unpin,
    server_in: impl AsyncWrite + Unpin,
    mut server_out: impl AsyncRead + Unpin,
) -> io::Result<u64> {
    let injector = Injector::new(fault);
    let mut server_in = Some(server_in);
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    let mut asks: Vec<Ask> = Vec::new();
    let mut reads = 0;
    loop {
        from_client.reserve(READ);
        from_server.reserve(READ);
        tokio::select! {
            read = client_in.read_buf(&mut from_client), if server_in.is_some() => {
                if read? == 0 {
                    // Dropping it tells the server that there is no more.
                    server_in = None;
                    continue;
                }
                reads += 1;
                let lines = take_lines(&mut from_client);
                for (index, body) in lines.into_iter().enumerate() {
                    let cuts = vec![0; std::mem::take(&mut reads)];
                    let memory = Arc::clone(&injector.memory);
                    let ask = Ask { body, cuts, pipelined: index > 0, memory, ..Ask::default() };
                    if let Some(reply) = injector.answer(&ask) {
                        say(&mut client_out, &reply).await?;
                    } else {
                        let sent = injector.ask(&ask).map_or_else(|| ask.body.clone(), |other| other.body);
                        if let Some(server) = &mut server_in {
                            server.write_all(&sent).await?;
                            server.write_all(b"\n").await?;
                            server.flush().await?;
                        }
                    }
                    asks.truncate(REMEMBERED);
                    asks.insert(0, ask);
                }
            }
            read = server_out.read_buf(&mut from_server) => {
                if read? == 0 {
                    break;
                }
                for line in take_lines(&mut from_server) {
                    let Ok(line) = String::from_utf8(line) else { continue };
                    let ask = find(&asks, &line);
                    for line in injector.lines(&ask, &line) {
                        client_out.write_all(line.as_bytes()).await?;
                        client_out.write_all(b"\n").await?;
                    }
                    client_out.flush().await?;
                }
            }
        }
    }
    if fault.hooks.lingers {
        injector.count();
        sleep(LINGER).await;
    }
    Ok(injector.changed())
}

/// The request that a line answers, or else the newest.
fn find(asks: &[Ask], line: &str) -> Ask {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let answered = asks
        .iter()
        .find(|ask| message.get("id").is_some_and(|id| *id == ask.id()));
    answered.or(asks.first()).cloned().unwrap_or_default()
}

async fn say(client: &mut (impl AsyncWrite + Unpin), reply: &Reply) -> io::Result<()> {
    sleep(reply.delay).await;
    match reply.framing {
        Framing::Never | Framing::Drop => Ok(()),
        _ if reply.body.is_empty() => Ok(()),
        _ => {
            client.write_all(&reply.body).await?;
            client.write_all(b"\n").await?;
            client.flush().await
        }
    }
}

/// Takes the whole lines, without their ends.
fn take_lines(bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let whole: Vec<u8> = bytes.drain(..=end).collect();
    let lines = whole[..end].split(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}
