//! Every bound of the device in one place. What lies above a bound gets a clear answer, never silence.

/// Longest request body, bytes. Above it: HTTP 413.
pub const MAX_BODY: usize = 16_384;
/// Longest answer, bytes, and the size of the buffer that [`crate::Device::handle`] is to be lent. A tool result
/// above it becomes `isError`, any other answer the error -32603.
pub const MAX_ANSWER: usize = 16_384;
/// Deepest nesting of a message, which is itself the first level. Above it: -32600.
pub const MAX_DEPTH: usize = 32;
/// Most values in a message: itself, and every member value and element at any depth. Above it: -32600.
pub const MAX_VALUES: usize = 2048;
/// Longest request id as sent, bytes of JSON text; leaves room for an error answer around it. Above it: -32600.
pub const MAX_ID: usize = MAX_ANSWER - 1024;
/// Tools on a page of `tools/list`.
pub const PAGE_SIZE: usize = 4;
/// Jobs that are kept, live or ended.
pub const MAX_JOBS: usize = 16;
/// Jobs that run at once; more wait in a queue.
pub const MAX_RUNNING_JOBS: usize = 4;
/// Bytes of a log that are kept, the board's or a job's; the oldest lines make room.
pub const MAX_LOG: usize = 2048;
/// Longest line of a log with its time, bytes; the rest of a longer line is cut off.
pub const MAX_LOG_LINE: usize = 160;
/// Most characters of a client's text that an error message repeats.
pub const MAX_QUOTE: usize = 64;
