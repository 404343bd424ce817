//! The targets of the suite: started when a trial first needs them, one trial at a time on each.

#[cfg(feature = "hil")]
use crate::virtual_;
use mcp_hil::targets::ReferenceServer;
#[cfg(feature = "hil")]
use mcp_hil_harness::board::firmware::VIRTUAL;
use mcp_hil_harness::board::firmware::{NATIVE, Source};
use mcp_hil_harness::board::identity::Identity;
use mcp_hil_harness::board::{build_id, native::NativeBoard};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::player::{Known, Player};
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::report::Case;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::{Command, Target};
use mcp_hil_harness::transcript::Transcript;
#[cfg(feature = "hil")]
use mcp_hil_virtual_board::VirtualNetwork;
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// A kind of target.
pub struct Kind {
    /// First part of its trials' names.
    pub name: &'static str,
    transport: &'static str,
    /// Where its firmware is built from.
    source: Option<Source>,
    start: fn(&Ground) -> Result<Up, String>,
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "reference",
        transport: "http",
        source: None,
        start: |_| reference(),
    },
    Kind {
        name: "reference-stdio",
        transport: "stdio",
        source: None,
        start: |_| Ok(reference_stdio()),
    },
    Kind {
        name: "native",
        transport: "http",
        source: Some(NATIVE),
        start: native,
    },
    #[cfg(feature = "hil")]
    Kind {
        name: "virtual",
        transport: "http",
        source: Some(VIRTUAL),
        start: virtual_::start,
    },
];

impl Kind {
    /// Whether a trial is played on this kind.
    pub fn owns(&self, trial: &str) -> bool {
        trial == format!("infrastructure/{}", self.name)
            || trial.split_once("::").is_some_and(|(kind, _)| kind == self.name)
    }

    /// Whether this kind has what the transcript needs; a trial that could only be skipped is not listed.
    pub fn can_play(&self, transcript: &Transcript) -> bool {
        transcript
            .needs
            .transport
            .is_none_or(|needed| needed == self.transport)
            && (self.transport == "http" || transcript.http_only().is_none())
    }

    /// Whether its snapshot of this transcript is the one that is kept: the reference's, over HTTP where it can be.
    pub fn is_canonical(&self, transcript: &Transcript) -> bool {
        let over_stdio = transcript.needs.transport.is_some_and(|needed| needed == "stdio");
        self.name
            == if over_stdio {
                "reference-stdio"
            } else {
                "reference"
            }
    }

    /// Whether its answers have status and headers.
    pub fn has_http(&self) -> bool {
        self.transport == "http"
    }
}

/// A target that is up.
pub struct Playable<'a> {
    player: &'a mut Player,
    runtime: &'a Handle,
}

impl Playable<'_> {
    pub fn play(&mut self, transcript: &Transcript) -> Case {
        self.runtime.block_on(self.player.play(transcript))
    }
}

/// A target, and what must live as long as it is talked to.
pub struct Up {
    pub subject: Subject,
    pub guard: Box<dyn Any + Send>,
}

/// What the targets are started with.
pub struct Ground {
    /// The firmware of the kinds that have one, where it was needed and built.
    firmware: BTreeMap<&'static str, Result<PathBuf, String>>,
    #[cfg(feature = "hil")]
    pub network: Mutex<Option<Result<VirtualNetwork, String>>>,
    /// Its threads live as long as the bench, as a board's parent must.
    runtime: Runtime,
}

impl Ground {
    pub fn firmware(&self, kind: &str) -> Result<&Path, String> {
        match self.firmware.get(kind) {
            Some(built) => built.as_deref().map_err(String::clone),
            None => Err(format!("the firmware of {kind} was not built")),
        }
    }

    /// Compares the build id of the board that answers with that of its file.
    pub fn runs_what_was_built(&self, kind: &str, target: &Target) -> Result<(), String> {
        let wanted = build_id::required(self.firmware(kind)?)?;
        let ask = Identity::ask(target, Limits::default());
        match self.runtime.block_on(ask)?.build_id {
            running if running == wanted => Ok(()),
            running => Err(format!("build {wanted} was started, and {running} answers")),
        }
    }
}

type Slot = Option<Result<(Player, Box<dyn Any + Send>), String>>;

/// All targets. Dropping it ends them.
pub struct Bench {
    slots: Vec<Mutex<Slot>>,
    ground: OnceLock<Ground>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            slots: KINDS.iter().map(|_| Mutex::default()).collect(),
            ground: OnceLock::new(),
        }
    }
}

impl Bench {
    /// Builds the firmware of these kinds, and enters their network if they have one: before the process has a second
    /// thread, and the building before that, for there is no way out of that network.
    ///
    /// # Errors
    /// No threads to be had; everything else is found when a target is started.
    pub fn prepare<'a>(&self, kinds: impl Iterator<Item = &'a Kind>) -> io::Result<()> {
        let builder = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let kinds: Vec<_> = kinds.collect();
        let mut firmware = BTreeMap::new();
        for (kind, source) in kinds.iter().filter_map(|kind| Some((kind, kind.source?))) {
            // a user would take the minutes of a first build for a hang
            eprintln!("replay: building {}", source.folder);
            firmware.insert(kind.name, builder.block_on(build(&source)));
        }
        drop(builder);
        #[cfg(feature = "hil")]
        let network = {
            let is_ready = firmware.get("virtual").is_some_and(Result::is_ok);
            Mutex::new(is_ready.then(virtual_::enter))
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let ground = Ground {
            firmware,
            #[cfg(feature = "hil")]
            network,
            runtime,
        };
        self.ground
            .set(ground)
            .map_err(|_| io::Error::other("prepared twice"))
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
        let ground = self.ground.get().ok_or("nothing was prepared")?;
        let up = slot.get_or_insert_with(|| {
            let Up { subject, guard } = (kind.start)(ground)?;
            let known = Known {
                contract: subject.contract,
                revisions: Revision::ALL.to_vec(),
            };
            let player = Player::new(subject.target, known, 1.0).with_console(subject.console);
            Ok((player, guard))
        });
        match up {
            Ok((player, _)) => Ok(action(&mut Playable {
                player,
                runtime: ground.runtime.handle(),
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

/// From the checkout that this test is of.
async fn build(source: &Source) -> Result<PathBuf, String> {
    let folder = source
        .find(Path::new(env!("CARGO_MANIFEST_DIR")))
        .ok_or("the board's folder is not there")?;
    source
        .build(&folder, Path::new(env!("CARGO")))
        .await
        .map_err(|error| error.to_string())
}

fn reference() -> Result<Up, String> {
    let server = ReferenceServer::start().map_err(|error| error.to_string())?;
    let target = Target::Http(server.endpoint.clone());
    Ok(Up {
        subject: Subject::new(target, Some(CONTRACT.to_owned())),
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
        subject: Subject::new(target, Some(CONTRACT.to_owned())),
        guard: Box::new(()),
    }
}

fn native(ground: &Ground) -> Result<Up, String> {
    let firmware = ground.firmware("native")?.to_owned();
    let start = async move {
        NativeBoard::start(&firmware, Duration::from_secs(10))
            .await
            .map_err(|error| error.to_string())
    };
    let task = ground.runtime.spawn(start);
    let board = ground
        .runtime
        .block_on(task)
        .map_err(|error| error.to_string())??;
    let mut subject = Subject::new(Target::Http(board.endpoint.clone()), Some(CONTRACT.to_owned()));
    subject.console = Some(board.console());
    ground.runs_what_was_built("native", &subject.target)?;
    Ok(Up {
        subject,
        guard: Box::new(board),
    })
}
