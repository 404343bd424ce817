//! A strict MCP reference server for both eras, over HTTP and stdio.
//!
//! It keeps the contract in `fixtures/contract` and shares no code with the firmware that keeps it too: where the
//! two differ, one of them is wrong. [`Server::answer`] is a function from a request to a response; only
//! [`serve_http`] and [`serve_stdio`] do I/O, and let background jobs go on between requests.

mod clock;
mod cursor;
mod dispatch;
mod features;
mod http;
mod jobs;
mod json;
mod jsonrpc;
mod official;
mod outlet;
mod scope;
mod state;
mod stdio;
mod tasks;
mod tools;
mod unique;
mod validate;

pub use features::{Feature, Features, UnknownFeature};
pub use http::serve_http;
pub use stdio::serve_stdio;

use http::StreamLogs;
use scope::{Scope, Sessions};
use state::State;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tasks::Tasks;
use tokio::sync::watch;
use tools::Tool;
use unique::Seal;

/// What can be chosen about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tools on one page of `tools/list`; the contract has 4.
    pub page_size: NonZeroUsize,
    /// Largest message in bytes: a larger body is answered 413, a larger line over stdio -32600. The contract has
    /// 16384.
    pub body_limit: usize,
    /// Host names that `Host` may carry besides IP literals and `localhost`, without a port.
    pub names: Vec<String>,
    /// What the server can do beyond the contract; the contract has none.
    pub features: Features,
}

impl Default for Options {
    fn default() -> Self {
        let page_size = const { NonZeroUsize::new(4).expect("4 is not 0") };
        Self {
            page_size,
            body_limit: 16384,
            names: Vec::new(),
            features: Features::default(),
        }
    }
}

/// The server: its tools and the state of its simulated board.
#[derive(Debug)]
pub struct Server {
    options: Options,
    tools: Vec<Tool>,
    state: State,
    common: Arc<Scope>,
    sessions: Sessions,
    tasks: Tasks,
    streams: StreamLogs,
    seal: Seal,
    /// Turns true when the server ends.
    closing: watch::Sender<bool>,
}

impl Server {
    /// A server whose board has just started.
    pub fn new(options: Options) -> Self {
        Self {
            tools: tools::catalogue(options.features),
            options,
            state: State::start(),
            common: Arc::new(Scope::common()),
            sessions: Sessions::default(),
            tasks: Tasks::default(),
            streams: StreamLogs::default(),
            seal: Seal::default(),
            closing: watch::Sender::new(false),
        }
    }
}
