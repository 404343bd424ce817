//! What was said in a run, for the checks that look back: as much of it as memory should hold.

use mcp_hil_harness::client::Exchange;
use std::rc::Rc;

/// Bytes that a log may take, about. A server whose answers are large must not fill the memory.
const ROOM: usize = 32 << 20;

/// Exchanges in the order of their ends. One for which there is no room is left out whole: of a part of it a check could
/// conclude what is not so.
#[derive(Debug, Default)]
pub struct Log {
    kept: Vec<Rc<Exchange>>,
    taken: usize,
    left_out: usize,
}

impl Log {
    /// Adds an exchange, if there is room.
    pub fn add(&mut self, exchange: &Exchange) {
        let taken = self.taken + size(exchange);
        if taken > ROOM {
            self.left_out += 1;
        } else {
            self.taken = taken;
            self.kept.push(Rc::new(exchange.clone()));
        }
    }

    /// The exchanges.
    pub fn kept(&self) -> &[Rc<Exchange>] {
        &self.kept
    }

    /// What a reader must know of it: that it is not whole.
    pub fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} exchanges were too large to be kept: the checks that look back at all that was said did not see them",
                self.left_out
            )
        })
    }
}

/// About what an exchange takes: a JSON value is several times as large as its text.
fn size(exchange: &Exchange) -> usize {
    let bodies: usize = exchange.replies.iter().map(|reply| reply.body.len()).sum();
    exchange.sent.len() + exchange.repeat.len() + exchange.received.len() + 6 * bodies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_left_out_and_what_comes_later_is_kept() {
        let of = |bytes: usize| Exchange {
            received: vec![b' '; bytes],
            ..Exchange::default()
        };
        let mut log = Log::default();
        for bytes in [20 << 20, 20 << 20, 1 << 20] {
            log.add(&of(bytes));
        }
        let kept: Vec<usize> = log.kept().iter().map(|kept| kept.received.len()).collect();
        assert_eq!(kept, [20 << 20, 1 << 20]);
        assert!(
            log.note()
                .is_some_and(|note| note.starts_with("1 exchanges were too large"))
        );
        assert_eq!(Log::default().note(), None);
    }
}
