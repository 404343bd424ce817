//! The network that this process is inside of, and the boards on it.

use crate::client::Client;
use mcp_hil::targets::BOOT_LIMIT;
use mcp_hil_harness::board::firmware::VIRTUAL;
use mcp_hil_harness::target::Endpoint;
use mcp_hil_virtual_board::{Board, BoardOptions, Options, VirtualNetwork};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A served request takes no longer, whatever else is going on.
pub const SERVED_WITHIN: Duration = Duration::from_secs(1);
/// Most heap that requests may take beyond what the board has taken at its start, bytes.
const HEAP: u64 = 4096;

// places on the network, so that no two trials have the same board
pub const LOSS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
pub const INFRASTRUCTURE: usize = 12;
pub const BOUNDS: usize = 13;
pub const SILENT: usize = 14;
pub const UNREAD: usize = 15;
pub const BODY: usize = 16;
pub const STRETCHED: usize = 17;
pub const CONSOLE: usize = 18;
pub const BEFORE: usize = 19;
pub const LATER: usize = 20;
pub const GOODBYE: usize = 21;
pub const KILLED: usize = 22;
pub const CONFIGURED: usize = 23;
pub const FIXED: usize = 24;
pub const DAMAGED: usize = 25;
pub const RESTARTED: usize = 26;
pub const HEAP_PEAK: usize = 27;
const PLACES: usize = 28;

/// What the trials need: nothing yet, or the network, or why there is none.
#[derive(Default)]
pub struct Lab(OnceLock<Result<Ready, String>>);

/// The firmware and the network.
pub struct Ready {
    firmware: PathBuf,
    pub network: VirtualNetwork,
}

impl Lab {
    /// Builds the firmware and enters the network; before the process has a second thread.
    pub fn prepare(&self) {
        self.0.get_or_init(prepare);
    }

    pub fn ready(&self) -> Result<&Ready, String> {
        match self.0.get() {
            Some(ready) => ready.as_ref().map_err(String::clone),
            None => Err("nothing was prepared".to_owned()),
        }
    }

    pub fn trouble(&self) -> Option<&str> {
        self.0.get()?.as_ref().err().map(String::as_str)
    }
}

fn prepare() -> Result<Ready, String> {
    // a user would take the minutes of a first build for a hang
    eprintln!("rv32: building {}", VIRTUAL.folder);
    let folder = VIRTUAL
        .find(Path::new(env!("CARGO_MANIFEST_DIR")))
        .ok_or("the board's folder is not there")?;
    let runtime = runtime()?;
    let build = VIRTUAL.build(&folder, Path::new(env!("CARGO")));
    let firmware = runtime.block_on(build).map_err(|error| error.to_string())?;
    drop(runtime);
    let options = Options {
        boards: PLACES,
        seed: 1,
        ..Options::default()
    };
    let network = VirtualNetwork::enter(&options).map_err(|error| error.to_string())?;
    Ok(Ready { firmware, network })
}

/// A runtime on this thread.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

impl Ready {
    /// Switches a board on.
    pub fn switch_on(&self, place: usize, options: &BoardOptions) -> Result<Board, String> {
        self.network
            .start_board(place, &self.firmware, options)
            .map_err(|error| error.to_string())
    }

    /// Starts a board and waits until it serves, which it does only with the build that was made for it.
    pub fn start(&self, place: usize) -> Result<Tested, String> {
        let board = self.switch_on(place, &BoardOptions::default())?;
        let serving = board.wait_until_serving(BOOT_LIMIT);
        let url = serving.map_err(|error| error.to_string())?.url;
        let endpoint = Endpoint::parse(&url).map_err(|error| error.to_string())?;
        let mut tested = Tested {
            board,
            endpoint,
            heap: 0,
        };
        tested.heap = tested.heap_peak()?;
        Ok(tested)
    }
}

/// A board under test.
pub struct Tested {
    pub board: Board,
    pub endpoint: Endpoint,
    /// Its heap's peak at the start, bytes.
    heap: u64,
}

impl Tested {
    /// A new connection to it.
    pub fn connect(&self) -> Result<Client, String> {
        Client::connect(&self.endpoint).map_err(|reason| self.with_console(&reason))
    }

    /// Sends a message on a connection of its own.
    pub fn post(&self, body: &[u8]) -> Result<(u16, String), String> {
        let answer = self.connect().and_then(|mut client| client.post(body));
        answer.map_err(|reason| self.with_console(&reason))
    }

    /// It serves the next request at once, did not start anew, did not panic, and kept its memory together.
    pub fn is_well(&self, after: &str) -> Result<(), String> {
        let fail = |reason: String| Err(self.with_console(&format!("after {after}: {reason}")));
        let asked = Instant::now();
        let peak = self.heap_peak()?;
        let took = asked.elapsed();
        if took > SERVED_WITHIN {
            return fail(format!("the next request was answered after {took:?}"));
        }
        if peak > self.heap + HEAP {
            return fail(format!("the heap's peak rose from {} to {peak} bytes", self.heap));
        }
        if self.has_restarted() {
            return fail("the board panicked or was reset".to_owned());
        }
        Ok(())
    }

    /// Whether it panicked, or started anew.
    pub fn has_restarted(&self) -> bool {
        let printed = self.board.console().tail(usize::MAX);
        printed.contains("panic") || printed.matches("stage=reset").count() != 1
    }

    /// What `device_stats` of the contract tells of the heap.
    pub fn heap_peak(&self) -> Result<u64, String> {
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"device_stats"}}"#;
        let (status, body) = self.post(call)?;
        let answer = serde_json::from_str::<serde_json::Value>(&body).unwrap_or_default();
        match answer["result"]["structuredContent"]["heap_peak"].as_u64() {
            Some(peak @ 1..) if status == 200 => Ok(peak),
            _ => Err(self.with_console(&format!("device_stats is answered {status}: {body}"))),
        }
    }

    /// A reason with what stands on the console.
    pub fn with_console(&self, reason: &str) -> String {
        format!("{reason}\nconsole:\n{}", self.board.console().tail(20))
    }
}
