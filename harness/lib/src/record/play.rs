//! Plays a script once, on a conversation of its own.

use super::{RecordError, Script};
use crate::client::mirror::Mirror;
use crate::client::{Client, ClientError, Exchange, Limits, Reply, Wire};
use crate::judge::{Asked, judge};
use crate::message;
use crate::prepare::{self, Prepared};
use crate::revision::Era;
use crate::shape::Shapes;
use crate::target::Target;
use crate::transcript::{Action, Captures, Send};
use serde_json::Value;
use std::time::Instant;
use tokio::time::sleep;

/// What came.
pub struct Play {
    pub steps: Vec<Seen>,
}

/// What came to one step.
#[derive(Default)]
pub struct Seen {
    /// The answer; none for a pause.
    pub reply: Option<Reply>,
    /// What was captured before.
    pub before: Captures,
    /// Headers that mirror arguments.
    pub mirrored: Option<Vec<(String, String)>>,
}

pub async fn play(
    target: &Target,
    script: &Script,
    limits: Limits,
    factor: f64,
) -> Result<Play, RecordError> {
    let revision = script.draft.revision;
    let mut client = Client::open(target, revision, limits).map_err(|fault| RecordError::Fault {
        step: "start".to_owned(),
        fault,
    })?;
    let played = steps(target, script, &mut client, factor).await;
    client.close().await;
    played
}

async fn steps(
    target: &Target,
    script: &Script,
    client: &mut Client,
    factor: f64,
) -> Result<Play, RecordError> {
    let revision = script.draft.revision;
    if script.draft.opens_with_handshake() {
        let (result, _) = client.initialize().await?;
        let got = result
            .get("protocolVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if got != revision.as_str() {
            return Err(RecordError::Revision {
                asked: revision.to_string(),
                got: got.to_owned(),
            });
        }
    }
    if revision.era() == Era::Modern && matches!(target, Target::Http(_)) && calls_tools(script) {
        learn(client).await?;
    }
    let mut captures = Captures::default();
    let mut seen = Vec::new();
    for (step, draft) in script.steps.iter().zip(&script.draft.steps) {
        let mut now = Seen {
            before: captures.clone(),
            ..Seen::default()
        };
        match &draft.action {
            Action::Wait(time) => sleep(*time).await,
            Action::Until {
                send,
                until,
                deadline,
                every,
            } => {
                let end = Instant::now() + deadline.mul_f64(factor);
                let shapes = Shapes::of(revision).ok();
                loop {
                    let (prepared, reply) = exchange(client, send, &captures, &step.name).await?;
                    let asked = Asked {
                        message: prepared.message.as_ref(),
                        http: matches!(target, Target::Http(_)),
                    };
                    let Some(shapes) = &shapes else { break };
                    let verdict = judge(until, asked, &reply, shapes, &captures);
                    if verdict.mismatches.is_empty() {
                        captures.extend(verdict.captured);
                        break;
                    }
                    if Instant::now() >= end {
                        return Err(RecordError::Until {
                            step: step.name.clone(),
                            answer: reply.message.unwrap_or_default().to_string(),
                        });
                    }
                    sleep(*every).await;
                }
            }
            Action::Exchange { send, .. } => {
                let (prepared, reply) = exchange(client, send, &captures, &step.name).await?;
                now.mirrored = prepared
                    .message
                    .as_ref()
                    .map(|message| client.dress.mirrored(message));
                for (name, pointer) in &step.capture {
                    let pointer = pointer.as_str().unwrap_or_default();
                    let answer = reply.message.clone().unwrap_or_default();
                    let Some(value) = answer.pointer(pointer) else {
                        return Err(RecordError::Capture {
                            step: step.name.clone(),
                            name: name.clone(),
                            pointer: pointer.to_owned(),
                            answer: answer.to_string(),
                        });
                    };
                    captures.insert(name, value.clone());
                }
                now.reply = Some(reply);
            }
            Action::Together(_) => {}
        }
        seen.push(now);
    }
    Ok(Play { steps: seen })
}

fn calls_tools(script: &Script) -> bool {
    let is_call = |step: &super::script::Step| {
        step.rest
            .get("send")
            .and_then(|send| send.pointer("/message/method"))
            == Some(&Value::from("tools/call"))
    };
    script.steps.iter().any(is_call)
}

/// Has the client mirror what the tools want mirrored; a tool whose annotations are invalid is called without.
async fn learn(client: &mut Client) -> Result<(), ClientError> {
    for tool in client.tools().await? {
        if let (Some(name), Ok(mirrors)) = (tool.get("name").and_then(Value::as_str), Mirror::all(&tool)) {
            client.dress.mirror(name, mirrors);
        }
    }
    Ok(())
}

async fn exchange(
    client: &mut Client,
    send: &Send,
    captures: &Captures,
    step: &str,
) -> Result<(Prepared, Reply), RecordError> {
    let prepared = prepare::message(send, &client.dress, captures);
    // a notification is not answered, and a message that can't be read should be
    let silent = prepared
        .message
        .as_ref()
        .is_some_and(|message| message.get("id").is_none() && message::method(message).is_some());
    let exchange = match &mut client.wire {
        Wire::Http(wire) => {
            let request = prepare::http(send, &prepared, &client.dress, wire.endpoint(), captures);
            wire.exchange(&request).await
        }
        Wire::Stdio(wire) => wire.exchange(&prepared.body, !silent).await,
    };
    client.note_sessions(&exchange);
    let Exchange { replies, fault, .. } = exchange;
    match (fault, replies.into_iter().next()) {
        (None, Some(reply)) => Ok((prepared, reply)),
        (fault, _) => Err(RecordError::Fault {
            step: step.to_owned(),
            fault: fault.unwrap_or(crate::fault::Fault::Silent(std::time::Duration::ZERO)),
        }),
    }
}
