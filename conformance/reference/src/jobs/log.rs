//! What a job has written: the newest whole lines.

use std::collections::VecDeque;

/// Bytes that are kept, line feeds included.
const ROOM: usize = 2048;

#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: VecDeque<String>,
    /// Bytes kept.
    size: usize,
    /// Lines written.
    written: u64,
}

impl Log {
    pub(crate) fn write(&mut self, line: impl std::fmt::Display) {
        let line = format!("{line}\n");
        self.size += line.len();
        self.kept.push_back(line);
        self.written += 1;
        while self.size > ROOM
            && let Some(oldest) = self.kept.pop_front()
        {
            self.size -= oldest.len();
        }
    }

    /// Lines written, those that are gone too.
    pub(crate) fn lines(&self) -> u64 {
        self.written
    }

    /// Whether some lines are gone.
    pub(crate) fn is_truncated(&self) -> bool {
        self.written > self.kept.len() as u64
    }

    /// What is kept.
    pub(crate) fn text(&self) -> String {
        self.kept.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_that_fit_are_kept() {
        let mut log = Log::default();
        assert_eq!(
            (log.text(), log.lines(), log.is_truncated()),
            (String::new(), 0, false)
        );
        // 128 lines of 16 bytes fill the room to the last byte.
        for n in 0..128 {
            log.write(format_args!("line {n:010}"));
        }
        assert_eq!(
            (log.text().len(), log.lines(), log.is_truncated()),
            (2048, 128, false)
        );
        log.write("x");
        assert_eq!(
            (log.text().len(), log.lines(), log.is_truncated()),
            (2034, 129, true)
        );
        assert!(log.text().starts_with("line 0000000001\n") && log.text().ends_with("\nx\n"));
        // 14 bytes are free, and are used.
        log.write("fourteen byte");
        assert!(log.text().len() == 2048 && log.text().starts_with("line 0000000001\n"));
    }
}
