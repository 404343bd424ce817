//! The opening of a run: what the server offers in a revision, and what is judged of one that can't be opened.

use crate::check::Check;
use crate::checks;
use crate::lab::{Lab, Shared, Stop};
use crate::log::Log;
use crate::offer::Offer;
use crate::run::{Options, RunError, judge, judged};
use crate::verdict::{Judged, Verdict};
use mcp_hil_harness::client::{Client, ClientError, Limits, Wire};
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::revision::{Era, Revision};
use mcp_hil_harness::target::Target;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Why a server could not be opened.
#[derive(Debug)]
pub struct Trouble {
    /// What came of it.
    pub error: ClientError,
    /// Something was there that answers, and breaks the protocol.
    pub answers: bool,
}

/// Whether what wrote a line that is no message writes an answer on a later one.
async fn answers_later(client: &mut Client, error: &ClientError) -> bool {
    match &mut client.wire {
        Wire::Stdio(wire) if is_no_message(error) => wire.answers_later().await,
        _ => false,
    }
}

/// Whether the opening broke at a line that is no message: that says nothing of the answer.
pub fn is_no_message(error: &ClientError) -> bool {
    matches!(error.exchange().fault, Some(Fault::NotAMessage(_)))
}

/// Finds out what the server offers in a revision, and why it could not be opened if so. What it does wrong here is judged
/// by checks of their own.
///
/// # Errors
/// [`RunError::Unreachable`].
pub async fn survey(
    target: &Target,
    revision: Revision,
    limits: Limits,
    options: &Options,
) -> Result<(Shared, Option<Trouble>), RunError> {
    let unreachable = |reason: String| RunError::Unreachable(reason);
    let mut client =
        Client::open(target, revision, limits).map_err(|fault| unreachable(fault.to_string()))?;
    let opened = match revision.era() {
        Era::Legacy => client.initialize().await,
        Era::Modern => client
            .exchange("server/discover", json!({}))
            .await
            .map(|exchange| {
                let result = exchange
                    .message()
                    .and_then(|message| message.get("result"))
                    .cloned();
                (result.unwrap_or(Value::Null), vec![exchange])
            }),
    };
    let (opening, exchanges, trouble) = match opened {
        Ok((opening, exchanges)) => (opening, exchanges, None),
        Err(error) if error.is_unreachable() => return Err(unreachable(error.to_string())),
        Err(error) => (Value::Null, vec![error.exchange().clone()], Some(error)),
    };
    let trouble = match trouble {
        Some(error) => Some(Trouble {
            answers: error.is_broken_answer() || answers_later(&mut client, &error).await,
            error,
        }),
        None => None,
    };
    let offer = Offer::ask(&mut client, opening, exchanges).await;
    let mut log = Log::default();
    for exchange in offer.opened.iter().chain(&offer.pages) {
        log.add(exchange);
    }
    // over standard streams a late answer would be taken for another
    let idle = if trouble.is_some() && matches!(target, Target::Stdio(_)) {
        client.close().await;
        Vec::new()
    } else {
        vec![client]
    };
    let shared = Shared {
        target: target.clone(),
        revision,
        limits,
        offer,
        allowed: options.allow_tools.clone(),
        interface: options.interface.clone(),
        seen: Rc::default(),
        seed: options.seed,
        idle: RefCell::new(idle),
        ids: Cell::new(0),
        log: RefCell::new(log),
    };
    Ok((shared, trouble))
}

/// Judges a server whose answer to the opening can't be used: that, and what else is wrong with the answer. Whatever needs a
/// conversation is skipped.
pub async fn judge_unopened(shared: Shared, error: &ClientError, options: &Options) -> Vec<Judged> {
    let shared = Rc::new(shared);
    let revision = shared.revision;
    let opening = match revision.era() {
        Era::Legacy => "lifecycle/handshake",
        Era::Modern => "lifecycle/discover",
    };
    let mut results = Vec::new();
    for check in checks::all().filter(|check| check.revisions.contains(&revision)) {
        let skipped = || {
            let reason = format!("the opening has no answer that can be used: {revision}/{opening} says why");
            judged(
                revision,
                check,
                Err(Stop::Skip(reason)),
                Vec::new(),
                Duration::ZERO,
            )
        };
        if check.name == opening && !is_no_message(error) {
            results.push(failed(&shared, check, error));
        } else if options.only.chooses(check, revision) && !check.is_once() {
            let looked = match check.looks_back {
                true => judge(&shared, check, shared.limits.answer).await,
                false => skipped(),
            };
            // of so little nothing can be said to be right
            let is_found = matches!(looked.verdict, Verdict::Fail | Verdict::Warn);
            results.push(if is_found { looked } else { skipped() });
        }
    }
    results
}

/// The check of the opening, failed.
fn failed(shared: &Rc<Shared>, check: &Check, error: &ClientError) -> Judged {
    let mut lab = Lab::new(Rc::clone(shared), *check);
    if let Some(row) = check.rows.first() {
        lab.found(row, error.to_string(), &[error.exchange()]);
    }
    let findings = std::mem::take(&mut lab.findings);
    judged(shared.revision, check, Err(Stop::Found), findings, Duration::ZERO)
}
