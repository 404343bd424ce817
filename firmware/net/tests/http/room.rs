//! Who makes room.

use mcp_device::Millis;
use mcp_device_net::http::Verdict::{Later, Leave, Settled};
use mcp_device_net::http::{Buffer, GRACE, Phase, STALL, Table, Verdict};
use proptest::prelude::*;

const AT: Millis = Millis(10_000);

/// A table of eight, whose connections entered their phases at these times.
fn table(phases: &[(Phase, u64)]) -> Table<8> {
    let mut table = Table::new();
    for (index, (phase, since)) in phases.iter().enumerate() {
        table.set(index, *phase, false, Millis(*since));
    }
    table
}

fn all(table: &mut Table<8>) -> Vec<Verdict> {
    let verdicts = std::iter::repeat_with(|| table.settle(AT));
    let mut leaving = true;
    verdicts
        .take_while(|verdict| std::mem::replace(&mut leaving, matches!(verdict, Leave(_))))
        .collect()
}

#[test]
fn while_there_is_room_nobody_goes() {
    let mut table = table(&[(Phase::Idle, 0); 6]);
    assert_eq!(all(&mut table), [Settled]);
}

#[test]
fn the_oldest_idle_connection_goes_first() {
    let mut table = table(&[
        (Phase::Sending, 1),
        (Phase::Idle, 30),
        (Phase::Idle, 20),
        (Phase::Busy, 0),
        (Phase::Closing, 0),
        (Phase::Idle, 40),
        (Phase::Busy, 0),
        (Phase::Sending, 2),
    ]);
    assert_eq!(all(&mut table), [Leave(2), Leave(1), Settled]);
}

#[test]
fn without_idle_ones_the_oldest_half_sent_goes_then_the_oldest_closing() {
    let mut table = table(&[
        (Phase::Busy, 0),
        (Phase::Closing, 0),
        (Phase::Sending, 30),
        (Phase::Busy, 0),
        (Phase::Busy, 0),
        (Phase::Busy, 0),
        (Phase::Busy, 0),
        (Phase::Busy, 0),
    ]);
    assert_eq!(all(&mut table), [Leave(2), Leave(1), Settled]);
}

#[test]
fn a_request_being_answered_is_never_disturbed() {
    assert_eq!(all(&mut table(&[(Phase::Busy, 0); 8])), [Settled]);
}

#[test]
fn a_newcomer_has_its_grace() {
    let grace = u64::try_from(GRACE.as_millis()).unwrap();
    let mut young = table(&[(Phase::Idle, AT.0 - grace + 1); 8]);
    assert_eq!(young.settle(AT), Later(Millis(AT.0 + 1)));
    assert!(matches!(young.settle(Millis(AT.0 + 1)), Leave(_)));
}

#[test]
fn who_found_something_to_do_stays_and_another_goes() {
    let mut table = table(&[(Phase::Idle, 0); 8]);
    assert_eq!(all(&mut table), [Leave(0), Leave(1), Settled]);
    table.set(0, Phase::Busy, false, AT);
    assert!(!table.is_leaving(0));
    assert_eq!(all(&mut table), [Leave(2), Settled]);
    // On its way out, in whatever phase that is.
    table.set(1, Phase::Closing, false, AT);
    assert!(table.is_leaving(1));
    assert_eq!(all(&mut table), [Settled]);
    table.set(1, Phase::Free, false, AT);
    assert!(!table.is_leaving(1));
    assert_eq!(all(&mut table), [Settled]);
}

#[test]
fn the_oldest_half_sent_body_yields_its_buffer_to_each_that_waits() {
    let mut table = Table::<8>::new();
    table.set(0, Phase::Sending, true, Millis(20));
    table.set(1, Phase::Sending, true, Millis(10));
    table.set(2, Phase::Sending, false, Millis(0));
    table.set(3, Phase::Busy, true, Millis(0));
    assert_eq!(all(&mut table), [Settled], "nobody waits");
    table.wait(Buffer::Body);
    assert_eq!(all(&mut table), [Leave(1), Settled]);
    table.wait(Buffer::Body);
    assert_eq!(all(&mut table), [Leave(0), Settled]);
    table.wait(Buffer::Body);
    assert_eq!(
        all(&mut table),
        [Settled],
        "who is being answered keeps its buffer"
    );
    table.set(1, Phase::Closing, false, AT);
    table.waited(Buffer::Body);
    table.set(2, Phase::Sending, true, AT);
    let later = Millis(AT.0 + 100);
    assert_eq!(table.settle(later), Leave(2), "a new holder is the next");
}

/// A table in which the clients of these connections have taken nothing of their answers since then; another answer is
/// being made.
fn sending(untaken: &[u64]) -> Table<8> {
    let mut table = Table::new();
    for (index, since) in untaken.iter().enumerate() {
        table.set(index, Phase::Busy, false, Millis(0));
        table.taken(index, Millis(*since));
    }
    table.set(untaken.len(), Phase::Busy, false, Millis(0));
    table
}

/// `STALL` in milliseconds.
const PATIENCE: u64 = 300;

#[test]
fn a_client_that_takes_nothing_yields_its_buffer_to_each_that_waits() {
    assert_eq!(STALL.as_millis(), PATIENCE.into());
    let mut table = sending(&[20, 10]);
    assert_eq!(all(&mut table), [Settled], "nobody waits");
    table.wait(Buffer::Body);
    assert_eq!(all(&mut table), [Settled], "a body buffer is another matter");
    table.wait(Buffer::Answer);
    assert_eq!(all(&mut table), [Leave(1), Settled]);
    table.wait(Buffer::Answer);
    assert_eq!(all(&mut table), [Leave(0), Settled]);
    table.wait(Buffer::Answer);
    assert_eq!(
        all(&mut table),
        [Settled],
        "an answer that is being made is not disturbed"
    );
}

#[test]
fn a_client_that_takes_some_of_its_answer_stays() {
    let mut table = sending(&[AT.0 - PATIENCE + 1]);
    table.wait(Buffer::Answer);
    assert_eq!(table.settle(AT), Later(Millis(AT.0 + 1)));
    table.taken(0, AT);
    assert_eq!(table.settle(Millis(AT.0 + 1)), Later(Millis(AT.0 + PATIENCE)));
    // Told to go, it took some at the last moment; then all.
    let end = Millis(AT.0 + PATIENCE);
    assert_eq!(table.settle(end), Leave(0));
    assert!(table.taken(0, end), "who must go is to be decided anew");
    assert!(!table.is_leaving(0));
    let end = Millis(end.0 + PATIENCE);
    assert_eq!(table.settle(end), Leave(0));
    assert!(
        table.set(0, Phase::Busy, false, end),
        "it is busy with its next request"
    );
    assert!(!table.is_leaving(0));
    assert_eq!(table.settle(Millis(end.0 + 10_000)), Settled);
}

#[test]
fn who_has_gone_has_yielded() {
    let mut table = sending(&[10, 20]);
    table.wait(Buffer::Answer);
    table.wait(Buffer::Answer);
    assert_eq!(table.settle(AT), Leave(0));
    // Its buffer is free and one of the two has it, before the connection is closed.
    table.set(0, Phase::Closing, false, AT);
    table.waited(Buffer::Answer);
    assert_eq!(table.settle(AT), Leave(1), "for the other");
}

#[test]
fn small_tables_spare_what_they_can() {
    assert_eq!(
        [
            Table::<1>::SPARE,
            Table::<2>::SPARE,
            Table::<3>::SPARE,
            Table::<4>::SPARE
        ],
        [0, 1, 1, 2]
    );
    let mut one = Table::<1>::new();
    one.set(0, Phase::Idle, false, Millis(0));
    assert_eq!(one.settle(AT), Settled);
}

fn phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(vec![
        Phase::Free,
        Phase::Idle,
        Phase::Sending,
        Phase::Busy,
        Phase::Closing,
    ])
}

proptest! {
    /// Whatever happened before, after settling there is room for the next, or only busy connections are left.
    #[test]
    fn there_is_always_room(steps in prop::collection::vec((0..8_usize, phase(), any::<bool>(), 0..50_u64), 1..200)) {
        let mut table = Table::<8>::new();
        let mut phases = [Phase::Free; 8];
        let mut now = 0;
        for (index, phase, holds_buffer, wait) in steps {
            now += wait;
            let holds_buffer = holds_buffer && phase == Phase::Sending;
            table.set(index, phase, holds_buffer, Millis(now));
            phases[index] = phase;
            while let Leave(index) = table.settle(Millis(now)) {
                prop_assert!(!matches!(phases[index], Phase::Busy | Phase::Free), "{:?} had to go", phases[index]);
            }
        }
        let end = Millis(now + 100);
        while let Leave(_) = table.settle(end) {}
        let room = (0..8).filter(|i| phases[*i] == Phase::Free || table.is_leaving(*i)).count();
        let busy = phases.iter().filter(|phase| **phase == Phase::Busy).count();
        prop_assert!(room >= Table::<8>::SPARE.min(8 - busy), "{phases:?}");
    }
}
