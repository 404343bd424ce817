//! The records that a board can have, and sets of them.

use core::iter::FromIterator;

use domain::base::iana::Rtype;

/// Whose name a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// `_services._dns-sd._udp.local` (RFC 6763 §9).
    Services,
    /// `_mcp._tcp.local`.
    Service,
    /// `<instance>._mcp._tcp.local`.
    Instance,
    /// `<host>.local`.
    Host,
}

/// One record of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// PTR from the service enumeration name to the service type.
    Services,
    /// PTR from the service type to the instance.
    Service,
    /// SRV of the instance.
    Srv,
    /// TXT of the instance.
    Txt,
    /// A of the host.
    Address,
    /// NSEC of the instance: no types but SRV and TXT (RFC 6762 §6.1).
    InstanceTypes,
    /// NSEC of the host: no type but A.
    HostTypes,
}

impl Record {
    pub(super) const ALL: [Self; 7] = [
        Self::Services,
        Self::Service,
        Self::Srv,
        Self::Txt,
        Self::Address,
        Self::InstanceTypes,
        Self::HostTypes,
    ];

    pub(super) fn owner(self) -> Owner {
        match self {
            Self::Services => Owner::Services,
            Self::Service => Owner::Service,
            Self::Srv | Self::Txt | Self::InstanceTypes => Owner::Instance,
            Self::Address | Self::HostTypes => Owner::Host,
        }
    }

    pub(super) fn rtype(self) -> Rtype {
        match self {
            Self::Services | Self::Service => Rtype::PTR,
            Self::Srv => Rtype::SRV,
            Self::Txt => Rtype::TXT,
            Self::Address => Rtype::A,
            Self::InstanceTypes | Self::HostTypes => Rtype::NSEC,
        }
    }

    /// The record of this owner and type.
    pub(super) fn find(owner: Owner, rtype: Rtype) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|record| record.owner() == owner && record.rtype() == rtype)
    }

    /// Whether other hosts may have records of the same name and type (RFC 6762 §2).
    pub(super) fn shared(self) -> bool {
        matches!(self, Self::Services | Self::Service)
    }

    /// Time to live in seconds (RFC 6762 §10): short for records that hold or name the host.
    pub(super) fn ttl(self) -> u32 {
        match self {
            Self::Srv | Self::Address | Self::HostTypes => 120,
            Self::Services | Self::Service | Self::Txt | Self::InstanceTypes => 4500,
        }
    }
}

/// A set of our records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Records(u8);

impl Records {
    pub(super) const NONE: Self = Self(0);

    /// What an announcement holds (RFC 6762 §8.3).
    pub(super) const ANNOUNCED: Self = Self::of(Record::Services).and(Self::WITHDRAWN);

    /// What a goodbye holds (RFC 6762 §10.1): not the service type, which other hosts may still offer.
    pub(super) const WITHDRAWN: Self = Self::of(Record::Service).and(Self::PROBED);

    /// What a probe proposes (RFC 6762 §8.2).
    pub(super) const PROBED: Self = Self::of(Record::Srv)
        .and(Self::of(Record::Txt))
        .and(Self::of(Record::Address));

    pub(super) const fn of(record: Record) -> Self {
        Self(1 << record as u8)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn has(self, record: Record) -> bool {
        self.0 & Self::of(record).0 != 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Record> {
        Record::ALL.into_iter().filter(move |record| self.has(*record))
    }

    /// What answers a question of this type about a name of ours; an NSEC where there is no such record.
    pub(super) fn answering(owner: Owner, qtype: Rtype) -> Self {
        let records = Record::ALL
            .into_iter()
            .filter(|record| record.owner() == owner)
            .filter(|record| {
                record.rtype() == qtype || (qtype == Rtype::ANY && record.rtype() != Rtype::NSEC)
            })
            .collect::<Self>();
        // Types from 128 to 255 are no record types but meta-queries (RFC 6895 §3.1).
        match Record::find(owner, Rtype::NSEC) {
            Some(nsec) if records.is_empty() && !(128..256).contains(&qtype.to_int()) => Self::of(nsec),
            _ => records,
        }
    }

    /// What an asker is likely to ask next (RFC 6763 §12, RFC 6762 §6.2).
    pub(super) fn additional(self) -> Self {
        let mut all = self;
        if all.has(Record::Service) {
            all = all.and(Self::of(Record::Srv)).and(Self::of(Record::Txt));
        }
        if all.has(Record::Srv) || all.has(Record::HostTypes) {
            all = all.and(Self::of(Record::Address));
        }
        if all.has(Record::Address) {
            all = all.and(Self::of(Record::HostTypes));
        }
        all.without(self)
    }
}

impl FromIterator<Record> for Records {
    fn from_iter<I: IntoIterator<Item = Record>>(records: I) -> Self {
        records
            .into_iter()
            .fold(Self::NONE, |set, record| set.and(Self::of(record)))
    }
}
