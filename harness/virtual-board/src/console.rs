//! What a board prints: kept line by line with the time, and read for the stages of its start.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_hil_harness::board::console::{Console as Printed, parse as boot_line};

/// How many lines are kept in memory; the log file has all.
pub const MAX_LINES: usize = 10_000;
/// Where a line is cut that does not end.
pub const MAX_LINE: usize = 4096;

/// One line of a console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When its end was read.
    pub at: Instant,
    /// Without the line's end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// A stage of a board's start, from a line `mcp-device boot stage=NAME KEY=VALUE …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootStage {
    /// When it was reported.
    pub at: Instant,
    /// `reset`, `build`, `mac`, `address`, `announced`, `serving`; a board may have more.
    pub name: String,
    /// The rest of the line's words, in order.
    pub fields: Vec<(String, String)>,
}

impl BootStage {
    /// Reads a line; none when it reports no stage.
    pub fn parse(line: &Line) -> Option<Self> {
        let (name, fields) = boot_line(&line.text)?;
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Some(BootStage {
            at: line.at,
            name: name.to_owned(),
            fields: fields.into_iter().map(owned).collect(),
        })
    }

    /// The value of a field.
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }
}

/// Why [`Console::wait`] came back without what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSeen {
    /// The time was up.
    TimedOut,
    /// The board ended.
    Ended,
}

/// What a board has printed so far.
#[derive(Debug)]
pub struct Console {
    started: Instant,
    content: Mutex<Content>,
    changed: Condvar,
}

/// The lines and stages that [`Console::wait`] looks at.
#[derive(Debug, Default)]
pub struct Content {
    lines: VecDeque<Line>,
    boot: Vec<BootStage>,
    ended: bool,
    log: Option<File>,
}

impl Content {
    /// The lines, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter()
    }

    /// The latest report of a stage since the board was last reset.
    pub fn stage(&self, name: &str) -> Option<&BootStage> {
        self.boot.iter().rev().find(|stage| stage.name == name)
    }
}

impl Console {
    /// An empty console of a board that starts now. Lines are also written to the log, with seconds since then.
    pub fn new(log: Option<File>) -> Self {
        let content = Content {
            log,
            ..Content::default()
        };
        Console {
            started: Instant::now(),
            content: Mutex::new(content),
            changed: Condvar::new(),
        }
    }

    /// When the board was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// True when the board has ended and everything it printed is here.
    pub fn ended(&self) -> bool {
        self.lock().ended
    }

    /// The last lines, for a message.
    pub fn tail(&self, count: usize) -> String {
        let content = self.lock();
        let skipped = content.lines.len().saturating_sub(count);
        let mut lines: Vec<String> = content
            .lines()
            .skip(skipped)
            .map(|line| format!("  {}", line.text))
            .collect();
        if lines.is_empty() {
            lines.push("  (nothing was printed)".to_owned());
        }
        lines.join("\n")
    }

    /// Waits until `look` finds something. It is called now, and again after every line.
    pub fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&Content) -> Option<T>,
    ) -> Result<T, NotSeen> {
        let deadline = Instant::now() + timeout;
        let mut content = self.lock();
        loop {
            if let Some(found) = look(&content) {
                return Ok(found);
            }
            if content.ended {
                return Err(NotSeen::Ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotSeen::TimedOut);
            }
            content = self
                .changed
                .wait_timeout(content, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Reads everything a board prints, until its end.
    pub(crate) fn read(&self, source: impl Read) {
        let mut source = BufReader::new(source);
        let mut bytes = Vec::new();
        while matches!(read_line(&mut source, &mut bytes), Ok(true)) {
            let text = String::from_utf8_lossy(&bytes);
            self.push(text.trim_end_matches(['\r', '\n']).to_owned());
            bytes.clear();
        }
    }

    pub(crate) fn push(&self, text: String) {
        let line = Line {
            at: Instant::now(),
            text,
        };
        let mut content = self.lock();
        if let Some(log) = &mut content.log {
            let seconds = line.at.duration_since(self.started).as_secs_f64();
            if writeln!(log, "[{seconds:12.6}] {}", line.text).is_err() {
                // A full disk is no reason to lose the board; what is in memory stays.
                content.log = None;
            }
        }
        if let Some(stage) = BootStage::parse(&line) {
            if stage.name == "reset" {
                content.boot.clear();
            }
            content.boot.push(stage);
        }
        content.lines.push_back(line);
        if content.lines.len() > MAX_LINES {
            content.lines.pop_front();
        }
        drop(content);
        self.changed.notify_all();
    }

    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printed for Console {
    fn since(&self, start: Instant) -> Vec<String> {
        self.lock()
            .lines()
            .filter(|line| line.at >= start)
            .map(|line| line.text.clone())
            .collect()
    }

    fn ended(&self) -> bool {
        Self::ended(self)
    }
}

/// Reads up to a line's end or [`MAX_LINE`] bytes. False at the end.
fn read_line(source: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    source
        .take(MAX_LINE as u64)
        .read_until(b'\n', bytes)
        .map(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    fn texts(console: &Console) -> Vec<String> {
        console.lock().lines().map(|line| line.text.clone()).collect()
    }

    fn stage(text: &str) -> Option<BootStage> {
        BootStage::parse(&Line {
            at: Instant::now(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_boot_line_is_read() {
        let serving = stage("mcp-device boot stage=serving url=http://10.13.37.10:18791/mcp").unwrap();
        assert_eq!(serving.name, "serving");
        assert_eq!(serving.field("url"), Some("http://10.13.37.10:18791/mcp"));
        assert_eq!(serving.field("ip"), None);
        assert_eq!(
            stage("mcp-device boot stage=build id=").unwrap().field("id"),
            Some("")
        );
        assert_eq!(stage("mcp-device boot stage=reset").unwrap().fields, []);
    }

    #[test]
    fn lines_are_cut_at_their_ends_and_at_the_bound() {
        let console = Console::new(None);
        let long = "x".repeat(MAX_LINE + 1);
        console.read(format!("one\r\ntwo\n\n{long}\nlast").as_bytes());
        assert_eq!(texts(&console), ["one", "two", "", &long[1..], "x", "last"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let console = Console::new(None);
        console.read(&b"\xffab\n"[..]);
        assert_eq!(texts(&console), ["\u{fffd}ab"]);
    }

    #[test]
    fn a_flood_keeps_the_last_lines() {
        let console = Console::new(None);
        for number in 0..MAX_LINES + 5 {
            console.push(number.to_string());
        }
        let texts = texts(&console);
        assert_eq!((texts.len(), texts[0].as_str()), (MAX_LINES, "5"));
    }

    #[test]
    fn a_reset_forgets_the_stages_before() {
        let console = Console::new(None);
        console.push("mcp-device boot stage=reset reason=power-on".to_owned());
        console.push("mcp-device boot stage=address ip=10.13.37.10".to_owned());
        assert!(console.lock().stage("address").is_some());
        console.push("mcp-device boot stage=reset reason=software".to_owned());
        assert!(console.lock().stage("address").is_none());
        assert_eq!(
            console.lock().stage("reset").unwrap().field("reason"),
            Some("software")
        );
    }

    #[test]
    fn a_wait_sees_old_lines_new_lines_the_end_and_the_time() {
        let console = Console::new(None);
        console.push("old".to_owned());
        let see = |text: &'static str, timeout| {
            console.wait(timeout, |content| {
                content.lines().any(|line| line.text == text).then_some(())
            })
        };
        let long = Duration::from_secs(60);
        assert_eq!(see("old", Duration::ZERO), Ok(()));
        assert_eq!(see("new", Duration::from_millis(1)), Err(NotSeen::TimedOut));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| see("new", long));
            console.push("new".to_owned());
            assert_eq!(waiting.join().unwrap(), Ok(()));
            let waiting = scope.spawn(|| see("never", long));
            console.end();
            assert_eq!(waiting.join().unwrap(), Err(NotSeen::Ended));
        });
    }

    #[test]
    fn the_log_has_every_line_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.log");
        let console = Console::new(Some(File::create(&path).unwrap()));
        console.push("first".to_owned());
        console.push("second".to_owned());
        let log = fs::read_to_string(path).unwrap();
        let lines: Vec<(&str, &str)> = log.lines().filter_map(|line| line.split_once("] ")).collect();
        assert_eq!(
            lines.iter().map(|(_, text)| *text).collect::<Vec<_>>(),
            ["first", "second"]
        );
        let seconds: f64 = lines[0].0.trim_start_matches('[').trim().parse().unwrap();
        assert!((0.0..60.0).contains(&seconds));
    }

    #[test]
    fn the_lines_since_a_time_are_found() {
        let console = Console::new(None);
        console.push("before".to_owned());
        thread::sleep(Duration::from_millis(2));
        let start = Instant::now();
        console.push("then".to_owned());
        console.push("after".to_owned());
        assert_eq!(console.since(start), ["then", "after"]);
    }
}
