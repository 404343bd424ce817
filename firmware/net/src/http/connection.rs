//! The state machine of one connection: bytes in, bytes out, no socket and no clock.

use core::time::Duration;

use mcp_device::{Millis, Request, Response};

use super::answer::HeadText;
use super::chunked::Chunked;
use super::fault::Fault;
use super::head::{self, Framing, Head, HeaderSlots};
use super::host::Hosts;
use super::policy::Phase;
use super::{BODY_DEADLINE, HEAD_DEADLINE, IDLE_DEADLINE, LINGER_DEADLINE, YIELD_LINGER};
use super::{CONNECTION_BYTES, HEAD_MAX, LINGER_MAX, after, answer};

/// What the driver must do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read into [`Connection::room`] until [`Connection::deadline`], and report with [`Connection::received`] or
    /// [`Connection::ended`]; at the deadline just poll again.
    Read,
    /// The body has outgrown the connection: get a body buffer and poll with it, from now until [`Action::Handle`] is
    /// done.
    Buffer,
    /// Send [`Connection::output`], then call [`Connection::sent`].
    Send,
    /// Give [`Connection::request`] to the device, send the answer, then call [`Connection::answered`].
    Handle,
    /// Close the writing side, then poll again.
    HalfClose,
    /// Close the connection.
    Close,
}

/// One connection, reused for the next one with [`Connection::open`].
///
/// `buf` holds, from the front: the head, the part of the body that is inline, a gap that chunk framing left, and what
/// has been received but not looked at (`raw..end`), which may belong to the next request.
#[derive(Debug)]
pub struct Connection<'b> {
    state: State,
    buf: &'b mut [u8; CONNECTION_BYTES],
    end: usize,
    raw: usize,
    body: usize,
    /// The body is in a body buffer and no longer inline.
    spilled: bool,
    /// The client has closed its writing side.
    eof: bool,
    deadline: Millis,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Head,
    Continue(Head),
    Body(Head, Reader),
    Ready(Head),
    /// The refusal takes the first so many bytes of `buf`; then as `HalfClosing`.
    Refusing(usize, Duration),
    /// Then wait that long for the client to close its side.
    HalfClosing(Duration),
    /// So many more bytes are read and dropped.
    Lingering(usize),
    Closed,
}

#[derive(Clone, Copy, Debug)]
enum Reader {
    Length(usize),
    Chunked(Chunked),
}

/// How far the body is.
enum Progress {
    Complete,
    Incomplete,
    NoRoom,
}

impl<'b> Connection<'b> {
    /// A connection that is not open yet, in this memory.
    pub const fn new(buf: &'b mut [u8; CONNECTION_BYTES]) -> Self {
        Self {
            state: State::Head,
            buf,
            end: 0,
            raw: 0,
            body: 0,
            spilled: false,
            eof: false,
            deadline: Millis(0),
        }
    }

    /// Begins a new connection.
    pub fn open(&mut self, now: Millis) {
        self.state = State::Head;
        self.end = 0;
        self.eof = false;
        self.begin(now);
    }

    /// Where the next bytes from the socket go; never empty after [`Action::Read`].
    pub fn room(&mut self) -> &mut [u8] {
        let from = if matches!(self.state, State::Lingering(_)) {
            0
        } else {
            self.end
        };
        self.buf.get_mut(from..).unwrap_or_default()
    }

    /// `count` bytes, at least one, have been put into [`Connection::room`].
    pub fn received(&mut self, count: usize, now: Millis) {
        match &mut self.state {
            State::Lingering(left) => *left = left.saturating_sub(count),
            State::Head if self.end == 0 => {
                self.deadline = after(now, HEAD_DEADLINE);
                self.end = count.min(CONNECTION_BYTES);
            }
            _ => self.end = (self.end + count).min(CONNECTION_BYTES),
        }
    }

    /// The client sends nothing more.
    pub fn ended(&mut self) {
        self.eof = true;
    }

    /// When to poll again though nothing was received.
    pub fn deadline(&self) -> Millis {
        self.deadline
    }

    /// What the connection is doing, for [`super::Table`].
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Head if self.end == 0 => Phase::Idle,
            State::Head | State::Continue(_) | State::Body(..) => Phase::Sending,
            State::Ready(_) => Phase::Busy,
            State::Refusing(..) | State::HalfClosing(_) | State::Lingering(_) | State::Closed => {
                Phase::Closing
            }
        }
    }

    /// Says what to do next. `spill` is the body buffer, where there is one.
    pub fn poll(&mut self, now: Millis, hosts: &Hosts<'_>, mut spill: Option<&mut [u8]>) -> Action {
        loop {
            match self.state {
                State::Head => {
                    if let Some(action) = self.poll_head(now, hosts) {
                        return action;
                    }
                }
                State::Body(head, reader) => {
                    if let Some(action) = self.poll_body(head, reader, now, spill.as_deref_mut()) {
                        return action;
                    }
                }
                State::Continue(_) | State::Refusing(..) => return Action::Send,
                State::Ready(_) => return Action::Handle,
                State::HalfClosing(linger) => {
                    self.deadline = after(now, linger);
                    self.state = State::Lingering(LINGER_MAX);
                    return Action::HalfClose;
                }
                State::Lingering(left) if left == 0 || self.eof || now >= self.deadline => {
                    self.state = State::Closed
                }
                State::Lingering(_) => return Action::Read,
                State::Closed => return Action::Close,
            }
        }
    }

    fn poll_head(&mut self, now: Millis, hosts: &Hosts<'_>) -> Option<Action> {
        let bytes = self.buf.get(..self.end.min(HEAD_MAX)).unwrap_or_default();
        match head::parse(bytes, hosts) {
            Ok(Some(head)) => {
                self.raw = head.len;
                self.deadline = after(now, BODY_DEADLINE);
                self.state = if head.expects_continue {
                    State::Continue(head)
                } else {
                    Self::reading(head)
                };
            }
            Err(fault) => self.refuse(fault),
            Ok(None) if self.end >= HEAD_MAX => {
                self.refuse(if bytes.contains(&b'\n') {
                    Fault::HeadTooLong
                } else {
                    Fault::TargetTooLong
                });
            }
            Ok(None) if self.end == 0 && (self.eof || now >= self.deadline) => {
                self.state = State::HalfClosing(Duration::ZERO);
            }
            Ok(None) if self.eof => self.refuse(Fault::Truncated),
            Ok(None) if now >= self.deadline => self.refuse(Fault::HeadSlow),
            Ok(None) => return Some(Action::Read),
        }
        None
    }

    fn reading(head: Head) -> State {
        let reader = match head.framing {
            Framing::Length(length) => Reader::Length(length),
            Framing::Chunked => Reader::Chunked(Chunked::default()),
        };
        State::Body(head, reader)
    }

    fn poll_body(
        &mut self,
        head: Head,
        mut reader: Reader,
        now: Millis,
        spill: Option<&mut [u8]>,
    ) -> Option<Action> {
        let progress = self.fill(head.len, &mut reader, spill);
        self.state = State::Body(head, reader);
        match progress {
            Ok(Progress::Complete) => self.state = State::Ready(head),
            Ok(Progress::NoRoom) => return Some(Action::Buffer),
            Ok(Progress::Incomplete) if self.eof => self.refuse(Fault::Truncated),
            Ok(Progress::Incomplete) if now >= self.deadline => self.refuse(Fault::BodySlow),
            Ok(Progress::Incomplete) => return Some(Action::Read),
            Err(fault) => self.refuse(fault),
        }
        None
    }

    /// Moves what was received into the body.
    fn fill(
        &mut self,
        head: usize,
        reader: &mut Reader,
        spill: Option<&mut [u8]>,
    ) -> Result<Progress, Fault> {
        let mut spill = spill;
        if let (false, Some(buffer)) = (self.spilled, spill.as_deref_mut()) {
            let inline = self.buf.get(head..head + self.body).unwrap_or_default();
            buffer
                .get_mut(..self.body)
                .unwrap_or_default()
                .copy_from_slice(inline);
            self.spilled = true;
        }
        loop {
            let input = self.buf.get(self.raw..self.end).unwrap_or_default();
            let (skip, take, complete) = match reader {
                Reader::Length(left) => {
                    let take = input.len().min(*left);
                    *left -= take;
                    (0, take, *left == 0)
                }
                Reader::Chunked(chunked) => {
                    let found = chunked.decode(input)?;
                    (found.framing, found.data, chunked.is_done())
                }
            };
            let from = self.raw + skip;
            if self.spilled {
                let Some(buffer) = spill.as_deref_mut() else {
                    return Ok(Progress::NoRoom);
                };
                let target = buffer
                    .get_mut(self.body..self.body + take)
                    .ok_or(Fault::BodyTooLong)?;
                target.copy_from_slice(self.buf.get(from..from + take).unwrap_or_default());
            } else {
                self.buf.copy_within(from..from + take, head + self.body);
            }
            self.body += take;
            self.raw = from + take;
            if complete {
                return Ok(Progress::Complete);
            }
            if skip + take == 0 {
                break;
            }
        }
        // All that was received has been used: the gap can go.
        self.end = if self.spilled { head } else { head + self.body };
        self.raw = self.end;
        Ok(if self.end == CONNECTION_BYTES {
            Progress::NoRoom
        } else {
            Progress::Incomplete
        })
    }

    /// Bytes to send after [`Action::Send`].
    pub fn output(&self) -> &[u8] {
        match self.state {
            State::Continue(_) => b"HTTP/1.1 100 Continue\r\n\r\n",
            State::Refusing(length, _) => self.buf.get(..length).unwrap_or_default(),
            _ => &[],
        }
    }

    /// [`Connection::output`] is on its way.
    pub fn sent(&mut self) {
        match self.state {
            State::Continue(head) => self.state = Self::reading(head),
            State::Refusing(_, linger) => self.state = State::HalfClosing(linger),
            _ => {}
        }
    }

    /// The request after [`Action::Handle`]; `spill` is the buffer that was polled with.
    pub fn request<'a>(
        &'a self,
        spill: Option<&'a [u8]>,
        slots: &'a mut HeaderSlots<'a>,
    ) -> Option<Request<'a>> {
        let State::Ready(head) = self.state else {
            return None;
        };
        let (from, bytes) = if self.spilled {
            (0, spill?)
        } else {
            (head.len, &self.buf[..])
        };
        let body = bytes.get(from..from + self.body)?;
        head::request(self.buf.get(..head.len)?, body, slots)
    }

    /// Head of the answer to the present request, and whether the body follows it; none when the head is too long.
    pub fn answer(&self, response: &Response<'_>) -> Option<(HeadText, bool)> {
        let State::Ready(head) = self.state else {
            return None;
        };
        let fields = answer::Fields {
            status: response.status,
            content_type: response.content_type,
            allow: response.allow,
            length: response.body.len(),
            close: !head.keep_alive,
            http10: head.http10,
        };
        Some((
            answer::head(&fields).ok()?,
            !head.bodiless && response.status != 204,
        ))
    }

    /// The answer is on its way: the next request may begin.
    pub fn answered(&mut self, now: Millis) {
        let State::Ready(head) = self.state else { return };
        if head.keep_alive {
            self.buf.copy_within(self.raw..self.end, 0);
            self.end -= self.raw;
            self.state = State::Head;
            self.begin(now);
        } else {
            self.state = State::HalfClosing(LINGER_DEADLINE);
        }
    }

    /// Answers the present request with a fault, and closes.
    pub fn refuse(&mut self, fault: Fault) {
        let bodiless = self.buf.starts_with(b"HEAD ");
        // Who has to make room may not stay for long.
        let linger = if fault == Fault::Yielded {
            YIELD_LINGER
        } else {
            LINGER_DEADLINE
        };
        self.state = State::Refusing(answer::refusal(fault, bodiless, &mut self.buf[..]), linger);
    }

    /// The place is needed by another connection: an idle one closes, a half-sent request is refused.
    pub fn evict(&mut self) {
        match self.phase() {
            Phase::Sending => self.refuse(Fault::Yielded),
            Phase::Idle => self.state = State::HalfClosing(Duration::ZERO),
            Phase::Closing => self.state = State::Closed,
            Phase::Busy | Phase::Free => {}
        }
    }

    /// Whether the client has closed its side too, so that nothing is left to be said.
    pub fn is_ended(&self) -> bool {
        self.eof
    }

    fn begin(&mut self, now: Millis) {
        self.raw = 0;
        self.body = 0;
        self.spilled = false;
        self.deadline = after(
            now,
            if self.end == 0 {
                IDLE_DEADLINE
            } else {
                HEAD_DEADLINE
            },
        );
    }
}
