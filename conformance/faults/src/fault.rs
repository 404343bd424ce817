//! What a fault is: a name, the clause it breaks, and the hooks that break it.

use crate::ask::Ask;
use crate::mdns::{Heard, Said, Zone};
use crate::reply::Reply;
use mcp_hil_harness::revision::{Era, Revision};
use serde_json::Value;
use std::fmt;

/// How binding a clause is (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// MUST
    Must,
    /// MUST NOT
    MustNot,
    /// SHOULD
    Should,
    /// SHOULD NOT
    ShouldNot,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
        })
    }
}

/// Where a fault can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Streamable HTTP only.
    Http,
    /// stdio only.
    Stdio,
    /// HTTP or stdio.
    Any,
    /// mDNS only, where a board announces its endpoint.
    Mdns,
}

impl Transport {
    /// Whether a fault of this kind acts over `other`, which is not [`Self::Any`].
    pub fn includes(self, other: Self) -> bool {
        self == other || self == Self::Any && other != Self::Mdns
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
            Self::Any => "any",
            Self::Mdns => "mdns",
        })
    }
}

/// The revisions with a handshake that faults are listed for.
pub(crate) const LEGACY: &[Revision] = &[Revision::R2025_11_25];
/// The revisions without a handshake.
pub(crate) const MODERN: &[Revision] = &[Revision::R2026_07_28];
/// Both.
pub(crate) const BOTH: &[Revision] = &[Revision::R2025_11_25, Revision::R2026_07_28];

/// One way in which a server is broken, or for a legal variant in which it is merely unusual.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name, unique in the list.
    pub name: &'static str,
    /// What it does to the good server, in words.
    pub about: &'static str,
    /// The revisions whose exchanges it breaks.
    pub revisions: &'static [Revision],
    /// Area of the clause, as in `conformance/requirements.jsonl`.
    pub area: &'static str,
    /// Level of the clause; none for a legal variant.
    pub level: Option<Level>,
    /// Id of the clause it breaks, as in `conformance/requirements.jsonl`; empty for a legal variant.
    pub clause: &'static str,
    /// Where it can be injected.
    pub transport: Transport,
    /// Features the reference server needs for the fault to have something to act on, by their names.
    pub needs: &'static [&'static str],
    /// The public report that it is a sample of: its number in the project's list of faults seen in the field.
    pub case: Option<u8>,
    pub(crate) hooks: Hooks,
}

/// Answers bytes, if they are some that it answers.
type RawHook = fn(&[u8]) -> Option<Reply>;

/// What is done to an exchange. Each hook sees values; whether it changed any is found by comparing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hooks {
    /// Rewrites what the server is asked.
    pub(crate) ask: Option<fn(&mut Ask)>,
    /// Answers in the server's place.
    pub(crate) answer: Option<fn(&Ask) -> Option<Reply>>,
    /// Rewrites one message of the server.
    pub(crate) say: Option<fn(&Ask, &mut Value)>,
    /// Puts any number of messages in the place of one.
    pub(crate) says: Option<fn(&Ask, Value) -> Vec<Value>>,
    /// Rewrites an HTTP answer; of an event stream only the head.
    pub(crate) reply: Option<fn(&Ask, &mut Reply)>,
    /// Rewrites the text of one event of a stream, its blank line included.
    pub(crate) event: Option<fn(&Ask, &str) -> String>,
    /// Rewrites a line over stdio, without its end.
    pub(crate) line: Option<fn(&Ask, &str) -> String>,
    /// Answers bytes that are no request this proxy understands.
    pub(crate) raw: Option<RawHook>,
    /// Acts on exchanges of the other era too: what is broken is how the eras go together.
    pub(crate) any_era: bool,
    /// Over stdio: does not end with its input.
    pub(crate) lingers: bool,
    /// mDNS: changes what is announced.
    pub(crate) zone: Option<fn(&mut Zone)>,
    /// mDNS: rewrites what the responder hears.
    pub(crate) hear: Option<fn(&Zone, &mut Heard)>,
    /// mDNS: rewrites what it says to what it heard, also where that is nothing.
    pub(crate) tell: Option<fn(&Zone, &Heard, &mut Vec<Said>)>,
}

const fn new(
    name: &'static str,
    level: Option<Level>,
    revisions: &'static [Revision],
    clause: &'static str,
    about: &'static str,
) -> Fault {
    Fault {
        name,
        about,
        revisions,
        area: "",
        level,
        clause,
        transport: Transport::Any,
        needs: &[],
        case: None,
        hooks: Hooks {
            ask: None,
            answer: None,
            say: None,
            says: None,
            reply: None,
            event: None,
            line: None,
            raw: None,
            any_era: false,
            lingers: false,
            zone: None,
            hear: None,
            tell: None,
        },
    }
}

/// A fault against a MUST.
pub(crate) const fn must(
    name: &'static str,
    revisions: &'static [Revision],
    clause: &'static str,
    about: &'static str,
) -> Fault {
    new(name, Some(Level::Must), revisions, clause, about)
}

/// A fault against a MUST NOT.
pub(crate) const fn must_not(
    name: &'static str,
    revisions: &'static [Revision],
    clause: &'static str,
    about: &'static str,
) -> Fault {
    new(name, Some(Level::MustNot), revisions, clause, about)
}

/// A fault against a SHOULD.
pub(crate) const fn should(
    name: &'static str,
    revisions: &'static [Revision],
    clause: &'static str,
    about: &'static str,
) -> Fault {
    new(name, Some(Level::Should), revisions, clause, about)
}

/// A fault against a SHOULD NOT.
pub(crate) const fn should_not(
    name: &'static str,
    revisions: &'static [Revision],
    clause: &'static str,
    about: &'static str,
) -> Fault {
    new(name, Some(Level::ShouldNot), revisions, clause, about)
}

/// A legal variant.
pub(crate) const fn variant(
    name: &'static str,
    revisions: &'static [Revision],
    about: &'static str,
) -> Fault {
    new(name, None, revisions, "", about)
}

impl Fault {
    /// Whether exchanges of this era are broken; of an era that can't be told, they are.
    pub(crate) fn concerns(&self, era: Option<Era>) -> bool {
        self.hooks.any_era
            || era.is_none_or(|era| self.revisions.iter().any(|revision| revision.era() == era))
    }

    pub(crate) const fn http(mut self) -> Self {
        self.transport = Transport::Http;
        self
    }

    pub(crate) const fn stdio(mut self) -> Self {
        self.transport = Transport::Stdio;
        self
    }

    pub(crate) const fn case(mut self, number: u8) -> Self {
        self.case = Some(number);
        self
    }

    pub(crate) const fn needs(mut self, features: &'static [&'static str]) -> Self {
        self.needs = features;
        self
    }

    pub(crate) const fn ask(mut self, hook: fn(&mut Ask)) -> Self {
        self.hooks.ask = Some(hook);
        self
    }

    pub(crate) const fn answer(mut self, hook: fn(&Ask) -> Option<Reply>) -> Self {
        self.hooks.answer = Some(hook);
        self
    }

    pub(crate) const fn say(mut self, hook: fn(&Ask, &mut Value)) -> Self {
        self.hooks.say = Some(hook);
        self
    }

    pub(crate) const fn says(mut self, hook: fn(&Ask, Value) -> Vec<Value>) -> Self {
        self.hooks.says = Some(hook);
        self
    }

    pub(crate) const fn reply(mut self, hook: fn(&Ask, &mut Reply)) -> Self {
        self.hooks.reply = Some(hook);
        self.transport = Transport::Http;
        self
    }

    pub(crate) const fn event(mut self, hook: fn(&Ask, &str) -> String) -> Self {
        self.hooks.event = Some(hook);
        self.transport = Transport::Http;
        self
    }

    pub(crate) const fn raw(mut self, hook: RawHook) -> Self {
        self.hooks.raw = Some(hook);
        self.transport = Transport::Http;
        self
    }

    pub(crate) const fn any_era(mut self) -> Self {
        self.hooks.any_era = true;
        self
    }

    pub(crate) const fn lingers(mut self) -> Self {
        self.hooks.lingers = true;
        self.transport = Transport::Stdio;
        self
    }

    pub(crate) const fn line(mut self, hook: fn(&Ask, &str) -> String) -> Self {
        self.hooks.line = Some(hook);
        self.transport = Transport::Stdio;
        self
    }

    pub(crate) const fn zone(mut self, hook: fn(&mut Zone)) -> Self {
        self.hooks.zone = Some(hook);
        self.transport = Transport::Mdns;
        self
    }

    pub(crate) const fn hear(mut self, hook: fn(&Zone, &mut Heard)) -> Self {
        self.hooks.hear = Some(hook);
        self.transport = Transport::Mdns;
        self
    }

    pub(crate) const fn tell(mut self, hook: fn(&Zone, &Heard, &mut Vec<Said>)) -> Self {
        self.hooks.tell = Some(hook);
        self.transport = Transport::Mdns;
        self
    }
}
