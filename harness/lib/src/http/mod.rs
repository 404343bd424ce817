//! HTTP/1.1 as a test client needs it: every byte both ways is kept, and nothing is added, repaired or retried unseen.
//!
//! A general client library hides what a harness must show: the exact bytes, a header it adds by itself, bytes
//! after the end of an answer. [`answer`] and [`request`] are pure; only [`connection`] touches a socket.

pub mod answer;
pub mod connection;
pub mod request;
mod stream;

pub use answer::{Answer, AnswerReader, Malformed, messages};
pub use connection::{Connection, Conversation, Piece};
pub use request::Request;
