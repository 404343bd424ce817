//! The targets of a suite: started when a trial first needs them, one trial at a time on each.

use super::Target;
use crate::targets::{Open, Prepared};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::player::Player;
use mcp_hil_harness::replay::known;
use mcp_hil_harness::report::Case;
use mcp_hil_harness::transcript::Transcript;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use tokio::runtime::{Handle, Runtime};

/// The boards of a target, or the one thing that it is.
pub struct Boards<'a> {
    players: &'a mut [(Option<String>, Player)],
    runtime: &'a Handle,
}

impl Boards<'_> {
    /// Plays a transcript on each.
    pub fn play(&mut self, transcript: &Transcript) -> Vec<Case> {
        let play = |(board, player): &mut (Option<String>, Player)| {
            let mut played = self.runtime.block_on(player.play(transcript));
            played.board.clone_from(board);
            played
        };
        self.players.iter_mut().map(play).collect()
    }
}

/// A target that is up.
struct Up {
    players: Vec<(Option<String>, Player)>,
    _open: Open,
}

/// How far a target has come.
enum Slot {
    /// No trial needs it.
    Unneeded,
    Prepared(Prepared),
    Up(Up),
    Missing(String),
}

/// All targets. Dropping it ends them.
pub struct Bench {
    slots: Vec<Mutex<Slot>>,
    contracts: Vec<Option<String>>,
    // its threads live as long as the bench, as a board's parent must
    runtime: OnceLock<Runtime>,
}

impl Bench {
    /// A place for each target.
    pub fn new(targets: &[Target]) -> Self {
        Self {
            slots: targets.iter().map(|_| Mutex::new(Slot::Unneeded)).collect(),
            contracts: targets.iter().map(|target| target.contract.clone()).collect(),
            runtime: OnceLock::new(),
        }
    }

    /// Gets the needed targets ready, in this order: before the process has a second thread.
    ///
    /// # Errors
    /// No threads to be had; everything else is found when a target is started.
    pub fn prepare(&self, targets: impl Iterator<Item = Option<Target>>) -> io::Result<()> {
        let first = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        for (slot, target) in self.slots.iter().zip(targets) {
            let Some(target) = target else { continue };
            *lock(slot) = match first.block_on((target.prepare)()) {
                Ok(prepared) => Slot::Prepared(prepared),
                Err(error) => Slot::Missing(error.to_string()),
            };
        }
        drop(first);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        self.runtime
            .set(runtime)
            .map_err(|_| io::Error::other("prepared twice"))
    }

    /// Uses a target alone, starting it if it is not up.
    ///
    /// # Errors
    /// Why there is no such target.
    pub fn with<T>(&self, place: usize, action: impl FnOnce(&mut Boards<'_>) -> T) -> Result<T, String> {
        let runtime = self.runtime.get().ok_or("nothing was prepared")?.handle();
        let mut slot = lock(self.slots.get(place).ok_or("no such target")?);
        if let Slot::Prepared(_) = *slot {
            let before = std::mem::replace(&mut *slot, Slot::Missing("it panicked at its start".to_owned()));
            if let Slot::Prepared(prepared) = before {
                let contract = self.contracts.get(place).cloned().flatten();
                *slot = match runtime.block_on(start(prepared, contract)) {
                    Ok(up) => Slot::Up(up),
                    Err(reason) => Slot::Missing(reason),
                };
            }
        }
        match &mut *slot {
            Slot::Up(up) => Ok(action(&mut Boards {
                players: &mut up.players,
                runtime,
            })),
            Slot::Missing(reason) => Err(reason.clone()),
            Slot::Unneeded | Slot::Prepared(_) => Err("the target was not prepared".to_owned()),
        }
    }

    /// The first target that could not be had.
    pub fn trouble(&self) -> Option<String> {
        self.slots.iter().find_map(|slot| match &*lock(slot) {
            Slot::Missing(reason) => Some(reason.clone()),
            _ => None,
        })
    }
}

/// A trial that panicked has said so itself.
fn lock(slot: &Mutex<Slot>) -> std::sync::MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn start(prepared: Prepared, contract: Option<String>) -> Result<Up, String> {
    let mut open = prepared.start().await.map_err(|error| error.to_string())?;
    let mut players = Vec::new();
    for mut subject in std::mem::take(&mut open.subjects) {
        if contract.is_some() {
            subject.contract.clone_from(&contract);
        }
        let known = known(&subject, Limits::default())
            .await
            .map_err(|probe| probe.to_string())?;
        let player = Player::new(subject.target, known, 1.0).with_console(subject.console);
        players.push((subject.board, player));
    }
    Ok(Up { players, _open: open })
}
