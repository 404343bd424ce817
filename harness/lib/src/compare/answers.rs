//! The answers of a play, each with what was expected there.

use crate::client::{Exchange, Reply};
use crate::report::Case;
use crate::transcript::{Action, Expect, Transcript};

/// One answer with what was expected there.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Name of the step.
    pub step: &'a str,
    /// What was expected.
    pub expect: &'a Expect,
    /// What came.
    pub reply: &'a Reply,
}

/// The answers in order, without those of the handshake; of a step that asks again and again only the last. A play that
/// ended early has fewer.
pub fn answers<'a>(transcript: &'a Transcript, played: &'a Case) -> Vec<Answered<'a>> {
    let mut exchanges = played
        .exchanges
        .iter()
        .skip_while(|(step, _)| step == "handshake")
        .peekable();
    let mut answers = Vec::new();
    for step in &transcript.steps {
        let mut add = |expects: &mut dyn Iterator<Item = &'a Expect>, exchange: &'a Exchange| {
            for (expect, reply) in expects.zip(&exchange.replies) {
                answers.push(Answered {
                    step: &step.name,
                    expect,
                    reply,
                });
            }
        };
        match &step.action {
            Action::Wait(_) => {}
            Action::Exchange { expect, .. } => {
                if let Some((_, exchange)) = exchanges.next() {
                    add(&mut expect.iter(), exchange);
                }
            }
            Action::Together(pairs) => {
                for ((_, expect), (_, exchange)) in pairs.iter().zip(exchanges.by_ref()) {
                    add(&mut std::iter::once(expect), exchange);
                }
            }
            Action::Until { until, .. } => {
                let mut last = exchanges.next();
                while let Some(next) = exchanges.next_if(|(name, _)| *name == step.name) {
                    last = Some(next);
                }
                if let Some((_, exchange)) = last {
                    add(&mut std::iter::once(until.as_ref()), exchange);
                }
            }
        }
    }
    answers
}
