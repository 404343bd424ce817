//! The device: from a request to its answer.

use core::cell::{Cell, RefCell};
use core::fmt;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use serde_json::value::RawValue;

use crate::answer::{Full, SERVER_INFO, Writer};
use crate::contract::{self, TOOLS};
use crate::era::{Era, LEGACY, SUPPORTED};
use crate::http::below_json_rpc;
use crate::jobs::{Jobs, Outside, Winding};
use crate::json::{members, object, string};
use crate::log::Log;
use crate::message::{self, Call, Error, Id, Message};
use crate::schema::{Fault, validate};
use crate::tools::{self, ToolError};
use crate::{Board, Led, MAX_ANSWER, Millis, PAGE_SIZE, Request, Response};

const INSTRUCTIONS: &str =
    "Microcontroller board with an LED, sensors and a log. Call device_info to see which board answers.";

/// The MCP server of a board. Several connections may be in [`Device::handle`] at once on one thread; what they
/// share changes only between two awaits.
pub struct Device<B> {
    pub(crate) board: B,
    pub(crate) led: Cell<Led>,
    pub(crate) log: RefCell<Log>,
    pub(crate) jobs: RefCell<Jobs>,
    /// Something may be due sooner than the last poll said.
    sooner: Signal<NoopRawMutex, ()>,
    /// Until when a call waits for jobs to wind down. One call may: each that does keeps a buffer of the server.
    waiting: Cell<Option<Millis>>,
    /// When the device was polled last; raised for the call that waits.
    polled: Signal<NoopRawMutex, Millis>,
    pub(crate) requests: Cell<u64>,
    pub(crate) errors: Cell<u64>,
}

impl<B: Board> Device<B> {
    /// A device whose LED is off and whose log says that it started.
    pub fn new(board: B, now: Millis) -> Self {
        let led = Led {
            on: false,
            brightness: 100,
        };
        board.set_led(led);
        let device = Self {
            board,
            led: Cell::new(led),
            log: RefCell::new(Log::new()),
            jobs: RefCell::new(Jobs::new()),
            sooner: Signal::new(),
            waiting: Cell::new(None),
            polled: Signal::new(),
            requests: Cell::new(0),
            errors: Cell::new(0),
        };
        device.log(
            now,
            format_args!("started {} {}", device.board.kind(), device.board.build_id()),
        );
        device
    }

    /// The board.
    pub fn board(&self) -> &B {
        &self.board
    }

    /// Adds a line to the log that `log_tail` shows: at most [`crate::MAX_LOG_LINE`] bytes, control characters
    /// become spaces.
    pub fn log(&self, now: Millis, line: impl fmt::Display) {
        self.log.borrow_mut().add(now, line);
    }

    /// Does what has become due, and says when to be called again at the latest; none: nothing waits for time. That
    /// moment lies after `now`. Between two calls let others run: a job may always have something to do.
    pub fn poll(&self, now: Millis) -> Option<Millis> {
        let due = self.change_jobs(now, |jobs, outside| jobs.poll(outside));
        let waiting = self.waiting.get();
        if waiting.is_some() {
            self.polled.signal(now);
        }
        let waiting = waiting.filter(|deadline| *deadline > now);
        due.into_iter().chain(waiting).min()
    }

    /// Done when [`Device::poll`] is to be called sooner than it said. To be awaited in one place only.
    pub async fn sooner(&self) {
        self.sooner.wait().await;
    }

    /// Lets `act` change jobs, and the LED through them.
    pub(crate) fn change_jobs<T>(
        &self,
        now: Millis,
        act: impl FnOnce(&mut Jobs, &mut Outside<'_>) -> T,
    ) -> T {
        let before = self.led.get();
        let mut led = before;
        let mut outside = Outside {
            now,
            led: &mut led,
            log: &mut self.log.borrow_mut(),
        };
        let done = act(&mut self.jobs.borrow_mut(), &mut outside);
        if led != before {
            self.led.set(led);
            self.board.set_led(led);
        }
        done
    }

    /// Has the device polled as soon as may be: a job was started or stopped.
    pub(crate) fn hurry(&self) {
        self.sooner.signal(());
    }

    /// Waits until none of these jobs winds down any more, at most for `wait` milliseconds; not at all while another
    /// call waits. How many still do. Time goes on with [`Device::poll`].
    pub(crate) async fn wind_down(&self, jobs: &Winding, now: Millis, wait: u32) -> usize {
        let winding = || self.jobs.borrow().still_winding(jobs);
        if wait > 0 && self.waiting.get().is_none() && winding() > 0 {
            let deadline = Millis(now.0 + u64::from(wait));
            self.waiting.set(Some(deadline));
            let _waiting = Waiting(&self.waiting);
            self.polled.reset();
            self.hurry();
            while winding() > 0 && self.polled.wait().await < deadline {}
        }
        winding()
    }

    /// Answers a request. `out` should have [`MAX_ANSWER`] bytes; more are not used, and what does not fit into
    /// fewer is answered as too large, or in the extreme by a bare HTTP 500.
    ///
    /// Dropping the future gives the request up: a tool that waits is not run to its end.
    pub async fn handle<'o>(&self, now: Millis, request: &Request<'_>, out: &'o mut [u8]) -> Response<'o> {
        if let Some(response) = below_json_rpc(request) {
            return response;
        }
        let room = out.len().min(MAX_ANSWER);
        let mut answer = Writer::new(&mut out[..room]);
        let status = match message::read(request.body) {
            Err((id, error)) => self.refuse(now, &id, &error, Era::of_headers(request), &mut answer),
            Ok(Message::Request { id, call }) => self.request(now, request, &id, &call, &mut answer).await,
            Ok(Message::Notification(call)) => match Era::of_call(request, &call) {
                Ok(_) => 202,
                // What can't be accepted gets an error status, also where a request gets its error with 200.
                Err((era, error)) => error.status(era).max(400),
            },
            Ok(Message::Response) if Era::of_headers(request) == Era::Legacy => 202,
            Ok(Message::Response) => {
                let error = Error::Invalid("a response is not taken in this revision");
                self.refuse(now, &Id::Null, &error, Era::Modern, &mut answer)
            }
        };
        let body = answer.written();
        let content_type = (!body.is_empty()).then_some("application/json");
        Response {
            status,
            content_type,
            allow: None,
            body,
        }
    }

    /// Answers a request with a result or an error; the HTTP status.
    async fn request(
        &self,
        now: Millis,
        request: &Request<'_>,
        id: &Id<'_>,
        call: &Call<'_>,
        answer: &mut Writer<'_>,
    ) -> u16 {
        let (era, meta) = match Era::of_call(request, call) {
            Ok(found) => found,
            Err((era, error)) => return self.refuse(now, id, &error, era, answer),
        };
        let checked = match era {
            Era::Modern => meta.check(request, call),
            Era::Legacy => Ok(()),
        };
        let outcome = match checked {
            Ok(()) => self.dispatch(now, era, id, call, answer).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => {
                self.requests.set(self.requests.get() + 1);
                200
            }
            Err(error) => self.refuse(now, id, &error, era, answer),
        }
    }

    async fn dispatch<'c>(
        &self,
        now: Millis,
        era: Era,
        id: &Id<'_>,
        call: &Call<'c>,
        answer: &mut Writer<'_>,
    ) -> Result<(), Error<'c>> {
        let is = |method: &str| call.method == *method;
        match era {
            Era::Legacy if is("initialize") => initialize(id, call, answer),
            Era::Legacy if is("ping") => {
                answer.begin_result(id, era)?;
                Ok(answer.end_result()?)
            }
            Era::Modern if is("server/discover") => Ok(discover(id, answer)?),
            _ if is("tools/list") => list(era, id, call, answer),
            _ if is("tools/call") => self.call_tool(now, era, id, call, answer).await,
            _ => Err(Error::UnknownMethod(call.method)),
        }
    }

    async fn call_tool<'c>(
        &self,
        now: Millis,
        era: Era,
        id: &Id<'_>,
        call: &Call<'c>,
        answer: &mut Writer<'_>,
    ) -> Result<(), Error<'c>> {
        let [name, arguments] = members(call.params, ["name", "arguments"])?;
        let name = name
            .and_then(string)
            .ok_or(Error::Params("params.name must be a string"))?;
        let tool = contract::tool(name).ok_or(Error::UnknownTool(name))?;
        let empty: &RawValue = serde_json::from_str("{}").map_err(Error::Schema)?;
        let arguments = arguments.unwrap_or(empty);
        let text = object(arguments).ok_or(Error::Params("params.arguments must be an object"))?;
        let schema: &RawValue = serde_json::from_str(tool.input_schema).map_err(Error::Schema)?;

        answer.begin_result(id, era)?;
        let start = answer.len();
        let outcome = match validate(schema, arguments) {
            Ok(()) => {
                tools::run(
                    tool.name,
                    self,
                    tools::Call {
                        now,
                        arguments: text,
                        answer,
                    },
                )
                .await
            }
            Err(Fault::Invalid(invalid)) => Err(ToolError::Arguments(invalid)),
            Err(Fault::Duplicate(name)) => return Err(Error::DuplicateArgument(name)),
            Err(Fault::Schema(error)) => return Err(Error::Schema(error)),
        };
        let written = match outcome {
            Ok(()) => answer.end_result(),
            Err(ToolError::Full(full)) => Err(full),
            Err(failure) => {
                answer.truncate(start);
                failed(&failure, answer)
            }
        };
        if written.is_err() {
            answer.truncate(start);
            failed(&ToolError::Full(Full), answer)?;
        }
        Ok(())
    }

    /// Answers with an error; the HTTP status.
    fn refuse(&self, now: Millis, id: &Id<'_>, error: &Error<'_>, era: Era, answer: &mut Writer<'_>) -> u16 {
        if !matches!(id, Id::Null) {
            self.requests.set(self.requests.get() + 1);
            self.errors.set(self.errors.get() + 1);
        }
        self.log(now, format_args!("error {}: {error}", error.code()));
        answer.truncate(0);
        if answer.error(id, error).is_ok() {
            return error.status(era);
        }
        answer.truncate(0);
        match answer.error(id, &Error::TooLarge) {
            Ok(()) => Error::TooLarge.status(era),
            Err(Full) => {
                answer.truncate(0);
                500
            }
        }
    }
}

/// A call that waits, until dropped: its request may be given up.
struct Waiting<'d>(&'d Cell<Option<Millis>>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Ends a tool's result as a failure that a model can act on.
fn failed(failure: &ToolError<'_>, answer: &mut Writer<'_>) -> Result<(), Full> {
    answer.text(failure)?;
    answer.member("isError")?;
    answer.raw("true")?;
    answer.end_result()
}

fn initialize<'c>(id: &Id<'_>, call: &Call<'c>, answer: &mut Writer<'_>) -> Result<(), Error<'c>> {
    let [version, capabilities, client] =
        members(call.params, ["protocolVersion", "capabilities", "clientInfo"])?;
    let version = version
        .and_then(string)
        .ok_or(Error::Params("params.protocolVersion must be a string"))?;
    capabilities
        .and_then(object)
        .ok_or(Error::Params("params.capabilities must be an object"))?;
    let client = client
        .and_then(object)
        .ok_or(Error::Params("params.clientInfo must be an object"))?;
    for member in members(client, ["name", "version"])? {
        member.and_then(string).ok_or(Error::Params(
            "params.clientInfo needs the strings name and version",
        ))?;
    }
    let offered = LEGACY
        .into_iter()
        .find(|known| version == **known)
        .unwrap_or(LEGACY[0]);

    answer.begin_result(id, Era::Legacy)?;
    answer.member("protocolVersion")?;
    answer.json(offered)?;
    capabilities_and_instructions(answer)?;
    answer.member("serverInfo")?;
    answer.json(&SERVER_INFO)?;
    Ok(answer.end_result()?)
}

fn discover(id: &Id<'_>, answer: &mut Writer<'_>) -> Result<(), Full> {
    answer.begin_result(id, Era::Modern)?;
    answer.member("supportedVersions")?;
    answer.json(&SUPPORTED)?;
    capabilities_and_instructions(answer)?;
    answer.cache_hints()?;
    answer.end_result()
}

fn capabilities_and_instructions(answer: &mut Writer<'_>) -> Result<(), Full> {
    answer.member("capabilities")?;
    answer.raw(r#"{"tools":{}}"#)?;
    answer.member("instructions")?;
    answer.json(INSTRUCTIONS)
}

fn list<'c>(era: Era, id: &Id<'_>, call: &Call<'c>, answer: &mut Writer<'_>) -> Result<(), Error<'c>> {
    let start = match members(call.params, ["cursor"])? {
        [None] => 0,
        [Some(cursor)] => string(cursor)
            .and_then(contract::page_start)
            .ok_or(Error::Params(
                "params.cursor is not one that tools/list gave; leave it out to begin anew",
            ))?,
    };
    let end = TOOLS.len().min(start + PAGE_SIZE);
    answer.begin_result(id, era)?;
    answer.member("tools")?;
    for (index, tool) in TOOLS[start..end].iter().enumerate() {
        answer.raw(if index == 0 { "[" } else { "," })?;
        answer.raw(tool.json)?;
    }
    answer.raw("]")?;
    if end < TOOLS.len() {
        answer.member("nextCursor")?;
        answer.json(&*contract::cursor(end))?;
    }
    if era == Era::Modern {
        answer.cache_hints()?;
    }
    Ok(answer.end_result()?)
}

impl From<Full> for Error<'_> {
    fn from(Full: Full) -> Self {
        Error::TooLarge
    }
}
