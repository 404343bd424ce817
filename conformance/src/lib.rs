//! Grades any MCP server against the specification, clause by clause, with nothing but what the server offers.
//!
//! [`requirement`] holds the clauses, [`checks`] the functions that judge them, [`run`](mod@run) runs them against a
//! target. A check talks through its [`lab::Lab`]; what an answer must be is said by the pure functions of [`expect`].

pub mod advice;
pub mod arguments;
pub mod baseline;
pub mod check;
pub mod checks;
pub mod coverage;
pub mod expect;
pub mod lab;
pub mod log;
pub mod mdns;
pub mod offer;
pub mod only;
pub mod report;
pub mod requirement;
pub mod run;
mod survey;
pub mod text;
mod uncalled;
pub mod verdict;
