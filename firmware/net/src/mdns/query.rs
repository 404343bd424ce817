//! What a query asks of us.

use domain::base::iana::Class;
use domain::base::message::Message;
use domain::base::name::ParsedName;
use domain::base::question::Question;
use domain::base::wire::ParseError;
use domain::dep::octseq::array::Array;
use domain::dep::octseq::parse::Parser;

use super::config::Config;
use super::record::{Owner, Record, Records};
use super::wire::{self, TOP_BIT};
use super::zone::Zone;

/// Room for the questions of a legacy query that we answer, without compression.
const MAX_ECHO: usize = 256;

/// The part of a query that matters to us.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// Answers to questions without the QU bit.
    pub(super) multicast: Records,
    /// Answers to questions with the QU bit only.
    pub(super) unicast: Records,
    /// Answers that the asker has, with at least half their time to live (RFC 6762 §7.1).
    pub(super) known: Records,
    /// More known answers follow in other packets (RFC 6762 §7.2).
    pub(super) truncated: bool,
    /// Another host wants one of our unique names (RFC 6762 §8.1).
    pub(super) probe: bool,
    /// What a legacy answer repeats.
    pub(super) echo: Echo,
}

impl Query {
    /// Reads a query; an error if any of what is read is malformed.
    pub(super) fn parse(message: &Message<[u8]>, zone: &Zone, config: &Config) -> Result<Self, ParseError> {
        let header = message.header();
        let mut query = Self {
            multicast: Records::NONE,
            unicast: Records::NONE,
            known: Records::NONE,
            truncated: header.tc(),
            probe: false,
            echo: Echo {
                id: header.id(),
                questions: Array::new(),
            },
        };
        let tentative = message.header_counts().nscount() > 0;
        for question in message.question() {
            let question = question?;
            let class = question.qclass().to_int();
            if ![Class::IN, Class::ANY].contains(&Class::from_int(class & !TOP_BIT)) {
                continue;
            }
            let Some(owner) = zone.owner(question.qname()) else {
                continue;
            };
            let records = Records::answering(owner, question.qtype());
            if records.is_empty() {
                continue;
            }
            query.probe |= tentative && matches!(owner, Owner::Instance | Owner::Host);
            query.echo.add(&question);
            if class & TOP_BIT == 0 {
                query.multicast = query.multicast.and(records);
            } else {
                query.unicast = query.unicast.and(records);
            }
        }
        query.unicast = query.unicast.without(query.multicast);
        for theirs in wire::records(message.answer()?, zone) {
            let theirs = theirs?;
            query.known = query.known.and(
                Record::find(theirs.owner, theirs.rtype)
                    .filter(|record| theirs.ttl >= record.ttl() / 2)
                    .filter(|record| zone.same_rdata(*record, &theirs.rdata, config))
                    .map_or(Records::NONE, Records::of),
            );
        }
        Ok(query)
    }
}

/// Id and questions of a query from a plain DNS client, which looks for them in the answer (RFC 6762 §6.7).
///
/// Questions that we don't answer are left out, and so are those beyond the room for them.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    pub(super) id: u16,
    questions: Array<MAX_ECHO>,
}

impl Echo {
    fn add(&mut self, question: &Question<ParsedName<&[u8]>>) {
        let len = self.questions.len();
        if question.compose(&mut self.questions).is_err() {
            let _ = self.questions.resize_raw(len);
        }
    }

    /// The questions, letter case as it came.
    pub(super) fn questions(&self) -> impl Iterator<Item = Question<ParsedName<&[u8]>>> {
        let mut parser = Parser::from_ref(self.questions.as_slice());
        core::iter::from_fn(move || Question::parse(&mut parser).ok())
    }
}
