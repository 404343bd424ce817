//! Nothing but tests: see `tests/hil.rs`.
