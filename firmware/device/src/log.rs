//! The board's own log: the newest lines in a ring of bounded size.

use alloc::collections::VecDeque;
use core::fmt::{self, Write};

use crate::{MAX_LOG, MAX_LOG_LINE, Millis};

/// Lines of text, oldest first, each ended by a line feed.
pub(crate) struct Log {
    bytes: VecDeque<u8>,
}

impl Log {
    pub fn new() -> Self {
        Self {
            bytes: VecDeque::with_capacity(MAX_LOG),
        }
    }

    /// Adds a line with its time in seconds. Control characters become spaces; a line that is too long is cut off.
    pub fn add(&mut self, now: Millis, text: impl fmt::Display) {
        let mut line = Line {
            bytes: [0; MAX_LOG_LINE],
            len: 0,
        };
        // Fails only by being full, and what fitted is kept.
        let _ = write!(line, "{}.{:03} {text}", now.0 / 1000, now.0 % 1000);
        while self.bytes.len() + line.len + 1 > MAX_LOG {
            while self.bytes.pop_front().is_some_and(|byte| byte != b'\n') {}
        }
        self.bytes.extend(&line.bytes[..line.len]);
        self.bytes.push_back(b'\n');
    }

    /// The newest lines, at most `count`, oldest first.
    pub fn tail(&mut self, count: usize) -> impl Iterator<Item = &str> + Clone {
        let text = core::str::from_utf8(self.bytes.make_contiguous()).unwrap_or_default();
        let skipped = text.lines().count().saturating_sub(count);
        text.lines().skip(skipped)
    }
}

struct Line {
    bytes: [u8; MAX_LOG_LINE],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let c = if c.is_control() { ' ' } else { c };
            let room = self
                .bytes
                .get_mut(self.len..self.len + c.len_utf8())
                .ok_or(fmt::Error)?;
            c.encode_utf8(room);
            self.len += c.len_utf8();
        }
        Ok(())
    }
}
