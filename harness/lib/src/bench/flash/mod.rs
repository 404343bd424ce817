//! Flashing: a child process of this very program does it, and is killed at the deadline.

pub mod child;
pub mod job;
pub mod sync;

use super::failure::{Failure, Kind};
use crate::process::Guarded;
use crate::target::Command;
use job::{Event, Identity, Job};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout_at;

/// The argument that makes this program the flashing process.
pub const CHILD: &str = "flashing-process";

/// What a job has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The board.
    pub identity: Identity,
    /// Rate at which data went.
    pub baud: u32,
    /// What was written, in order.
    pub parts: Vec<Part>,
    /// Time it took, reset and identification included.
    pub time: Duration,
}

/// A part of an image that is in flash now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub name: String,
    /// Its address.
    pub address: u32,
    /// Its bytes.
    pub bytes: usize,
    /// It was there already.
    pub unchanged: bool,
    /// Time it took.
    pub time: Duration,
}

/// Why a job is not done.
#[derive(Debug, thiserror::Error)]
pub enum FlashError {
    /// The board, or what leads to it.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
    /// The image, or what was asked for: no board can do it.
    #[error("{0}")]
    Refused(String),
}

/// Where a job is, for what is said when it does not end.
#[derive(Debug, Default)]
struct State {
    identity: Option<Identity>,
    baud: u32,
    parts: Vec<Part>,
    started: Option<(String, u32, usize, Instant)>,
    progress: Option<(usize, usize)>,
    output: Vec<String>,
}

impl State {
    /// Takes an event; gives the end if it is one.
    fn take(&mut self, event: Event) -> Option<Result<(), FlashError>> {
        match event {
            Event::Output(lines) => self.output = lines,
            Event::Identified(identity) => self.identity = Some(identity),
            Event::Slower { .. } => {
                self.parts.clear();
                self.started = None;
                self.progress = None;
            }
            Event::Baud(baud) => self.baud = baud,
            Event::Part { name, address, bytes } => {
                self.started = Some((name, address, bytes, Instant::now()))
            }
            Event::Progress { done, total } => self.progress = Some((done, total)),
            Event::Verified => self.end_part(false),
            Event::Unchanged => self.end_part(true),
            Event::Done => return Some(Ok(())),
            Event::Refused(reason) => return Some(Err(FlashError::Refused(reason))),
            Event::Failed(failure) => return Some(Err(Box::new(failure).into())),
        }
        None
    }

    fn end_part(&mut self, unchanged: bool) {
        self.progress = None;
        if let Some((name, address, bytes, start)) = self.started.take() {
            self.parts.push(Part {
                name,
                address,
                bytes,
                unchanged,
                time: start.elapsed(),
            });
        }
    }

    /// The failure of a job that was ended in the middle.
    fn cut_off(&self, board: &str, why: &str) -> Failure {
        let (kind, what) = match (&self.identity, &self.started) {
            (None, _) => {
                let kind = if self.output.is_empty() {
                    Kind::NoSync
                } else {
                    Kind::LineNoise
                };
                (kind, "before the board was identified".to_owned())
            }
            (_, Some((name, ..))) => {
                let place = self
                    .progress
                    .map(|(done, total)| format!(", after {done} of {total} blocks"));
                (
                    Kind::WriteFailed,
                    format!("in the {name}{}", place.unwrap_or_default()),
                )
            }
            (_, None) => (Kind::WriteFailed, "after the board was identified".to_owned()),
        };
        Failure::new(kind, board, format!("{why} {what}")).with_output(self.output.clone())
    }
}

/// Does a job in a child process: `program` with the argument [`CHILD`]. Must be called within a tokio runtime, from a thread that
/// lives as long as the job.
///
/// # Errors
/// [`FlashError`]. In every case the child has ended, and the port is free.
pub async fn run(
    program: &Path,
    job: &Job,
    deadline: Duration,
    mut told: impl FnMut(&Event),
) -> Result<Done, FlashError> {
    let board = &job.site.board;
    let start = Instant::now();
    let end = tokio::time::Instant::now() + deadline;
    let command = Command {
        program: program.display().to_string(),
        arguments: vec![CHILD.to_owned()],
    };
    let broken =
        |reason: String| FlashError::Refused(format!("the flashing process {}: {reason}", program.display()));
    let mut process = Guarded::spawn(&command).map_err(broken)?;
    let line = serde_json::to_string(job).map_err(|error| broken(error.to_string()))?;
    let (Some(mut input), Some(output), Some(mut errors)) = (
        process.child.stdin.take(),
        process.child.stdout.take(),
        process.child.stderr.take(),
    ) else {
        return Err(broken("it has no pipes".to_owned()));
    };
    let mut state = State::default();
    let ended = timeout_at(end, async {
        input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .map_err(|error| broken(error.to_string()))?;
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(event) = serde_json::from_str(&line) else {
                continue;
            };
            told(&event);
            if let Some(ended) = state.take(event) {
                return ended;
            }
        }
        // it ended without a word: a bug, whose panic is on standard error
        let mut said = String::new();
        let _ = errors.read_to_string(&mut said).await;
        let said = said.lines().map(str::to_owned).collect::<Vec<_>>();
        let failure = state.cut_off(board, &format!("the flashing process ended ({})", said.join(" ")));
        Err(Box::new(failure).into())
    })
    .await;
    // the child lets go of the port before anyone else opens it
    drop(input);
    let _ = process.child.start_kill();
    let _ = process.child.wait().await;
    match ended {
        Ok(ended) => ended?,
        Err(_) => {
            let why = format!("no end within {} s,", deadline.as_secs_f64());
            return Err(Box::new(state.cut_off(board, &why)).into());
        }
    }
    let identity = state
        .identity
        .ok_or_else(|| broken("it did not say which board it found".to_owned()))?;
    Ok(Done {
        identity,
        baud: state.baud,
        parts: state.parts,
        time: start.elapsed(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            chip: "esp32c3".to_owned(),
            revision: None,
            mac: "60:55:f9:00:00:01".to_owned(),
            flash: 4 << 20,
        }
    }

    #[test]
    fn a_job_that_is_cut_off_says_where_it_was() {
        let mut state = State::default();
        assert_eq!(
            state.cut_off("b", "no end within 9 s,").to_string(),
            "b: no-sync: no end within 9 s, before the board was identified"
        );
        state.take(Event::Output(vec![".".to_owned()]));
        assert_eq!(state.cut_off("b", "x").kind, Kind::LineNoise);
        state.take(Event::Identified(identity()));
        state.take(Event::Part {
            name: "application".to_owned(),
            address: 0x10000,
            bytes: 9,
        });
        state.take(Event::Progress { done: 3, total: 40 });
        let failure = state.cut_off("b", "no end within 9 s,");
        assert_eq!(
            failure.to_string(),
            "b: write-failed: no end within 9 s, in the application, after 3 of 40 blocks"
        );
    }

    #[test]
    fn a_lower_rate_begins_again() {
        let mut state = State::default();
        let part = |name: &str| Event::Part {
            name: name.to_owned(),
            address: 0,
            bytes: 1,
        };
        for event in [
            part("bootloader"),
            Event::Verified,
            part("application"),
            Event::Slower {
                baud: 921_600,
                why: "x".to_owned(),
            },
            part("bootloader"),
            Event::Unchanged,
        ] {
            assert!(state.take(event).is_none());
        }
        let names: Vec<_> = state
            .parts
            .iter()
            .map(|part| (part.name.as_str(), part.unchanged))
            .collect();
        assert_eq!(names, [("bootloader", true)]);
    }

    #[test]
    fn events_go_over_a_line_and_secrets_are_not_shown() {
        let failed = Event::Failed(Failure::new(Kind::WrongBoard, "b", "another"));
        let text = serde_json::to_string(&failed).unwrap();
        assert!(text.contains("\"wrong-board\""), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), failed);
        let task = job::Task::Configure {
            sector: job::Secret(vec![1, 2]),
        };
        assert_eq!(format!("{task:?}"), "Configure { sector: Secret }");
    }
}
