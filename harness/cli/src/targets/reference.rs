//! `reference`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing};
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::{Endpoint, Target};
use mcp_hil_reference::{Options as ServerOptions, Server, serve_http};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

pub const KIND: Kind = Kind {
    syntax: "reference",
    about: "the strict reference server, run inside this process",
    prepare,
};

fn prepare(name: &str, _: &Options) -> Option<Preparing> {
    let prepared = || Prepared::new(|| std::future::ready(start()));
    (name == "reference").then(|| Box::pin(std::future::ready(Ok(prepared()))) as Preparing)
}

fn start() -> Result<Open, OpenError> {
    let server = ReferenceServer::start()
        .map_err(|error| OpenError::Infrastructure(format!("the reference server did not start: {error}")))?;
    let target = Target::Http(server.endpoint.clone());
    Ok(Open::one(Subject::new(target, Some(CONTRACT.to_owned())), server))
}

/// The reference server on a loopback port, on a thread of its own; stops when dropped.
#[derive(Debug)]
pub struct ReferenceServer {
    /// Where it answers.
    pub endpoint: Endpoint,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ReferenceServer {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// No port, no thread, or no runtime to be had.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let server = Arc::new(Server::new(ServerOptions::default()));
            serve_http(listener, server, async { drop(stopped.await) }).await
        };
        let thread = std::thread::Builder::new()
            .name("reference".to_owned())
            .spawn(move || {
                if let Err(error) = runtime.block_on(serve) {
                    eprintln!("mcp-hil: the reference server stopped: {error}");
                }
            })?;
        let endpoint = Endpoint::parse(&format!("http://{address}/mcp")).map_err(io::Error::other)?;
        Ok(Self {
            endpoint,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
