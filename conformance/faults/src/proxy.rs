//! The proxy over HTTP: each connection of a client has one of its own to the server.
//!
//! What it does not understand, and what comes so slowly that the server may want to have its say, it passes on byte
//! by byte: only the fault is to be seen, never the proxy.

use crate::ask::Ask;
use crate::fault::Fault;
use crate::inject::Injector;
use crate::reply::{Framing, Reply, chunk};
use crate::wire::{self, AnswerHead, Body, Read};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// A request that pauses longer than this halfway is passed on as it is.
const PAUSE: Duration = Duration::from_millis(400);

/// Most bytes of one read.
const SEGMENTS: usize = 64 << 10;

/// A broken server on a loopback port: a good one behind a fault. It ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    injector: Arc<Injector>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts on a free port of 127.0.0.1, before the server at `upstream`, on the runtime of the caller.
    ///
    /// # Errors
    /// No port to be had.
    pub async fn start(upstream: SocketAddr, fault: &'static Fault) -> io::Result<Self> {
        Self::start_on(0, upstream, fault).await
    }

    /// As [`Self::start`], on this port.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn start_on(port: u16, upstream: SocketAddr, fault: &'static Fault) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let injector = Arc::new(Injector::new(fault));
        let task = tokio::spawn(accept(listener, upstream, Arc::clone(&injector)));
        Ok(Self {
            address,
            injector,
            task,
        })
    }

    /// Where it listens. The path is the server's.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often the fault changed what was asked or answered.
    pub fn changed(&self) -> u64 {
        self.injector.changed()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, injector: Arc<Injector>) {
    let busy = Arc::new(AtomicU64::new(0));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((client, _)) = accepted else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (injector, busy) = (Arc::clone(&injector), Arc::clone(&busy));
        connections.spawn(async move {
            // A connection that breaks ends; the client sees that for itself.
            if let Ok(server) = TcpStream::connect(upstream).await {
                client.set_nodelay(true).ok();
                server.set_nodelay(true).ok();
                Link::new(client, server, injector, busy).serve().await.ok();
            }
        });
    }
}

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Next,
    End,
}

struct Link {
    client: TcpStream,
    server: TcpStream,
    from_client: Vec<u8>,
    from_server: Vec<u8>,
    /// Lengths that `from_client` had after each read.
    cuts: Vec<usize>,
    client_ended: bool,
    injector: Arc<Injector>,
    /// Exchanges going on over all connections.
    busy: Arc<AtomicU64>,
}

impl Link {
    fn new(client: TcpStream, server: TcpStream, injector: Arc<Injector>, busy: Arc<AtomicU64>) -> Self {
        Self {
            client,
            server,
            from_client: Vec::new(),
            from_server: Vec::new(),
            cuts: Vec::new(),
            client_ended: false,
            injector,
            busy,
        }
    }

    async fn serve(mut self) -> io::Result<()> {
        let mut earlier = 0;
        while let Some((mut ask, raw)) = self.next_ask().await? {
            ask.earlier = earlier;
            ask.memory = Arc::clone(&self.injector.memory);
            earlier += 1;
            let busy = Busy::new(&self.busy);
            ask.concurrent = busy.others;
            if self.exchange(&ask, raw).await? == Then::End {
                break;
            }
        }
        Ok(())
    }

    /// The next whole request and its bytes; none at the end, or when the rest was passed on as it is.
    async fn next_ask(&mut self) -> io::Result<Option<(Ask, Vec<u8>)>> {
        let pipelined = !self.from_client.is_empty();
        loop {
            match wire::request(&self.from_client) {
                Read::Whole((mut ask, head), used) => {
                    let raw = self.from_client.drain(..used).collect();
                    let body = head + 1..used;
                    if !ask.chunked {
                        let within = self.cuts.iter().filter(|cut| body.contains(cut));
                        ask.cuts = within.map(|cut| cut - head).collect();
                    }
                    self.cuts.clear();
                    ask.pipelined = pipelined;
                    return Ok(Some((ask, raw)));
                }
                Read::Foreign => {
                    match self.injector.raw(&self.from_client) {
                        Some(reply) => drop(self.send(&reply).await?),
                        None => self.tunnel().await?,
                    }
                    return Ok(None);
                }
                Read::Partial => {}
            }
            let paused = !self.from_client.is_empty();
            // What one segment brings is to come in one read.
            self.from_client.reserve(SEGMENTS);
            tokio::select! {
                read = self.client.read_buf(&mut self.from_client) => {
                    if read? == 0 {
                        return self.tunnel().await.map(|()| None);
                    }
                    self.cuts.push(self.from_client.len());
                }
                read = self.server.read_buf(&mut self.from_server) => {
                    if read? == 0 {
                        return Ok(None);
                    }
                    return self.tunnel().await.map(|()| None);
                }
                () = sleep(PAUSE), if paused => return self.tunnel().await.map(|()| None),
            }
        }
    }

    /// Passes everything on from here.
    async fn tunnel(&mut self) -> io::Result<()> {
        self.server.write_all(&self.from_client).await?;
        self.client.write_all(&self.from_server).await?;
        copy_bidirectional(&mut self.client, &mut self.server)
            .await
            .map(|_| ())
    }

    async fn exchange(&mut self, ask: &Ask, raw: Vec<u8>) -> io::Result<Then> {
        if let Some(reply) = self.injector.answer(ask) {
            return self.send(&reply).await;
        }
        let raw = match self.injector.ask(ask) {
            Some(other) => wire::write_request(&other),
            None => raw,
        };
        // A server may answer before it has read everything, and close; what it answered counts.
        self.server.write_all(&raw).await.ok();
        let (head, length) = loop {
            match wire::answer_head(&self.from_server, &ask.method) {
                Read::Whole(head, length) if head.status < 200 => {
                    self.client.write_all(&self.from_server[..length]).await?;
                    self.from_server.drain(..length);
                }
                Read::Whole(head, length) => break (head, length),
                Read::Foreign => return self.tunnel().await.map(|()| Then::End),
                Read::Partial if self.more_from_server().await? => {}
                Read::Partial => {
                    self.client.write_all(&self.from_server).await?;
                    return Ok(Then::End);
                }
            }
        };
        let reply = Reply {
            status: head.status,
            headers: head.headers.clone(),
            body: Vec::new(),
            framing: Framing::Sized,
            delay: Duration::ZERO,
        };
        if reply.is_event_stream() && head.body != Body::Absent {
            self.from_server.drain(..length);
            self.stream(ask, &head, reply).await
        } else {
            self.whole(ask, &head, length, reply).await
        }
    }

    async fn whole(
        &mut self,
        ask: &Ask,
        head: &AnswerHead,
        start: usize,
        mut reply: Reply,
    ) -> io::Result<Then> {
        let mut ended = false;
        let end = loop {
            let rest = &self.from_server[start..];
            match head.body {
                Body::Absent => break start,
                Body::Length(length) if rest.len() >= length => {
                    rest[..length].clone_into(&mut reply.body);
                    break start + length;
                }
                Body::UntilClose if ended => {
                    rest.clone_into(&mut reply.body);
                    break self.from_server.len();
                }
                Body::Chunked => match wire::chunked(rest) {
                    Read::Whole(body, used) => {
                        reply.body = body;
                        break start + used;
                    }
                    Read::Foreign => return self.tunnel().await.map(|()| Then::End),
                    Read::Partial => {}
                },
                _ => {}
            }
            if ended {
                self.client.write_all(&self.from_server).await?;
                return Ok(Then::End);
            }
            ended = !self.more_from_server().await?;
        };
        let raw: Vec<u8> = self.from_server.drain(..end).collect();
        let then = if self.injector.reply(ask, &mut reply) {
            self.send(&reply).await?
        } else {
            self.client.write_all(&raw).await?;
            Then::Next
        };
        Ok(if head.closes { Then::End } else { then })
    }

    /// Passes an event stream on, event by event.
    async fn stream(&mut self, ask: &Ask, head: &AnswerHead, mut reply: Reply) -> io::Result<Then> {
        self.injector.reply(ask, &mut reply);
        match reply.framing {
            Framing::Never | Framing::Drop => return self.send(&reply).await,
            _ => {}
        }
        let mut limit = match reply.framing {
            Framing::Cut(events) => Some(events),
            _ => None,
        };
        let held = reply.framing == Framing::HeldOpen;
        reply.framing = Framing::HeldOpen;
        sleep(reply.delay).await;
        self.client.write_all(&reply.write()).await?;
        let (mut text, mut ended) = (Vec::new(), false);
        while !ended {
            match head.body {
                Body::Chunked => match wire::one_chunk(&self.from_server) {
                    Read::Whole(piece, used) => {
                        self.from_server.drain(..used);
                        ended = piece.is_empty();
                        text.extend_from_slice(&piece);
                    }
                    Read::Partial if self.more_from_server().await? => continue,
                    _ => return Ok(Then::End),
                },
                _ => {
                    text.append(&mut self.from_server);
                    ended = !self.more_from_server().await?;
                }
            }
            while let Some(length) = event_length(&text) {
                let event: Vec<u8> = text.drain(..length).collect();
                let event = match str::from_utf8(&event) {
                    Ok(event) => self.injector.event(ask, event).into_bytes(),
                    Err(_) => event,
                };
                limit = limit.map(|limit| limit.saturating_sub(1));
                self.send_chunk(&event).await?;
                if limit == Some(0) {
                    return Ok(Then::End);
                }
            }
        }
        self.send_chunk(&text).await?;
        if held {
            return self.hold().await;
        }
        self.client.write_all(b"0\r\n\r\n").await?;
        Ok(if head.closes { Then::End } else { Then::Next })
    }

    async fn send_chunk(&mut self, piece: &[u8]) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut out = Vec::new();
        chunk(piece, &mut out);
        self.client.write_all(&out).await
    }

    async fn send(&mut self, reply: &Reply) -> io::Result<Then> {
        sleep(reply.delay).await;
        match reply.framing {
            Framing::Drop => return Ok(Then::End),
            Framing::Never => return self.hold().await,
            Framing::Pieces(size) => {
                for piece in reply.write().chunks(size.max(1)) {
                    self.client.write_all(piece).await?;
                    sleep(Duration::from_millis(1)).await;
                }
            }
            _ => self.client.write_all(&reply.write()).await?,
        }
        match reply.framing {
            Framing::Cut(_) | Framing::UntilClose => Ok(Then::End),
            Framing::HeldOpen => self.hold().await,
            _ if reply.headers.has("connection", "close") => Ok(Then::End),
            _ => Ok(Then::Next),
        }
    }

    /// Says nothing until the client is gone.
    async fn hold(&mut self) -> io::Result<Then> {
        while !self.client_ended {
            self.from_client.clear();
            self.client_ended = self.client.read_buf(&mut self.from_client).await? == 0;
        }
        Ok(Then::End)
    }

    /// Waits for more from the server; false when there is none. What the client sends meanwhile is kept for later.
    async fn more_from_server(&mut self) -> io::Result<bool> {
        self.from_client.reserve(SEGMENTS);
        self.from_server.reserve(SEGMENTS);
        loop {
            tokio::select! {
                read = self.server.read_buf(&mut self.from_server) => return Ok(read? > 0),
                read = self.client.read_buf(&mut self.from_client), if !self.client_ended => {
                    if read? == 0 {
                        self.client_ended = true;
                        self.server.shutdown().await?;
                    } else {
                        self.cuts.push(self.from_client.len());
                    }
                }
            }
        }
    }
}

/// The length of the first whole event, its blank line included.
fn event_length(text: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"].map(|end| {
        let at = text.windows(end.len()).position(|window| window == end);
        at.map(|at| at + end.len())
    });
    ends.into_iter().flatten().min()
}

/// An exchange that goes on.
struct Busy {
    all: Arc<AtomicU64>,
    others: u64,
}

impl Busy {
    fn new(all: &Arc<AtomicU64>) -> Self {
        Self {
            others: all.fetch_add(1, Ordering::Relaxed),
            all: Arc::clone(all),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}
