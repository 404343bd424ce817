//! Records off and onto the wire.

use core::fmt;
use core::ops::Deref;

use domain::base::iana::{Class, Rtype};
use domain::base::message::RecordSection;
use domain::base::message_builder::{
    MessageBuilder, QuestionBuilder, RecordSectionBuilder, StaticCompressor,
};
use domain::base::name::ParsedName;
use domain::base::rdata::{ComposeRecordData, ParseRecordData, UnknownRecordData};
use domain::base::record::{ParsedRecord, Ttl};
use domain::base::wire::ParseError;
use domain::dep::octseq::array::Array;
use domain::dep::octseq::builder::OctetsBuilder;
use domain::rdata::{Nsec, Ptr, Srv};

use super::MAX_SENT;
use super::config::Config;
use super::query::Echo;
use super::record::{Owner, Record, Records};
use super::zone::{MAX_RDATA, Rdata, Zone};

/// In a question: a unicast answer is welcome (RFC 6762 §5.4). In a record: forget older data (RFC 6762 §10.2).
pub(super) const TOP_BIT: u16 = 0x8000;

/// Longest time to live in a legacy answer, seconds (RFC 6762 §6.7).
const LEGACY_TTL: u32 = 10;

/// A packet to send; reads as the bytes of the UDP payload.
#[derive(Clone)]
pub struct Packet(Array<MAX_SENT>);

impl Packet {
    /// An empty packet for [`super::Responder::transmit`] to fill.
    pub fn new() -> Self {
        Self(Array::new())
    }
}

impl Default for Packet {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Packet {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

/// What kind of response a packet is.
pub(super) enum Form<'a> {
    /// To the group, or by unicast to an mDNS querier.
    Answer,
    /// Time to live 0: the records are gone (RFC 6762 §10.1).
    Goodbye,
    /// To a plain DNS client, with its id and questions (RFC 6762 §6.7).
    Legacy(&'a Echo),
}

type Target<'p> = StaticCompressor<&'p mut Array<MAX_SENT>>;

/// Writes packets about our records.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) zone: &'a Zone,
    pub(super) config: &'a Config,
}

impl Writer<'_> {
    /// Asks whether our unique names are taken, and says what we would have them for (RFC 6762 §8.1, §8.2).
    pub(super) fn probe(self, packet: &mut Packet) {
        let mut questions = begin(packet);
        for owner in [Owner::Instance, Owner::Host] {
            let class = Class::from_int(Class::IN.to_int() | TOP_BIT);
            fits(questions.push((self.zone.name(owner), Rtype::ANY, class)));
        }
        let mut authority = questions.authority();
        for record in Records::PROBED.iter() {
            self.push(&mut authority, record, record.ttl(), Class::IN);
        }
    }

    /// A response with these records.
    pub(super) fn response(self, packet: &mut Packet, form: Form<'_>, answers: Records, additional: Records) {
        let mut questions = begin(packet);
        questions.header_mut().set_qr(true);
        questions.header_mut().set_aa(true);
        if let Form::Legacy(echo) = form {
            questions.header_mut().set_id(echo.id);
            for question in echo.questions() {
                fits(questions.push(question));
            }
        }
        let mut answer = questions.answer();
        for record in answers.iter() {
            self.push(&mut answer, record, ttl(&form, record), class(&form, record));
        }
        let mut section = answer.additional();
        for record in additional.iter() {
            self.push(&mut section, record, ttl(&form, record), class(&form, record));
        }
    }

    fn push<'p>(
        self,
        section: &mut impl RecordSectionBuilder<Target<'p>>,
        record: Record,
        ttl: u32,
        class: Class,
    ) {
        let data = UnknownRecordData::from_octets(record.rtype(), self.zone.rdata(record, self.config))
            .expect("at most 257 bytes");
        fits(section.push((self.zone.name(record.owner()), class, Ttl::from_secs(ttl), data)));
    }
}

/// Writes in place: the builder is moved from section to section, and so would be a buffer that it owns.
fn begin(packet: &mut Packet) -> QuestionBuilder<Target<'_>> {
    MessageBuilder::from_target(StaticCompressor::new(&mut packet.0))
        .expect("a header fits")
        .question()
}

fn fits<E>(pushed: Result<(), E>) {
    // Names, TXT and echoed questions are bounded so that the largest packet fits; a test builds that packet.
    debug_assert!(pushed.is_ok(), "MAX_SENT is too small");
}

fn ttl(form: &Form<'_>, record: Record) -> u32 {
    match form {
        Form::Answer => record.ttl(),
        Form::Goodbye => 0,
        Form::Legacy(_) => record.ttl().min(LEGACY_TTL),
    }
}

fn class(form: &Form<'_>, record: Record) -> Class {
    let flush = !record.shared() && !matches!(form, Form::Legacy(_));
    Class::from_int(Class::IN.to_int() | if flush { TOP_BIT } else { 0 })
}

/// A record about one of our names in a packet from elsewhere, perhaps our own come back.
pub(super) struct Theirs {
    pub(super) owner: Owner,
    pub(super) rtype: Rtype,
    /// Seconds.
    pub(super) ttl: u32,
    pub(super) rdata: Rdata,
}

/// The records about our names in a section; an error where the section is malformed.
pub(super) fn records<'a>(
    section: RecordSection<'a, [u8]>,
    zone: &'a Zone,
) -> impl Iterator<Item = Result<Theirs, ParseError>> + 'a {
    section.filter_map(move |record| {
        let parse = |record: ParsedRecord<'_, [u8]>| {
            if record.class().to_int() & !TOP_BIT != Class::IN.to_int() {
                return Ok(None);
            }
            let Some(owner) = zone.owner(&record.owner()) else {
                return Ok(None);
            };
            let (rtype, ttl) = (record.rtype(), record.ttl().as_secs());
            Ok(Some(Theirs {
                owner,
                rtype,
                ttl,
                rdata: rdata(&record)?,
            }))
        };
        record.and_then(parse).transpose()
    })
}

/// Record data with its names written out (RFC 6762 §8.2), cut at the capacity of [`Rdata`].
///
/// Names in types that we never have stay as they are: there a difference is a difference either way.
fn rdata(record: &ParsedRecord<'_, [u8]>) -> Result<Rdata, ParseError> {
    match record.rtype() {
        Rtype::PTR => uncompressed::<Ptr<ParsedName<_>>>(record),
        Rtype::SRV => uncompressed::<Srv<ParsedName<_>>>(record),
        Rtype::NSEC => uncompressed::<Nsec<_, ParsedName<_>>>(record),
        _ => {
            let mut data = Rdata::new();
            if let Some(unknown) = record.to_record::<UnknownRecordData<_>>()? {
                let bytes: &[u8] = unknown.data().data();
                fits(data.append_slice(&bytes[..bytes.len().min(MAX_RDATA)]));
            }
            Ok(data)
        }
    }
}

fn uncompressed<'a, D>(record: &ParsedRecord<'a, [u8]>) -> Result<Rdata, ParseError>
where
    D: ParseRecordData<'a, [u8]> + ComposeRecordData,
{
    let mut data = Rdata::new();
    if let Some(parsed) = record.to_record::<D>()? {
        // Only the type list of an NSEC can be too long, and then it isn't ours.
        let _ = parsed.data().compose_rdata(&mut data);
    }
    Ok(data)
}
