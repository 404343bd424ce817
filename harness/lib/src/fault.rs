//! What goes wrong between sending a request and having its answer.

use crate::http::Malformed;
use std::time::Duration;

/// Why there is no whole answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is nobody to talk to: the connection or the process could not be had. Everything else is the
    /// target's own doing.
    #[error("could not reach {target}: {reason}")]
    Unreachable {
        /// Address or command.
        target: String,
        /// What the system said.
        reason: String,
    },
    /// The deadline passed without a byte.
    #[error("no answer within {}", seconds(.0))]
    Silent(Duration),
    /// The deadline passed in the middle of an answer.
    #[error("the answer was not whole within {}: {bytes} bytes came", seconds(.after))]
    Slow {
        /// The deadline.
        after: Duration,
        /// Bytes that had come.
        bytes: usize,
    },
    /// The connection or the output ended before the answer did.
    #[error("closed {}before a whole answer: {bytes} bytes came{note}", if *.reset { "by a reset " } else { "" })]
    Closed {
        /// Bytes that had come.
        bytes: usize,
        /// By a TCP reset.
        reset: bool,
        /// More that is known, as `; exit status: 1`.
        note: String,
    },
    /// The bytes are no HTTP answer.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Bytes after the end of the answer.
    #[error("{0} bytes came after the end of the answer; is Content-Length counted in characters?")]
    Extra(usize),
    /// A line on standard output that is no message.
    #[error("a line on standard output is not a message: {0}")]
    NotAMessage(String),
}

/// A duration as `1.5 s`.
pub fn seconds(duration: &Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{} s", (seconds * 100.0).round() / 100.0)
    }
}
