//! Applies a fault's hooks to values and counts what they changed. No I/O.

use crate::ask::{Ask, Memory};
use crate::fault::{Fault, Hooks};
use crate::reply::Reply;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault at work: what it remembers, and how often it changed something.
#[derive(Debug)]
pub(crate) struct Injector {
    pub(crate) fault: &'static Fault,
    pub(crate) memory: Arc<Memory>,
    changed: AtomicU64,
}

impl Injector {
    pub(crate) fn new(fault: &'static Fault) -> Self {
        Self {
            fault,
            memory: Arc::default(),
            changed: AtomicU64::new(0),
        }
    }

    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// The hooks for an exchange; none that is of another era.
    pub(crate) fn hooks(&self, ask: &Ask) -> Hooks {
        if self.fault.concerns(ask.era()) {
            self.fault.hooks
        } else {
            Hooks::default()
        }
    }

    pub(crate) fn count(&self) {
        self.count_if(true);
    }

    fn count_if(&self, changed: bool) -> bool {
        self.changed.fetch_add(u64::from(changed), Ordering::Relaxed);
        changed
    }

    /// The answer in the server's place.
    pub(crate) fn answer(&self, ask: &Ask) -> Option<Reply> {
        let reply = self.hooks(ask).answer?(ask);
        self.count_if(reply.is_some());
        reply
    }

    /// The answer to bytes that are no request.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Option<Reply> {
        let reply = self.fault.hooks.raw?(bytes);
        self.count_if(reply.is_some());
        reply
    }

    /// What the server is asked instead; none if that is the same.
    pub(crate) fn ask(&self, ask: &Ask) -> Option<Ask> {
        let hook = self.hooks(ask).ask?;
        let mut other = ask.clone();
        hook(&mut other);
        self.count_if(other.parts() != ask.parts()).then_some(other)
    }

    /// Whether a message of the server is rewritten, and to which ones.
    pub(crate) fn says(&self, ask: &Ask, message: &Value) -> Option<Vec<Value>> {
        if !message.is_object() {
            return None;
        }
        let hooks = self.hooks(ask);
        let mut rewritten = message.clone();
        if let Some(say) = hooks.say {
            say(ask, &mut rewritten);
        }
        let messages = match hooks.says {
            Some(says) => says(ask, rewritten),
            None => vec![rewritten],
        };
        self.count_if(messages.iter().ne([message])).then_some(messages)
    }

    /// Rewrites an HTTP answer; says whether anything is different.
    pub(crate) fn reply(&self, ask: &Ask, reply: &mut Reply) -> bool {
        let before = reply.clone();
        if let Ok(message) = serde_json::from_slice::<Value>(&reply.body)
            && let Some(messages) = self.says(ask, &message)
        {
            let texts: Vec<_> = messages.iter().map(Value::to_string).collect();
            reply.body = texts.join("\n").into_bytes();
        }
        let after_says = reply.clone();
        if let Some(hook) = self.hooks(ask).reply {
            hook(ask, reply);
            self.count_if(*reply != after_says);
        }
        *reply != before
    }

    /// The text that stands for one event of a stream; its blank line is in both.
    pub(crate) fn event(&self, ask: &Ask, text: &str) -> String {
        let mut out = match event_data(text).and_then(|data| serde_json::from_str(&data).ok()) {
            Some(message) => match self.says(ask, &message) {
                Some(messages) => messages.iter().map(|message| with_data(text, message)).collect(),
                None => text.to_owned(),
            },
            None => text.to_owned(),
        };
        if let Some(hook) = self.hooks(ask).event {
            let rewritten = hook(ask, &out);
            self.count_if(rewritten != out);
            out = rewritten;
        }
        out
    }

    /// The lines that stand for one line of the server over stdio.
    pub(crate) fn lines(&self, ask: &Ask, line: &str) -> Vec<String> {
        let mut lines = vec![line.to_owned()];
        if let Ok(message) = serde_json::from_str::<Value>(line)
            && let Some(messages) = self.says(ask, &message)
        {
            lines = messages.iter().map(Value::to_string).collect();
        }
        if let Some(hook) = self.hooks(ask).line {
            let rewritten: Vec<_> = lines.iter().map(|line| hook(ask, line)).collect();
            self.count_if(rewritten != lines);
            lines = rewritten;
        }
        lines
    }
}

/// The data of an event, its lines joined.
fn event_data(text: &str) -> Option<String> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let data: Vec<_> = data.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
    (!data.is_empty()).then(|| data.join("\n"))
}

/// The event with other data, its other fields kept.
fn with_data(text: &str, message: &Value) -> String {
    let others = text
        .lines()
        .filter(|line| !line.starts_with("data:") && !line.is_empty());
    let mut out: String = others.map(|line| format!("{line}\n")).collect();
    out.push_str(&format!("data: {message}\n\n"));
    out
}
