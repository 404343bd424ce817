//! Who makes room: pure bookkeeping over the connections, without sockets or clock.

use mcp_device::Millis;

use super::{GRACE, after};

/// What a connection is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is connected.
    #[default]
    Free,
    /// Connected, and no byte of a request has come.
    Idle,
    /// A request is half sent.
    Sending,
    /// A request is being answered; never disturbed.
    Busy,
    /// The last answer is sent; waiting for the client to close.
    Closing,
}

/// One connection's line in the table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    phase: Phase,
    /// Begin of the phase.
    since: Millis,
    /// Since when it holds a body buffer.
    buffer: Option<Millis>,
    /// It has been told to go.
    leaving: bool,
}

/// The state of `N` connections and of those that wait for a body buffer.
#[derive(Debug)]
pub struct Table<const N: usize> {
    slots: [Slot; N],
    waiting: usize,
}

/// What [`Table::settle`] decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This connection must go now.
    Leave(usize),
    /// Ask again then.
    Later(Millis),
    /// Nothing to do before something changes.
    Settled,
}

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Table<N> {
    /// Sockets kept free for the next clients: two, because a TCP stack without a backlog refuses a client that comes
    /// while no socket listens; fewer where there are hardly any.
    pub const SPARE: usize = if N >= 4 { 2 } else { N / 2 };

    /// All free.
    pub fn new() -> Self {
        Self {
            slots: [Slot::default(); N],
            waiting: 0,
        }
    }

    /// Connection `index` is in `phase`, with or without a body buffer. Says whether that is news.
    pub fn set(&mut self, index: usize, phase: Phase, holds_buffer: bool, now: Millis) -> bool {
        let Some(slot) = self.slots.get_mut(index) else {
            return false;
        };
        let before = (slot.phase, slot.buffer.is_some());
        if slot.phase != phase {
            slot.phase = phase;
            slot.since = now;
            // It had to go and found something to do: who must go is decided anew.
            slot.leaving &= phase == Phase::Closing;
        }
        slot.buffer = if holds_buffer {
            slot.buffer.or(Some(now))
        } else {
            None
        };
        before != (phase, holds_buffer)
    }

    /// Whether connection `index` has been told to go, and has not gone.
    pub fn is_leaving(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.leaving)
    }

    /// A request begins to wait for a body buffer.
    pub fn wait(&mut self) {
        self.waiting += 1;
    }

    /// A request has its body buffer, or has given up.
    pub fn waited(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Decides who must go. Call again until it no longer says [`Verdict::Leave`].
    pub fn settle(&mut self, now: Millis) -> Verdict {
        let room = self.count(|slot| slot.phase == Phase::Free || slot.leaving);
        let of_phase = |phase: Phase| move |slot: &Slot| (slot.phase == phase).then_some(slot.since);
        let closes = (room < Self::SPARE)
            .then(|| {
                self.oldest(of_phase(Phase::Idle))
                    .or_else(|| self.oldest(of_phase(Phase::Sending)))
                    .or_else(|| self.oldest(of_phase(Phase::Closing)))
            })
            .flatten();
        let yielding = self.count(|slot| slot.leaving && slot.buffer.is_some());
        let yields = (yielding < self.waiting)
            .then(|| self.oldest(|slot| slot.buffer.filter(|_| slot.phase == Phase::Sending)))
            .flatten();

        let mut later = None;
        for (index, since) in [closes, yields].into_iter().flatten() {
            let due = after(since, GRACE);
            if due <= now {
                if let Some(slot) = self.slots.get_mut(index) {
                    slot.leaving = true;
                }
                return Verdict::Leave(index);
            }
            later = Some(later.map_or(due, |at: Millis| at.min(due)));
        }
        later.map_or(Verdict::Settled, Verdict::Later)
    }

    fn count(&self, holds: impl Fn(&Slot) -> bool) -> usize {
        self.slots.iter().filter(|slot| holds(slot)).count()
    }

    /// The connection with the earliest time that `since` gives, among those not yet told to go.
    fn oldest(&self, since: impl Fn(&Slot) -> Option<Millis>) -> Option<(usize, Millis)> {
        let candidates = self.slots.iter().enumerate().filter(|(_, slot)| !slot.leaving);
        candidates
            .filter_map(|(index, slot)| Some((index, since(slot)?)))
            .min_by_key(|(_, since)| *since)
    }
}
