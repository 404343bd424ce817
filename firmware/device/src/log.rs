//! A log: the newest lines in a ring of bounded size.

use alloc::vec::Vec;
use core::fmt::{self, Write};

use crate::{MAX_LOG, MAX_LOG_LINE, Millis};

/// Lines of text, oldest first, each ended by a line feed.
pub(crate) struct Log {
    bytes: Vec<u8>,
    lines: u32,
    truncated: bool,
}

impl Log {
    /// An empty log, with all the memory that it will ever take.
    pub fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(MAX_LOG),
            lines: 0,
            truncated: false,
        }
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lines = 0;
        self.truncated = false;
    }

    /// Adds a line with its time in seconds.
    pub fn add(&mut self, now: Millis, text: impl fmt::Display) {
        self.line(format_args!("{}.{:03} {text}", now.0 / 1000, now.0 % 1000));
    }

    /// Adds a line. Control characters become spaces; a line that is too long is cut off.
    pub fn line(&mut self, text: impl fmt::Display) {
        let mut line = Line {
            bytes: [0; MAX_LOG_LINE],
            len: 0,
        };
        // Fails only by being full, and what fitted is kept.
        let _ = write!(line, "{text}");
        while self.bytes.len() + line.len + 1 > MAX_LOG {
            let oldest = self.bytes.iter().position(|byte| *byte == b'\n');
            self.bytes.drain(..=oldest.unwrap_or_default());
            self.truncated = true;
        }
        self.bytes.extend_from_slice(&line.bytes[..line.len]);
        self.bytes.push(b'\n');
        self.lines = self.lines.saturating_add(1);
    }

    /// Lines added so far, also those that are no longer there.
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// Whether the oldest lines are no longer there.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// All that is there.
    pub fn text(&self) -> &str {
        core::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// The newest lines, at most `count`, oldest first.
    pub fn tail(&self, count: usize) -> impl Iterator<Item = &str> + Clone {
        let text = self.text();
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
