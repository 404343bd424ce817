//! What is wrong with a transcript, and where.

use std::fmt;

/// A transcript that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file or folder can't be read.
    #[error("{file}: {source}")]
    Io {
        /// Path as given.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not JSON, or not the members that the format has.
    #[error("{file}: {at}{problem}; fixtures/README.md tells the format")]
    Shape {
        /// Path as given.
        file: String,
        /// JSON Pointer with a colon, or nothing.
        at: String,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// Well formed, but says something that can't be.
    #[error("{file}: {fault}")]
    Content {
        /// Path as given.
        file: String,
        /// What, and where.
        fault: Fault,
    },
    /// A folder without transcripts.
    #[error("{0}: no .json file in this folder")]
    Empty(String),
}

/// Something that can't be, at a place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON Pointer (RFC 6901).
    pub pointer: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl Fault {
    pub(super) fn new(pointer: &str, problem: impl Into<String>) -> Self {
        Self {
            pointer: pointer.to_owned(),
            problem: problem.into(),
        }
    }

    pub(super) fn in_file(self, file: &str) -> TranscriptError {
        TranscriptError::Content {
            file: file.to_owned(),
            fault: self,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() {
            "top level"
        } else {
            &self.pointer
        };
        write!(f, "{pointer}: {}", self.problem)
    }
}
