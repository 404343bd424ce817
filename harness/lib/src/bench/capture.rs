//! Reads a board's console: from the first byte, with the time of each line, into memory and into the board's log, and on when
//! the port goes away and comes back.

use super::power::Site;
use super::recognise::{Recogniser, Sign};
use crate::board::console::{Boot, Console};
use serialport::TTYPort;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines that are kept in memory; the log has all.
const MAX_LINES: usize = 10_000;
/// Where a line is cut that does not end.
const MAX_LINE: usize = 4096;
/// How often a port that is gone is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A line, or something that happened to the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When its end was read.
    pub at: Instant,
    /// What was printed; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// It was not printed: it says what became of the port.
    pub is_note: bool,
}

/// What is known of a board by its console.
#[derive(Debug, Default)]
pub struct Content {
    lines: VecDeque<Line>,
    dropped: usize,
    /// What it told on its way up.
    pub boot: Boot,
    /// Signs of trouble.
    pub signs: Recogniser,
    /// The last sign and when it came.
    pub last_sign: Option<(Instant, Sign)>,
    /// Since when the port is gone.
    pub lost: Option<Instant>,
    /// When the last byte came.
    pub heard: Option<Instant>,
    log: Option<File>,
    partial: Vec<u8>,
}

impl Content {
    /// The lines that are kept, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter()
    }

    /// The lines from number `from` on, counted from the first that was ever read, and the number of the next.
    pub fn lines_from(&self, from: usize) -> (Vec<Line>, usize) {
        let skip = from.saturating_sub(self.dropped);
        (
            self.lines.iter().skip(skip).cloned().collect(),
            self.dropped + self.lines.len(),
        )
    }

    /// The last lines, for a message.
    pub fn tail(&self, count: usize) -> Vec<String> {
        let skip = self.lines.len().saturating_sub(count);
        self.lines
            .iter()
            .skip(skip)
            .map(|line| line.text.clone())
            .collect()
    }

    /// The first lines around one that holds a text: some before it, more after it.
    pub fn around(&self, text: &str) -> Vec<String> {
        const BEFORE: usize = 8;
        const AFTER: usize = 16;
        let at = self
            .lines
            .iter()
            .position(|line| line.text.contains(text))
            .unwrap_or(0);
        let lines = self.lines.iter().skip(at.saturating_sub(BEFORE));
        lines
            .take(BEFORE.min(at) + 1 + AFTER)
            .map(|line| line.text.clone())
            .collect()
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.heard = Some(Instant::now());
        }
        for byte in bytes {
            if *byte == b'\n' || self.partial.len() >= MAX_LINE {
                self.end_line();
            }
            if *byte != b'\n' {
                self.partial.push(*byte);
            }
        }
    }

    /// Takes what a board printed, as if it had just been read.
    #[cfg(test)]
    pub fn take_text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        let text = String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned();
        self.boot.line(&text);
        if let Some(sign) = self.signs.line(&text) {
            self.last_sign = Some((Instant::now(), sign));
        }
        if self.boot.url.is_some() {
            self.signs.serves();
        }
        self.push(text, false);
    }

    fn push(&mut self, text: String, is_note: bool) {
        if let Some(log) = &mut self.log {
            let mark = if is_note { "--" } else { " " };
            // a full disk must not end the reading
            let _ = writeln!(log, "{} {mark} {text}", clock(SystemTime::now()));
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(Line {
            at: Instant::now(),
            text,
            is_note,
        });
    }
}

/// Time of day in UTC, which is the same on all boards of a bench: `22:41:04.123`.
fn clock(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!(
        "{hours:02}:{minutes:02}:{:02}.{:03}",
        seconds % 60,
        since.subsec_millis()
    )
}

#[derive(Debug, Default)]
struct Shared {
    content: Mutex<Content>,
    changed: Condvar,
    stop: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Content)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A console that is read, until this is dropped.
#[derive(Debug)]
pub struct Capture {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Capture {
    /// Reads from a port that is open. Lines go to the end of `log`, too.
    ///
    /// # Errors
    /// The log can't be written, or there is no thread to be had.
    pub fn start(port: TTYPort, site: &Site, baud: u32, log: Option<&Path>) -> io::Result<Self> {
        let log = log
            .map(|path| {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                OpenOptions::new().create(true).append(true).open(path)
            })
            .transpose()?;
        let shared = Arc::new(Shared::default());
        shared.change(|content| {
            content.log = log;
            content.push(
                format!("{} on {} at {baud} baud", site.board, site.port.display()),
                true,
            );
        });
        let (site, ours) = (site.clone(), Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name(format!("console {}", site.board))
            .spawn(move || read(port, &site, baud, &ours))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Waits until `look` finds something; it is called now and whenever something changed, and at the end. None: the time is up.
    pub fn wait<T>(&self, limit: Duration, mut look: impl FnMut(&Content) -> Option<T>) -> Option<T> {
        /// What depends on time alone is looked at so often.
        const AGAIN: Duration = Duration::from_millis(100);
        let end = Instant::now() + limit;
        let mut content = self.shared.lock();
        loop {
            if let Some(found) = look(&content) {
                return Some(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.shared.changed.wait_timeout(content, left.min(AGAIN));
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is known now.
    pub fn look<T>(&self, look: impl FnOnce(&Content) -> T) -> T {
        look(&self.shared.lock())
    }

    /// The console for a report.
    pub fn console(&self) -> Arc<dyn Console> {
        Arc::clone(&self.shared) as _
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Console for Shared {
    fn since(&self, start: Instant) -> Vec<String> {
        let content = self.lock();
        content
            .lines()
            .filter(|line| line.at >= start)
            .map(|line| line.text.clone())
            .collect()
    }
}

fn read(port: TTYPort, site: &Site, baud: u32, shared: &Shared) {
    let mut port = Some(port);
    let mut buffer = [0; 4096];
    while !shared.stopped() {
        let Some(open) = &mut port else {
            std::thread::sleep(LOOK);
            // busy or not ours yet: udev may still be at it
            if let Ok(back) = site.open_now(baud) {
                port = Some(back);
                shared.change(|content| {
                    content.lost = None;
                    content.push("the port is back".to_owned(), true);
                });
            }
            continue;
        };
        match open.read(&mut buffer) {
            Ok(count @ 1..) => shared.change(|content| content.bytes(&buffer[..count])),
            Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted) => {}
            gone => {
                port = None;
                let why = gone.err().map(|error| format!(": {error}")).unwrap_or_default();
                shared.change(|content| {
                    if !content.partial.is_empty() {
                        content.end_line();
                    }
                    content.lost = Some(Instant::now());
                    content.push(format!("the port is gone{why}"), true);
                });
            }
        }
    }
    shared.change(|content| {
        if !content.partial.is_empty() {
            content.end_line();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serialport::SerialPort as _;

    const LIMIT: Duration = Duration::from_secs(10);

    fn site(path: &Path) -> Site {
        Site {
            board: "bench-1".to_owned(),
            port: path.to_owned(),
            mac: None,
        }
    }

    fn link(folder: &Path, port: &TTYPort) -> std::path::PathBuf {
        let link = folder.join("port");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(port.name().unwrap(), &link).unwrap();
        link
    }

    #[test]
    fn every_line_is_kept_and_logged_also_when_the_port_comes_back_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/bench-1.log");
        let (mut board, port) = TTYPort::pair().unwrap();
        let path = link(folder.path(), &port);
        drop(port);
        let site = site(&path);
        let capture = Capture::start(site.open(115_200).unwrap(), &site, 115_200, Some(&log)).unwrap();
        board
            .write_all(b"mcp-device boot stage=reset reason=power-on\r\nhalf a li")
            .unwrap();
        let half = |content: &Content| (!content.partial.is_empty()).then_some(());
        capture.wait(LIMIT, half).unwrap();
        drop(board);
        capture.wait(LIMIT, |content| content.lost).unwrap();
        let (mut board, port) = TTYPort::pair().unwrap();
        link(folder.path(), &port);
        drop(port);
        capture
            .wait(LIMIT, |content| content.lost.is_none().then_some(()))
            .unwrap();
        board.write_all(b"back\xff\r\n").unwrap();
        let back = capture.wait(LIMIT, |content| {
            content
                .lines()
                .next_back()
                .filter(|line| line.text.starts_with("back"))
                .cloned()
        });
        assert_eq!(back.unwrap().text, "back\u{fffd}");
        drop(capture);
        let text = std::fs::read_to_string(&log).unwrap();
        let told: Vec<_> = text.lines().map(|line| &line[13..]).collect();
        assert_eq!(told[1], "  mcp-device boot stage=reset reason=power-on");
        assert_eq!(told[2], "  half a li");
        assert!(told[3].starts_with("-- the port is gone"), "{}", told[3]);
        assert_eq!(told[4..], ["-- the port is back", "  back\u{fffd}"]);
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let mut content = Content::default();
        content.bytes(&[b'x'; 2 * MAX_LINE + 1]);
        assert_eq!(
            content.lines().map(|line| line.text.len()).collect::<Vec<_>>(),
            [MAX_LINE, MAX_LINE]
        );
    }

    #[test]
    fn lines_are_counted_although_the_oldest_are_dropped() {
        let mut content = Content::default();
        let text: Vec<u8> = (0..MAX_LINES + 10)
            .flat_map(|number| format!("{number}\n").into_bytes())
            .collect();
        content.bytes(&text);
        let (lines, next) = content.lines_from(MAX_LINES + 8);
        assert_eq!(next, MAX_LINES + 10);
        assert_eq!(
            lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>(),
            ["10008", "10009"]
        );
    }

    #[test]
    fn what_is_around_a_line_is_found() {
        let mut content = Content::default();
        content.take_text(
            &(0..100)
                .map(|number| format!("line {number};\n"))
                .collect::<String>(),
        );
        let around = content.around("line 50;");
        assert_eq!(
            (around.len(), around[0].as_str(), around[24].as_str()),
            (25, "line 42;", "line 66;")
        );
        assert_eq!(content.around("line 2;")[0], "line 0;");
    }

    #[test]
    fn the_clock_is_that_of_the_day() {
        assert_eq!(
            clock(UNIX_EPOCH + Duration::from_millis(86_400_000 + 3_723_004)),
            "01:02:03.004"
        );
    }
}
