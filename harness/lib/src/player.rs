//! Plays one transcript against a target: what to send and how to judge it is decided elsewhere, this does it in order.

use crate::board::console::Console;
use crate::client::{Client, ClientError, Exchange, HttpWire, Limits, Wire};
use crate::fault::{Fault, seconds};
use crate::judge::{self, Asked, judge};
use crate::prepare::{self, Prepared};
use crate::report::{Case, Finding, NOT_PLAYED, Verdict};
use crate::revision::{Era, Revision};
use crate::shape::Shapes;
use crate::target::Target;
use crate::transcript::{Action, Captures, Content, Expect, Send, Transcript};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

/// Within this time a server must close a connection where `closed` is expected.
const CLOSES_WITHIN: Duration = Duration::from_secs(6);
/// A connection that is still open after this time counts as staying open.
const STAYS_OPEN: Duration = Duration::from_millis(300);
/// What a board prints takes this long to arrive here, at most.
const CONSOLE_LAG: Duration = Duration::from_millis(50);
/// After so many transcripts in a row that ended in silence the rest is not tried.
const GIVE_UP: usize = 3;

/// What is known of a target before the first transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The contract it keeps. Then it owes every revision: one that it does not speak is a failure.
    pub contract: Option<String>,
    /// The revisions it speaks; not looked at where there is a contract.
    pub revisions: Vec<Revision>,
}

/// Plays transcripts against one target, one after another.
#[derive(Debug)]
pub struct Player {
    target: Target,
    known: Known,
    deadline_factor: f64,
    console: Option<Arc<dyn Console>>,
    /// When the exchange under way, or the last one, began.
    began: Instant,
    shapes: BTreeMap<Revision, Shapes>,
    tools: BTreeMap<Revision, Vec<String>>,
    answered: bool,
    silent: usize,
}

/// Why a transcript ended before its end.
enum Stop {
    Fail(Box<Finding>),
    Skip(String),
    Infrastructure(String),
}

type Exchanges = Vec<(String, Exchange)>;

impl Player {
    /// `deadline_factor` stretches every limit, but not for transcripts whose point is a limit.
    pub fn new(target: Target, known: Known, deadline_factor: f64) -> Self {
        Self {
            target,
            known,
            deadline_factor,
            console: None,
            began: Instant::now(),
            shapes: BTreeMap::new(),
            tools: BTreeMap::new(),
            answered: false,
            silent: 0,
        }
    }

    /// Has failures show what the target's board printed meanwhile.
    pub fn with_console(mut self, console: Option<Arc<dyn Console>>) -> Self {
        self.console = console;
        self
    }

    /// Plays a transcript. Always ends: every wait in it has a limit.
    pub async fn play(&mut self, transcript: &Transcript) -> Case {
        let started = Instant::now();
        let mut exchanges = Vec::new();
        self.began = started;
        let verdict = match self.run(transcript, &mut exchanges).await {
            Ok(()) => Verdict::Pass,
            Err(Stop::Fail(mut finding)) => {
                if let Some(console) = &self.console {
                    sleep(CONSOLE_LAG).await;
                    finding.console = console.since(self.began);
                }
                if let Target::Http(endpoint) = &self.target {
                    finding.redact(|text| endpoint.access.redact(text));
                }
                Verdict::Fail(vec![*finding])
            }
            Err(Stop::Skip(reason)) => Verdict::Skip(reason),
            Err(Stop::Infrastructure(reason)) => Verdict::Infrastructure(reason),
        };
        let fault = verdict
            .findings()
            .iter()
            .flat_map(|finding| &finding.exchanges)
            .find_map(|exchange| exchange.fault.as_ref());
        match (&verdict, fault) {
            (Verdict::Skip(_), _) => {}
            (_, Some(Fault::Silent(_) | Fault::Unreachable { .. })) => self.silent += 1,
            _ => self.silent = 0,
        }
        Case {
            board: None,
            stage: None,
            id: transcript.id(),
            title: transcript.title.clone(),
            about: transcript.about.clone(),
            clauses: Vec::new(),
            verdict,
            expected: None,
            exchanges,
            time: started.elapsed(),
        }
    }

    async fn run(&mut self, transcript: &Transcript, exchanges: &mut Exchanges) -> Result<(), Stop> {
        if self.silent >= GIVE_UP {
            return Err(Stop::Skip(format!(
                "{NOT_PLAYED}the target left the last {GIVE_UP} transcripts unanswered"
            )));
        }
        self.check_needs(transcript)?;
        // a limit that is the point of a transcript is not stretched
        let factor = if transcript.tests_deadline {
            1.0
        } else {
            self.deadline_factor
        };
        let limits = Limits::scaled(factor);
        if !transcript.needs.tools.is_empty() {
            self.check_tools(transcript, limits).await?;
        }
        let mut client = Client::open(&self.target, transcript.revision, limits)
            .map_err(|fault| self.stop("start", fault, None))?;
        let played = self
            .steps(transcript, &mut client, limits, factor, exchanges)
            .await;
        client.close().await;
        played
    }

    async fn steps(
        &mut self,
        transcript: &Transcript,
        client: &mut Client,
        limits: Limits,
        factor: f64,
        exchanges: &mut Exchanges,
    ) -> Result<(), Stop> {
        if transcript.opens_with_handshake() {
            self.handshake(client, exchanges).await?;
        }
        let mut captures = Captures::default();
        for step in &transcript.steps {
            self.began = Instant::now();
            let mut scene = Scene {
                factor,
                step: &step.name,
                client: &mut *client,
                captures: &mut captures,
                exchanges,
            };
            match &step.action {
                Action::Wait(time) => sleep(*time).await,
                Action::Exchange { send, expect } => self.exchange(&mut scene, send, expect).await?,
                Action::Together(pairs) => self.together(&mut scene, pairs, limits).await?,
                Action::Until {
                    send,
                    until,
                    deadline,
                    every,
                } => {
                    let deadline = deadline.mul_f64(factor);
                    self.until(&mut scene, send, until, deadline, *every).await?;
                }
            }
        }
        Ok(())
    }

    /// The conditions that need no exchange.
    fn check_needs(&self, transcript: &Transcript) -> Result<(), Stop> {
        let skip = |reason: String| Err(Stop::Skip(reason));
        let transport = self.target.transport();
        if let Some(needed) = transcript.needs.transport.filter(|needed| *needed != transport) {
            return skip(format!("needs transport {needed}, the target has {transport}"));
        }
        if let Some(what) = transcript.http_only().filter(|_| transport != "http") {
            return skip(format!("uses {what}, which only HTTP has"));
        }
        if let Target::Http(endpoint) = &self.target
            && endpoint.access.has_credentials()
            && transcript.has_raw()
        {
            return skip("uses raw, which carries no credentials".to_owned());
        }
        match (&transcript.needs.contract, &self.known.contract) {
            (Some(needed), theirs) if theirs.as_ref() != Some(needed) => {
                return skip(format!(
                    "needs contract {needed}, which the target is not known to keep"
                ));
            }
            (_, Some(_)) => return Ok(()),
            _ => {}
        }
        if self.known.revisions.contains(&transcript.revision) {
            return Ok(());
        }
        skip(format!("the target does not speak {}", transcript.revision))
    }

    async fn check_tools(&mut self, transcript: &Transcript, limits: Limits) -> Result<(), Stop> {
        let revision = transcript.revision;
        if !self.tools.contains_key(&revision) {
            let names = self
                .list_tools(revision, limits)
                .await
                .map_err(|error| match error {
                    ClientError::Rpc { code: -32601, .. } => {
                        Stop::Skip("the target offers no tools".to_owned())
                    }
                    error => self.stop_for("list the tools, for needs.tools", error),
                })?;
            self.tools.insert(revision, names);
        }
        let offered = self.tools.get(&revision).map(Vec::as_slice).unwrap_or_default();
        match transcript
            .needs
            .tools
            .iter()
            .find(|needed| !offered.contains(needed))
        {
            Some(missing) => Err(Stop::Skip(format!("the target has no tool {missing:?}"))),
            None => Ok(()),
        }
    }

    async fn list_tools(&self, revision: Revision, limits: Limits) -> Result<Vec<String>, ClientError> {
        let mut client =
            Client::open(&self.target, revision, limits).map_err(|fault| ClientError::Fault {
                method: "tools/list".to_owned(),
                fault,
                exchange: Box::default(),
            })?;
        let listed = async {
            if revision.era() == Era::Legacy {
                client.initialize().await?;
            }
            client.tools().await
        }
        .await;
        client.close().await;
        Ok(listed?
            .iter()
            .filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned))
            .collect())
    }

    async fn handshake(&mut self, client: &mut Client, exchanges: &mut Exchanges) -> Result<(), Stop> {
        let step = "handshake";
        let revision = client.dress.revision;
        let (result, done) = client
            .initialize()
            .await
            .map_err(|error| self.stop_for(step, error))?;
        self.answered = true;
        exchanges.extend(done.iter().map(|exchange| (step.to_owned(), exchange.clone())));
        let asked = json!({"jsonrpc": "2.0", "method": "initialize"});
        let question = Question {
            message: Some(&asked),
            revision,
        };
        if let Some(exchange) = done.first() {
            self.judge(
                step,
                &Expect::default(),
                question,
                &Captures::default(),
                exchange,
                0,
            )?;
        }
        let version = result
            .get("protocolVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if version == revision.as_str() {
            return Ok(());
        }
        let reason = format!("asked for {revision}, the target answered with {version:?}");
        match &self.known.contract {
            None => Err(Stop::Skip(reason)),
            Some(contract) => {
                let reason = format!("{reason}; contract {contract} has {revision}");
                Err(Stop::Fail(Box::new(Finding::plain(
                    step,
                    reason,
                    done.into_iter().next(),
                ))))
            }
        }
    }

    async fn exchange(&mut self, scene: &mut Scene<'_>, send: &Send, expect: &[Expect]) -> Result<(), Stop> {
        if let (Content::Raw(pieces), Wire::Http(wire)) = (&send.content, &mut scene.client.wire) {
            let question = Question {
                message: None,
                revision: scene.client.dress.revision,
            };
            let (pieces, methods) = prepare::raw(pieces, expect.len(), wire.endpoint(), scene.captures);
            let wanted = expect.last().and_then(|expect| expect.closed);
            let wait = wanted.map(|closes| {
                if closes {
                    CLOSES_WITHIN.mul_f64(scene.factor)
                } else {
                    STAYS_OPEN
                }
            });
            let (exchange, closed) = wire.raw(&pieces, &methods, wait).await;
            self.keep(scene, &exchange)?;
            for (index, expect) in expect.iter().enumerate() {
                let captured = self.judge(scene.step, expect, question, scene.captures, &exchange, index)?;
                scene.captures.extend(captured);
            }
            if closed != wanted {
                let reason = match (wanted, wait) {
                    (Some(true), Some(wait)) => {
                        format!("the server left the connection open for {}", seconds(&wait))
                    }
                    _ => "the server closed the connection, which should stay open".to_owned(),
                };
                return Err(Stop::Fail(Box::new(Finding::plain(
                    scene.step,
                    reason,
                    Some(exchange),
                ))));
            }
            return Ok(());
        }
        let Some(expect) = expect.first() else {
            return Ok(());
        };
        let prepared = prepare::message(send, &scene.client.dress, scene.captures);
        let exchange = once(scene, send, &prepared, expect).await;
        self.keep(scene, &exchange)?;
        let captured = self.judge(
            scene.step,
            expect,
            Question::of(&prepared),
            scene.captures,
            &exchange,
            0,
        )?;
        scene.captures.extend(captured);
        Ok(())
    }

    async fn together(
        &mut self,
        scene: &mut Scene<'_>,
        pairs: &[(Send, Expect)],
        limits: Limits,
    ) -> Result<(), Stop> {
        let dress = scene.client.dress.clone();
        let prepared: Vec<_> = pairs
            .iter()
            .map(|(send, _)| prepare::message(send, &dress, scene.captures))
            .collect();
        let exchanges = match &mut scene.client.wire {
            Wire::Stdio(wire) => {
                let lines: Vec<_> = prepared.iter().map(|prepared| prepared.body.clone()).collect();
                wire.together(&lines).await
            }
            Wire::Http(wire) => {
                let mut tasks = JoinSet::new();
                for (index, ((send, _), prepared)) in pairs.iter().zip(&prepared).enumerate() {
                    let request = prepare::http(send, prepared, &dress, wire.endpoint(), scene.captures);
                    let mut wire = HttpWire::new(wire.endpoint().clone(), limits);
                    tasks.spawn(async move { (index, wire.exchange(&request).await) });
                }
                let mut exchanges = tasks.join_all().await;
                exchanges.sort_by_key(|(index, _)| *index);
                exchanges.into_iter().map(|(_, exchange)| exchange).collect()
            }
        };
        let mut captured = Captures::default();
        for ((exchange, prepared), (_, expect)) in exchanges.iter().zip(&prepared).zip(pairs) {
            self.keep(scene, exchange)?;
            let question = Question::of(prepared);
            captured.extend(self.judge(scene.step, expect, question, scene.captures, exchange, 0)?);
        }
        scene.captures.extend(captured);
        Ok(())
    }

    async fn until(
        &mut self,
        scene: &mut Scene<'_>,
        send: &Send,
        until: &Expect,
        deadline: Duration,
        every: Duration,
    ) -> Result<(), Stop> {
        let end = Instant::now() + deadline;
        loop {
            self.began = Instant::now();
            let next = self.began + every;
            let prepared = prepare::message(send, &scene.client.dress, scene.captures);
            let exchange = once(scene, send, &prepared, until).await;
            self.keep(scene, &exchange)?;
            let question = Question::of(&prepared);
            // what is not well formed is not passed over
            self.judge(
                scene.step,
                &Expect::default(),
                question,
                scene.captures,
                &exchange,
                0,
            )?;
            match self.judge(scene.step, until, question, scene.captures, &exchange, 0) {
                Ok(captured) => {
                    scene.captures.extend(captured);
                    return Ok(());
                }
                Err(Stop::Fail(mut finding)) if Instant::now() >= end => {
                    finding.reason = format!(
                        "not answered as expected within {}; the last answer:",
                        seconds(&deadline)
                    );
                    return Err(Stop::Fail(finding));
                }
                Err(_) => sleep_until(next.min(end).into()).await,
            }
        }
    }

    /// Keeps an exchange as evidence; a fault in it ends the transcript.
    fn keep(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) -> Result<(), Stop> {
        scene.exchanges.push((scene.step.to_owned(), exchange.clone()));
        scene.client.note_sessions(exchange);
        self.answered |= !exchange.received.is_empty();
        match exchange.fault.clone() {
            Some(fault) => Err(self.stop(scene.step, fault, Some(exchange.clone()))),
            None => Ok(()),
        }
    }

    /// Judges one reply of an exchange; gives what it captured.
    fn judge(
        &mut self,
        step: &str,
        expect: &Expect,
        question: Question<'_>,
        captures: &Captures,
        exchange: &Exchange,
        index: usize,
    ) -> Result<Captures, Stop> {
        let fail = |finding| Err(Stop::Fail(Box::new(finding)));
        let Some(reply) = exchange.replies.get(index) else {
            return fail(Finding::plain(
                step,
                format!("answer {} never came", index + 1),
                Some(exchange.clone()),
            ));
        };
        let http = self.target.transport() == "http";
        let shapes = self.shapes(question.revision)?;
        let judge::Verdict {
            mismatches,
            expected,
            got,
            captured,
        } = judge(
            expect,
            Asked {
                message: question.message,
                http,
            },
            reply,
            shapes,
            captures,
        );
        if mismatches.is_empty() {
            return Ok(captured);
        }
        let which = if exchange.replies.len() > 1 {
            format!(" to request {}", index + 1)
        } else {
            String::new()
        };
        let reason = format!("the answer{which} is not as expected");
        fail(Finding {
            mismatches,
            compared: expected.zip(got),
            ..Finding::plain(step, reason, Some(exchange.clone()))
        })
    }

    fn shapes(&mut self, revision: Revision) -> Result<&Shapes, Stop> {
        use std::collections::btree_map::Entry;
        match self.shapes.entry(revision) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let shapes = Shapes::of(revision).map_err(|error| Stop::Infrastructure(error.to_string()))?;
                Ok(entry.insert(shapes))
            }
        }
    }

    /// A target that could never be reached is nobody's failure; one that was there and is gone failed.
    fn stop(&self, step: &str, fault: Fault, exchange: Option<Exchange>) -> Stop {
        let unreachable = matches!(fault, Fault::Unreachable { .. });
        if unreachable && !self.answered {
            return Stop::Infrastructure(fault.to_string());
        }
        let reason = if unreachable {
            format!("the target stopped answering: {fault}")
        } else {
            fault.to_string()
        };
        Stop::Fail(Box::new(Finding::plain(step, reason, exchange)))
    }

    fn stop_for(&self, step: &str, error: ClientError) -> Stop {
        match error {
            ClientError::Fault { fault, exchange, .. } => self.stop(step, fault, Some(*exchange)),
            other => Stop::Fail(Box::new(Finding::plain(
                step,
                other.to_string(),
                Some(other.exchange().clone()),
            ))),
        }
    }
}

/// What was sent, as far as an answer is judged by it.
#[derive(Clone, Copy)]
struct Question<'a> {
    message: Option<&'a Value>,
    revision: Revision,
}

impl<'a> Question<'a> {
    fn of(prepared: &'a Prepared) -> Self {
        Self {
            message: prepared.message.as_ref(),
            revision: prepared.revision,
        }
    }
}

/// Where a step is played.
struct Scene<'a> {
    factor: f64,
    step: &'a str,
    client: &'a mut Client,
    captures: &'a mut Captures,
    exchanges: &'a mut Exchanges,
}

/// One ordinary exchange.
async fn once(scene: &mut Scene<'_>, send: &Send, prepared: &Prepared, expect: &Expect) -> Exchange {
    match &mut scene.client.wire {
        Wire::Http(wire) => {
            let request = prepare::http(
                send,
                prepared,
                &scene.client.dress,
                wire.endpoint(),
                scene.captures,
            );
            wire.exchange(&request).await
        }
        Wire::Stdio(wire) => wire.exchange(&prepared.body, !expect.wants_silence()).await,
    }
}
