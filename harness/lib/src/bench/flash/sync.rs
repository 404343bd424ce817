//! Finds out whether a ROM loader answers, and if not, why not, within a time of its own.
//!
//! The flashing library says only that it failed, and a port on which something trickles can keep it busy for a minute.
//! So this asks first, with the library's own question, and keeps what came back.

use crate::bench::failure::{Failure, Kind};
use serialport::{ClearBuffer, SerialPort};
use std::io::Read;
use std::time::{Duration, Instant};

/// Bytes that are kept of what came.
const KEPT: usize = 16 * 1024;
/// What a virtual board says on its line, before how, when the program that it runs has ended and should not have.
pub const ENDED: &str = "the board's program has ended: ";
/// For this long the board may print before it is asked.
const BANNER: Duration = Duration::from_millis(250);
/// Questions, and the time for an answer to each.
const TRIES: usize = 8;
const ANSWER: Duration = Duration::from_millis(150);
/// After an answer the line is read until it has been quiet for this long.
const QUIET: Duration = Duration::from_millis(60);
const DRAIN: Duration = Duration::from_millis(600);

/// The question of the ROM loader's protocol: a SLIP frame with command 8, `sync`
/// (esptool documentation, "Serial protocol", "Initial synchronisation").
pub fn question() -> Vec<u8> {
    let mut frame = vec![0xc0, 0x00, 0x08, 36, 0, 0, 0, 0, 0, 0x07, 0x07, 0x12, 0x20];
    frame.extend([0x55; 32]);
    frame.push(0xc0);
    frame
}

/// Whether there is a whole answer to it: a frame with direction 1 and command 8.
pub fn is_answered(bytes: &[u8]) -> bool {
    bytes
        .split(|byte| *byte == 0xc0)
        .any(|frame| frame.len() >= 10 && frame[..2] == [0x01, 0x08])
}

/// Asks until there is an answer, and reads the line empty.
///
/// # Errors
/// [`Kind::NoSync`], [`Kind::LineNoise`], [`Kind::PortLost`], with what came.
pub fn sync(board: &str, port: &mut impl SerialPort) -> Result<(), Failure> {
    let mut heard = Vec::new();
    let lost = |error: std::io::Error, heard: &[u8]| {
        Failure::new(Kind::PortLost, board, format!("the port went away: {error}")).with_output(lines(heard))
    };
    listen(port, BANNER, &mut heard, |heard| {
        contains(heard, b"waiting for download")
    })
    .map_err(|error| lost(error, &heard))?;
    let asked = heard.len();
    for _ in 0..TRIES {
        let from = heard.len();
        let sent = port.write_all(&question());
        if let Err(error) = sent.or_else(|error| {
            if error.kind() == std::io::ErrorKind::TimedOut {
                Ok(())
            } else {
                Err(error)
            }
        }) {
            return Err(lost(error, &heard));
        }
        listen(port, ANSWER, &mut heard, |heard| is_answered(&heard[from..]))
            .map_err(|error| lost(error, &heard))?;
        if is_answered(&heard[from..]) {
            drain(port);
            return Ok(());
        }
    }
    let _ = port.clear(ClearBuffer::All);
    Err(diagnose(board, &heard, asked))
}

/// Reads for a while, or until `enough`.
fn listen(
    port: &mut impl Read,
    limit: Duration,
    heard: &mut Vec<u8>,
    enough: impl Fn(&[u8]) -> bool,
) -> std::io::Result<()> {
    let end = Instant::now() + limit;
    let mut buffer = [0; 1024];
    while Instant::now() < end && !enough(heard) {
        match port.read(&mut buffer) {
            Ok(0) => return Err(std::io::ErrorKind::BrokenPipe.into()),
            Ok(count) if heard.len() < KEPT => heard.extend(&buffer[..count]),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the line is quiet: a loader answers one question eight times.
pub fn drain(port: &mut impl SerialPort) -> Vec<u8> {
    // the library leaves the port with a long one
    let _ = port.set_timeout(QUIET);
    let end = Instant::now() + DRAIN;
    let mut last = Instant::now();
    let mut heard = Vec::new();
    let mut buffer = [0; 1024];
    while last.elapsed() < QUIET && Instant::now() < end {
        match port.read(&mut buffer) {
            Ok(count @ 1..) => {
                heard.extend(&buffer[..count]);
                last = Instant::now();
            }
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
            _ => break,
        }
    }
    heard
}

/// Why there was no answer, from all that came; `asked` bytes came before the first question. Pure.
fn diagnose(board: &str, heard: &[u8], asked: usize) -> Failure {
    let text = String::from_utf8_lossy(heard);
    let since = &heard[asked.min(heard.len())..];
    let (kind, cause) = if heard.is_empty() {
        let cause = "nothing came back, not even text: no power, a cable without data, or another port";
        (Kind::NoSync, cause.to_owned())
    } else if contains(since, &question()[1..20]) {
        let cause = "the line sends back what is sent: RX and TX are joined, or no board is behind the port";
        (Kind::LineNoise, cause.to_owned())
    } else if let Some((_, how)) = text.rsplit_once(ENDED) {
        let how = how.lines().next().unwrap_or_default();
        (Kind::PowerFailed, format!("{ENDED}{how}"))
    } else if text.contains("waiting for download") && since.is_empty() {
        let cause = "the ROM loader waits, and does not answer: the line to the board (its RX) is broken";
        (Kind::NoSync, cause.to_owned())
    } else if let Some(mode) = boot_mode(&text).filter(|_| !text.contains("waiting for download")) {
        let cause = format!(
            "the board was reset and started its firmware (boot:{mode}), not the ROM loader: its boot pin did not follow"
        );
        (Kind::NoSync, cause)
    } else if since.is_empty() {
        let cause = "something came at the reset, no word of the ROM loader, and nothing after that";
        (Kind::NoSync, cause.to_owned())
    } else {
        let cause = format!("{} bytes came in place of an answer", since.len());
        (Kind::LineNoise, cause)
    };
    let mut failure = Failure::new(kind, board, cause).with_output(lines(heard));
    if kind == Kind::PowerFailed {
        failure.advice = Some(
            "read above what the program said: its command line, or a file of the board, does not suit it"
                .to_owned(),
        );
    }
    failure
}

fn boot_mode(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(",boot:")?;
    rest.split([' ', '\r', '\n']).next()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The last lines of what came, to be shown: text as it is, other bytes escaped.
pub fn lines(heard: &[u8]) -> Vec<String> {
    const LINES: usize = 20;
    const WIDTH: usize = 160;
    let line = |line: &[u8]| {
        let shown: String = line.trim_ascii_end().escape_ascii().to_string();
        // what is escaped of quotes is text
        let shown = shown.replace("\\'", "'").replace("\\\"", "\"");
        match shown.char_indices().nth(WIDTH) {
            Some((at, _)) => format!("{}…", &shown[..at]),
            None => shown,
        }
    };
    let lines: Vec<_> = heard
        .split(|byte| *byte == b'\n')
        .map(line)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const ANSWERED: [u8; 14] = [0xc0, 0x01, 0x08, 4, 0, 0x07, 0x07, 0x12, 0x20, 0, 0, 0, 0, 0xc0];

    #[test]
    fn only_a_whole_answer_counts() {
        assert!(is_answered(&ANSWERED));
        assert!(is_answered(&[b"junk".as_slice(), &ANSWERED, b"x"].concat()));
        assert!(!is_answered(&question()));
        assert!(!is_answered(b"I am up\r\n"));
        assert_eq!(question().len(), 46);
    }

    #[test]
    fn why_there_was_no_answer_is_told_by_what_came() {
        for (heard, kind, cause) in [
            (b"".to_vec(), Kind::NoSync, "nothing came back"),
            (question(), Kind::LineNoise, "sends back what is sent"),
            (
                b"rst:0x1 (POWERON),boot:0x4\r\nwaiting for download\r\n".to_vec(),
                Kind::NoSync,
                "its RX",
            ),
            (
                b"rst:0x1 (POWERON),boot:0xd (SPI_FAST_FLASH_BOOT)\r\n".to_vec(),
                Kind::NoSync,
                "boot:0xd",
            ),
            (
                b"waiting for download\r\n\n\n".to_vec(),
                Kind::LineNoise,
                "24 bytes came",
            ),
            (b"tick\r\ntick\r\n".to_vec(), Kind::LineNoise, "12 bytes came"),
            (b"tick\r\n".to_vec(), Kind::NoSync, "nothing after that"),
            (
                format!("bad option\r\n{ENDED}exit status: 1\r\n").into_bytes(),
                Kind::PowerFailed,
                "has ended: exit status: 1",
            ),
        ] {
            let before = ["its RX", "nothing after that"].contains(&cause);
            let asked = if before { heard.len() } else { 0 };
            let failure = diagnose("bench-1", &heard, asked);
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(failure.cause.contains(cause), "{failure}");
        }
    }

    #[test]
    fn what_came_is_shown_without_steering_the_terminal() {
        assert_eq!(lines(b"it's up\r\n\x1b[2J\xff\r\n"), ["it's up", "\\x1b[2J\\xff"]);
        assert_eq!(lines(&b"x\n".repeat(100)).len(), 20);
        assert_eq!(lines(&[b'y'; 500])[0].chars().count(), 161);
    }

    #[test]
    fn a_trickle_is_named_in_time() {
        let (mut board, mut port) = serialport::TTYPort::pair().unwrap();
        port.set_timeout(Duration::from_millis(50)).unwrap();
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = std::sync::Arc::clone(&stop);
        let talk = std::thread::spawn(move || {
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = board.write_all(b".");
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let start = Instant::now();
        let failure = sync("bench-1", &mut port).unwrap_err();
        assert_eq!(failure.kind, Kind::LineNoise, "{failure}");
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        talk.join().unwrap();
    }
}
