//! Where a check talks to the server and notes what it finds.

use crate::check::Check;
use crate::expect;
use crate::log::Log;
use crate::mdns::Seen;
use crate::offer::{Offer, Tool};
use crate::verdict::{Finding, fails};
use mcp_hil_harness::access::Access;
use mcp_hil_harness::client::{Client, ClientError, Exchange, Limits, Watch, Wire, compose};
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::http::{Answer, Piece, Request};
use mcp_hil_harness::message;
use mcp_hil_harness::revision::{Era, Revision};
use mcp_hil_harness::target::{Endpoint, Target};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Why a check ends before its end.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The server does not offer what the check is about; why.
    Skip(String),
    /// There is nobody to talk to.
    Unreachable(String),
    /// What was found makes the rest pointless.
    Found,
}

/// What all checks of one revision share.
#[derive(Debug)]
pub struct Shared {
    /// The server.
    pub target: Target,
    /// The revision it is asked in.
    pub revision: Revision,
    /// Time limits.
    pub limits: Limits,
    /// What it offers.
    pub offer: Offer,
    /// Tools that the user lets us call besides those that say they change nothing.
    pub allowed: Vec<String>,
    /// The interface on which mDNS is checked.
    pub interface: Option<String>,
    /// What mDNS checks know of the board.
    pub seen: Rc<Seen>,
    /// Seed of generated arguments.
    pub seed: u64,
    /// Conversations that are open and in order, to be used again.
    pub idle: RefCell<Vec<Client>>,
    /// The last id that was used.
    pub ids: Cell<u64>,
    /// The exchanges of the run.
    pub log: RefCell<Log>,
}

/// A check's own place at the server: a conversation that is opened when it is first needed.
#[derive(Debug)]
pub struct Lab {
    /// What is common to the checks of this revision.
    pub shared: Rc<Shared>,
    check: Check,
    client: Option<Client>,
    spoiled: bool,
    reached: bool,
    /// What was found so far.
    pub(crate) findings: Vec<Finding>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Lab {
    pub(crate) fn new(shared: Rc<Shared>, check: Check) -> Self {
        Self {
            shared,
            check,
            client: None,
            spoiled: false,
            reached: false,
            findings: Vec::new(),
        }
    }

    /// The revision asked in.
    pub fn revision(&self) -> Revision {
        self.shared.revision
    }

    /// Its era.
    pub fn era(&self) -> Era {
        self.shared.revision.era()
    }

    /// What the server offers.
    pub fn offer(&self) -> &Offer {
        &self.shared.offer
    }

    /// The endpoint, where the target has one.
    ///
    /// # Errors
    /// [`Stop::Skip`] over standard streams.
    pub fn endpoint(&self) -> Result<&Endpoint, Stop> {
        match &self.shared.target {
            Target::Http(endpoint) => Ok(endpoint),
            Target::Stdio(_) => Err(Stop::Skip("this is about HTTP".to_owned())),
        }
    }

    /// Notes that a clause is broken, with the exchanges that show it.
    pub fn found(&mut self, row: &'static str, what: impl Into<String>, exchanges: &[&Exchange]) {
        debug_assert!(
            self.check.rows.contains(&row),
            "{} does not name {row}",
            self.check.name
        );
        let access = match &self.shared.target {
            Target::Http(endpoint) => endpoint.access.clone(),
            Target::Stdio(_) => Access::default(),
        };
        // a server may repeat what it was sent
        let what = access.redact(&what.into());
        let exchanges = exchanges.iter().map(|exchange| exchange.evidence(&access));
        let exchanges = exchanges.collect();
        self.findings.push(Finding {
            row,
            what,
            exchanges,
            fails: fails(&self.check, row),
        });
    }

    /// Notes a finding if something was judged wrong; gives what was judged right.
    pub fn note<T>(
        &mut self,
        row: &'static str,
        judged: Result<T, String>,
        exchange: &Exchange,
    ) -> Option<T> {
        judged.map_err(|what| self.found(row, what, &[exchange])).ok()
    }

    /// As [`Self::note`], for what the rest of the check needs.
    ///
    /// # Errors
    /// [`Stop::Found`] after noting the finding.
    pub fn must<T>(
        &mut self,
        row: &'static str,
        judged: Result<T, String>,
        exchange: &Exchange,
    ) -> Result<T, Stop> {
        self.note(row, judged, exchange).ok_or(Stop::Found)
    }

    /// Skips the rest of a check unless a capability is declared.
    ///
    /// # Errors
    /// [`Stop::Skip`].
    pub fn needs(&self, capability: &str) -> Result<(), Stop> {
        if self.offer().has(capability) {
            Ok(())
        } else {
            Err(Stop::Skip(format!(
                "the server does not declare the capability {capability:?}"
            )))
        }
    }

    /// A tool that may be called: it says that it changes nothing, or the user named it.
    pub fn may_call(&self, tool: &Tool) -> bool {
        tool.is_read_only() || self.shared.allowed.contains(&tool.name)
    }

    /// The tools that may be called.
    ///
    /// # Errors
    /// [`Stop::Skip`] if there is none.
    pub fn callable(&self) -> Result<Vec<Tool>, Stop> {
        self.needs("tools")?;
        let tools: Vec<Tool> = self
            .offer()
            .tools
            .iter()
            .filter(|tool| self.may_call(tool))
            .cloned()
            .collect();
        if tools.is_empty() {
            let reason = "no tool says that it only reads (annotations.readOnlyHint); name one that may be called with --allow-tool";
            return Err(Stop::Skip(reason.to_owned()));
        }
        Ok(tools)
    }

    /// A request that every server of this revision answers with a result, and that changes nothing.
    pub fn harmless(&self) -> &'static str {
        match self.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        }
    }

    /// An id that was not used before.
    pub fn fresh_id(&self) -> String {
        self.shared.ids.set(self.shared.ids.get() + 1);
        format!("check-{}", self.shared.ids.get())
    }

    /// A well-formed request with an id of its own and what this revision's requests must carry. `params` may be null: left out.
    pub fn request(&self, method: &str, params: Value) -> Value {
        let mut request = json!({"jsonrpc": "2.0", "id": self.fresh_id(), "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        compose::Dress::new(self.revision()).add_meta(&mut request);
        request
    }

    /// The conversation of this check; the handshake is done.
    ///
    /// # Errors
    /// [`Stop::Unreachable`], or [`Stop::Skip`] where the handshake fails, which a check of its own judges.
    pub async fn client(&mut self) -> Result<&mut Client, Stop> {
        if self.client.is_none() {
            let idle = self.shared.idle.borrow_mut().pop();
            self.client = Some(match idle {
                Some(client) => client,
                None => open(&self.shared, self.shared.limits).await?,
            });
        }
        self.client.as_mut().ok_or(Stop::Found)
    }

    /// A conversation in which nothing was said yet, not even a handshake. The caller closes it.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub fn stranger(&self) -> Result<Client, Stop> {
        Client::open(&self.shared.target, self.revision(), self.shared.limits)
            .map_err(|fault| Stop::Unreachable(fault.to_string()))
    }

    /// Sends a message in a conversation of the caller's, as [`Self::send`] does in the check's own.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn send_as(&mut self, client: &mut Client, message: &Value) -> Result<Exchange, Stop> {
        let exchange = client.send(message).await;
        self.saw(exchange)
    }

    /// Every exchange of the run so far, for checks that look back.
    pub fn log(&self) -> Vec<Rc<Exchange>> {
        self.shared.log.borrow().kept().to_vec()
    }

    /// A second conversation beside that of the check, with the handshake done. The caller closes it.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn another(&self) -> Result<Client, Stop> {
        open(&self.shared, self.shared.limits).await
    }

    /// As [`Self::another`], with time limits that many times as long.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn another_with_patience(&self, times: u32) -> Result<Client, Stop> {
        let Limits {
            connect,
            answer,
            quiet,
        } = self.shared.limits;
        let limits = Limits {
            connect,
            answer: answer * times,
            quiet,
        };
        open(&self.shared, limits).await
    }

    /// Drops the connection of this check's conversation.
    pub fn hang_up(&mut self) {
        self.client = None;
    }

    /// Says that the conversation must not be used by another check.
    pub fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// Sends a request and gives what came back, whatever it is.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Exchange, Stop> {
        let request = self.request(method, params);
        self.send(&request).await
    }

    /// Sends a message as it stands, in the headers of this revision. Over standard streams nothing is waited for after
    /// a notification.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn send(&mut self, message: &Value) -> Result<Exchange, Stop> {
        let asks = message.get("id").is_some() && message::method(message).is_some();
        if asks && !is_well_formed(message) && matches!(self.shared.target, Target::Stdio(_)) {
            return self.send_bytes(message.to_string().as_bytes(), true).await;
        }
        let exchange = self.client().await?.send(message).await;
        self.saw(exchange)
    }

    /// Sends a body that need not be a message: a POST with the headers of this revision, or a line. With
    /// `wants_answer` an answer is waited for; without, over standard streams, only a short while.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn send_bytes(&mut self, body: &[u8], wants_answer: bool) -> Result<Exchange, Stop> {
        let message = serde_json::from_slice::<Value>(body).ok();
        let next = self.request(self.harmless(), Value::Null);
        let client = self.client().await?;
        let exchange = match &mut client.wire {
            Wire::Http(wire) => {
                let request = compose::post(wire.endpoint(), &client.dress, message.as_ref(), body.to_vec());
                wire.exchange(&request).await
            }
            Wire::Stdio(wire) if wants_answer && !message.as_ref().is_some_and(is_well_formed) => {
                wire.exchange_before(body, &next).await
            }
            Wire::Stdio(wire) => wire.exchange(body, wants_answer).await,
        };
        self.saw(exchange)
    }

    /// Sends bytes in the place of a message: with its headers over HTTP, as a line over standard streams.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn send_instead(&mut self, message: &Value, body: &[u8]) -> Result<Exchange, Stop> {
        if matches!(self.shared.target, Target::Stdio(_)) {
            return self.send_bytes(body, true).await;
        }
        let mut request = self.post(message).await?;
        request.body = body.to_vec();
        self.deliver(&request).await
    }

    /// The POST that carries a message, to be changed and given to [`Self::deliver`].
    ///
    /// # Errors
    /// [`Stop::Skip`] over standard streams.
    pub async fn post(&mut self, message: &Value) -> Result<Request, Stop> {
        let endpoint = self.endpoint()?.clone();
        let client = self.client().await?;
        Ok(compose::post(
            &endpoint,
            &client.dress,
            Some(message),
            message.to_string().into_bytes(),
        ))
    }

    /// Sends an HTTP request as it stands.
    ///
    /// # Errors
    /// [`Stop::Unreachable`], or [`Stop::Skip`] over standard streams.
    pub async fn deliver(&mut self, request: &Request) -> Result<Exchange, Stop> {
        self.endpoint()?;
        let exchange = match &mut self.client().await?.wire {
            Wire::Http(wire) => wire.exchange(request).await,
            Wire::Stdio(_) => return Err(Stop::Found),
        };
        self.saw(exchange)
    }

    /// Sends an HTTP request in a conversation of the caller's.
    ///
    /// # Errors
    /// As [`Self::deliver`].
    pub async fn deliver_as(&mut self, client: &mut Client, request: &Request) -> Result<Exchange, Stop> {
        self.endpoint()?;
        let exchange = match &mut client.wire {
            Wire::Http(wire) => wire.exchange(request).await,
            Wire::Stdio(_) => return Err(Stop::Found),
        };
        client.note_sessions(&exchange);
        self.saw(exchange)
    }

    /// Sends an HTTP request over a connection of its own whose answer may stay open, and reads to the end of its head. The
    /// answer is read on with [`Watch::more`]; none if there is no connection.
    ///
    /// # Errors
    /// As [`Self::deliver`].
    pub async fn watch(&mut self, request: &Request) -> Result<(Option<Watch>, Exchange), Stop> {
        let endpoint = self.endpoint()?.clone();
        let (watch, exchange) = match Watch::open(&endpoint, request, self.shared.limits).await {
            Ok((watch, exchange)) => (Some(watch), exchange),
            Err(fault) => {
                let fault = Some(fault);
                (
                    None,
                    Exchange {
                        fault,
                        ..Exchange::default()
                    },
                )
            }
        };
        Ok((watch, self.saw(exchange)?))
    }

    /// Reads on in an answer that is open; what came goes into the log.
    pub async fn watch_on(
        &self,
        watch: &mut Watch,
        limit: Duration,
        enough: impl Fn(&Answer) -> bool,
    ) -> Exchange {
        let exchange = watch.more(limit, enough).await;
        self.shared.log.borrow_mut().add(&exchange);
        exchange
    }

    /// Writes pieces to standard input as they stand and reads this many responses.
    ///
    /// # Errors
    /// [`Stop::Unreachable`], or [`Stop::Skip`] over HTTP.
    pub async fn write_raw(&mut self, pieces: &[Piece], answers: usize) -> Result<Exchange, Stop> {
        let exchange = match &mut self.client().await?.wire {
            Wire::Stdio(wire) => wire.raw(pieces, answers).await,
            Wire::Http(_) => return Err(Stop::Skip("this is about standard streams".to_owned())),
        };
        self.saw(exchange)
    }

    /// Sends bytes over a connection of their own and reads one answer for each of `methods`. With `closing` also says
    /// whether the server closed within that time after the last.
    ///
    /// # Errors
    /// [`Stop::Unreachable`], or [`Stop::Skip`] over standard streams.
    pub async fn deliver_raw(
        &mut self,
        pieces: &[Piece],
        methods: &[&str],
        closing: Option<Duration>,
    ) -> Result<(Exchange, Option<bool>), Stop> {
        self.endpoint()?;
        let methods: Vec<String> = methods.iter().map(|method| (*method).to_owned()).collect();
        let (exchange, closed) = match &mut self.client().await?.wire {
            Wire::Http(wire) => wire.raw(pieces, &methods, closing).await,
            Wire::Stdio(_) => return Err(Stop::Found),
        };
        if exchange.replies.iter().any(|reply| reply.resumes) {
            let reason = "the server has the rest of its answers asked for, which is not done over a connection of its own";
            return Err(Stop::Skip(reason.to_owned()));
        }
        Ok((self.saw(exchange)?, closed))
    }

    /// Whether the server still serves: the harmless request, in a conversation of its own, has a result.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub async fn still_serves(&mut self) -> Result<Result<(), String>, Stop> {
        let exchange = self.ask(self.harmless(), Value::Null).await?;
        Ok(expect::result(&exchange).map(|_| ()))
    }

    /// Takes note of an exchange that the caller made itself. A server that was reached in this check and is gone now has
    /// broken something: that is an exchange with a fault.
    ///
    /// # Errors
    /// [`Stop::Unreachable`].
    pub fn saw(&mut self, exchange: Exchange) -> Result<Exchange, Stop> {
        self.shared.log.borrow_mut().add(&exchange);
        match &exchange.fault {
            Some(Fault::Unreachable { .. }) if !self.reached => Err(Stop::Unreachable(describe(&exchange))),
            Some(_) => {
                self.spoiled = true;
                Ok(exchange)
            }
            None => {
                self.reached = true;
                Ok(exchange)
            }
        }
    }

    /// Gives the conversation back for the next check.
    pub(crate) async fn leave(&mut self) {
        if let Some(client) = self.client.take() {
            if self.spoiled {
                client.close().await;
            } else {
                self.shared.idle.borrow_mut().push(client);
            }
        }
    }
}

fn describe(exchange: &Exchange) -> String {
    exchange
        .fault
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Whether a message is a request or a notification by its members, whatever its method and its parameters say.
fn is_well_formed(message: &Value) -> bool {
    let has_id = match message.get("id") {
        None => true,
        Some(id) => id.is_string() || id.is_i64() || id.is_u64(),
    };
    let has_params = message.get("params").is_none_or(Value::is_object);
    message["jsonrpc"] == "2.0" && message["method"].is_string() && has_id && has_params
}

async fn open(shared: &Shared, limits: Limits) -> Result<Client, Stop> {
    let mut client = Client::open(&shared.target, shared.revision, limits)
        .map_err(|fault| Stop::Unreachable(fault.to_string()))?;
    if client.era() == Era::Legacy {
        match client.initialize().await {
            Ok(_) => {}
            Err(error) if error.is_unreachable() => return Err(Stop::Unreachable(error.to_string())),
            Err(error) => return Err(Stop::Skip(format!("the handshake fails: {error}"))),
        }
    } else if matches!(shared.target, Target::Stdio(_)) {
        // a process that was just started has more time for its first answer, which is to be no check's
        let discovered = client.exchange("server/discover", json!({})).await;
        if let Some(error) = discovered.err().filter(ClientError::is_unreachable) {
            return Err(Stop::Unreachable(error.to_string()));
        }
    }
    Ok(client)
}
