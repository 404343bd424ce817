//! The targets of the suite: started when a trial first needs them, one trial at a time on each.

use mcp_hil::targets::ReferenceServer;
use mcp_hil_harness::board::build_id;
use mcp_hil_harness::board::native::{self, NativeBoard};
use mcp_hil_harness::client::{self, Limits};
use mcp_hil_harness::player::{Known, Player};
use mcp_hil_harness::replay::CONTRACT;
use mcp_hil_harness::report::Played;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::{Command, Target};
use mcp_hil_harness::transcript::Transcript;
use serde_json::json;
use std::any::Any;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// A kind of target.
pub struct Kind {
    /// First part of its trials' names.
    pub name: &'static str,
    transport: &'static str,
    start: fn(&Handle) -> Result<Up, String>,
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "reference",
        transport: "http",
        start: |_| reference(),
    },
    Kind {
        name: "reference-stdio",
        transport: "stdio",
        start: |_| Ok(reference_stdio()),
    },
    Kind {
        name: "native",
        transport: "http",
        start: native,
    },
];

impl Kind {
    /// Whether this kind has what the transcript needs; a trial that could only be skipped is not listed.
    pub fn can_play(&self, transcript: &Transcript) -> bool {
        transcript
            .needs
            .transport
            .is_none_or(|needed| needed == self.transport)
            && (self.transport == "http" || transcript.http_only().is_none())
    }

    /// Whether its snapshots are the ones that are kept.
    pub fn is_canonical(&self) -> bool {
        self.name == "reference"
    }

    /// Whether its answers have status and headers.
    pub fn has_http(&self) -> bool {
        self.transport == "http"
    }
}

struct Up {
    target: Target,
    guard: Box<dyn Any + Send>,
}

/// A target that is up.
pub struct Playable<'a> {
    player: &'a mut Player,
    runtime: &'a Handle,
}

impl Playable<'_> {
    pub fn play(&mut self, transcript: &Transcript) -> Played {
        self.runtime.block_on(self.player.play(transcript))
    }
}

type Slot = Option<Result<(Player, Box<dyn Any + Send>), String>>;

/// All targets. Dropping it ends them.
pub struct Bench {
    slots: Vec<Mutex<Slot>>,
    runtime: Runtime,
}

impl Bench {
    pub fn new() -> std::io::Result<Self> {
        // its threads live as long as the bench, as a board's parent must
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        Ok(Self {
            slots: KINDS.iter().map(|_| Mutex::default()).collect(),
            runtime,
        })
    }

    /// Uses a target alone, starting it if it is not up.
    ///
    /// # Errors
    /// Why there is no such target.
    pub fn with<T>(&self, kind: &Kind, action: impl FnOnce(&mut Playable<'_>) -> T) -> Result<T, String> {
        let place = KINDS
            .iter()
            .position(|known| known.name == kind.name)
            .ok_or("no such kind")?;
        // a trial that panicked has said so itself
        let mut slot = self.slots[place]
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let handle = self.runtime.handle();
        let up = slot.get_or_insert_with(|| {
            let Up { target, guard } = (kind.start)(handle)?;
            let known = Known {
                contract: Some(CONTRACT.to_owned()),
                revisions: Revision::ALL.to_vec(),
            };
            Ok((Player::new(target, known, 1.0), guard))
        });
        match up {
            Ok((player, _)) => Ok(action(&mut Playable {
                player,
                runtime: handle,
            })),
            Err(trouble) => Err(trouble.clone()),
        }
    }

    /// The first target that could not be had.
    pub fn trouble(&self) -> Option<String> {
        self.slots.iter().find_map(|slot| match slot.lock().as_deref() {
            Ok(Some(Err(trouble))) => Some(trouble.clone()),
            _ => None,
        })
    }
}

fn reference() -> Result<Up, String> {
    let server = ReferenceServer::start().map_err(|error| error.to_string())?;
    Ok(Up {
        target: Target::Http(server.endpoint.clone()),
        guard: Box::new(server),
    })
}

fn reference_stdio() -> Up {
    let arguments = ["reference", "--stdio"].map(str::to_owned).to_vec();
    let target = Target::Stdio(Command {
        program: env!("CARGO_BIN_EXE_mcp-hil").to_owned(),
        arguments,
    });
    Up {
        target,
        guard: Box::new(()),
    }
}

/// Builds and starts the board, and checks that what answers is what was built.
fn native(runtime: &Handle) -> Result<Up, String> {
    let task = runtime.spawn(async {
        let folder = native::find_folder(Path::new(env!("CARGO_MANIFEST_DIR")))
            .ok_or("the board's folder is not there")?;
        let firmware = native::build(&folder, Path::new(env!("CARGO")))
            .await
            .map_err(|error| error.to_string())?;
        let wanted = build_id::of(&firmware)?.ok_or("the firmware has no build id")?;
        let limit = Duration::from_secs(10);
        let board = NativeBoard::start(&firmware, limit)
            .await
            .map_err(|error| error.to_string())?;
        let target = Target::Http(board.endpoint.clone());
        let mut client = client::connect(&target, Limits::default())
            .await
            .map_err(|error| error.to_string())?;
        let call = json!({"name": "device_info", "arguments": {}});
        let info = client
            .request("tools/call", call)
            .await
            .map_err(|error| error.to_string())?;
        match info["structuredContent"]["build_id"].as_str() {
            Some(running) if running == wanted => Ok(Up {
                target,
                guard: Box::new(board),
            }),
            other => Err(format!("build {wanted} was started, and {other:?} answers")),
        }
    });
    runtime.block_on(task).map_err(|error| error.to_string())?
}
