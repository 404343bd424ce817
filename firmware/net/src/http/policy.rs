//! Who makes room: pure bookkeeping over the connections, without sockets or clock.

use mcp_device::Millis;

use super::{GRACE, STALL, after};

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
    /// A request is being answered. Disturbed only when the client takes nothing of its answer, and another one waits for
    /// the buffer that holds it.
    Busy,
    /// The last answer is sent; waiting for the client to close.
    Closing,
}

/// A kind of buffer that connections share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// For a body that doesn't fit in its connection.
    Body,
    /// For an answer, while it is made and sent.
    Answer,
}

/// One connection's line in the table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    phase: Phase,
    /// Begin of the phase.
    since: Millis,
    /// Since when it holds a body buffer.
    body: Option<Millis>,
    /// Since when its client has taken nothing of the answer that it is sent.
    untaken: Option<Millis>,
    /// It has been told to go.
    leaving: bool,
}

/// The state of `N` connections, and how many of them wait for a buffer.
#[derive(Debug)]
pub struct Table<const N: usize> {
    slots: [Slot; N],
    body_waits: usize,
    answer_waits: usize,
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
            body_waits: 0,
            answer_waits: 0,
        }
    }

    /// Connection `index` is in `phase`, with or without a body buffer, and sends no answer yet. Says whether that is news.
    pub fn set(&mut self, index: usize, phase: Phase, holds_body: bool, now: Millis) -> bool {
        let Some(slot) = self.slots.get_mut(index) else {
            return false;
        };
        let was_answered = slot.untaken.take().is_some();
        let before = (slot.phase, slot.body.is_some());
        if slot.phase != phase || was_answered {
            slot.phase = phase;
            slot.since = now;
            // It had to go and found something to do: who must go is decided anew.
            slot.leaving &= phase == Phase::Closing;
        }
        slot.body = if holds_body { slot.body.or(Some(now)) } else { None };
        before != (phase, holds_body) || was_answered
    }

    /// A busy connection `index` begins to send its answer, or its client has taken some of it. Says whether that is news
    /// for [`Table::settle`].
    pub fn taken(&mut self, index: usize, now: Millis) -> bool {
        let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.phase == Phase::Busy) else {
            return false;
        };
        let begins = slot.untaken.replace(now).is_none();
        begins | core::mem::take(&mut slot.leaving)
    }

    /// Whether connection `index` has been told to go, and has not gone.
    pub fn is_leaving(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.leaving)
    }

    /// A request begins to wait for a buffer.
    pub fn wait(&mut self, buffer: Buffer) {
        *self.waits(buffer) += 1;
    }

    /// A request has its buffer, or has given up.
    pub fn waited(&mut self, buffer: Buffer) {
        let waits = self.waits(buffer);
        *waits = waits.saturating_sub(1);
    }

    fn waits(&mut self, buffer: Buffer) -> &mut usize {
        match buffer {
            Buffer::Body => &mut self.body_waits,
            Buffer::Answer => &mut self.answer_waits,
        }
    }

    /// Decides who must go. Call again until it no longer says [`Verdict::Leave`].
    pub fn settle(&mut self, now: Millis) -> Verdict {
        let room = self.count(|slot| slot.phase == Phase::Free || slot.leaving);
        let of_phase =
            |phase: Phase| move |slot: &Slot| (slot.phase == phase).then(|| after(slot.since, GRACE));
        let closes = (room < Self::SPARE)
            .then(|| {
                self.first_due(of_phase(Phase::Idle))
                    .or_else(|| self.first_due(of_phase(Phase::Sending)))
                    .or_else(|| self.first_due(of_phase(Phase::Closing)))
            })
            .flatten();
        let half_sent = |slot: &Slot| slot.body.filter(|_| slot.phase == Phase::Sending);
        let yielding = self.count(|slot| slot.leaving && slot.body.is_some());
        let yields_body = (yielding < self.body_waits)
            .then(|| self.first_due(|slot| Some(after(half_sent(slot)?, GRACE))))
            .flatten();
        let yielding = self.count(|slot| slot.leaving && slot.untaken.is_some());
        let yields_answer = (yielding < self.answer_waits)
            .then(|| self.first_due(|slot| Some(after(slot.untaken?, STALL))))
            .flatten();

        let mut later = None;
        for (index, due) in [closes, yields_body, yields_answer].into_iter().flatten() {
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

    /// The connection with the earliest time that `due` gives, among those not yet told to go.
    fn first_due(&self, due: impl Fn(&Slot) -> Option<Millis>) -> Option<(usize, Millis)> {
        let candidates = self.slots.iter().enumerate().filter(|(_, slot)| !slot.leaving);
        candidates
            .filter_map(|(index, slot)| Some((index, due(slot)?)))
            .min_by_key(|(_, due)| *due)
    }
}
