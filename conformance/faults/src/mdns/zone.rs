//! What a board announces: pure.

use mcp_hil_conformance::mdns::SERVICE;
use mcp_hil_conformance::mdns::wire::{
    A, IN, NSEC, Name, PTR, Record, SRV, TOP, TXT, name, same, write_name,
};
use std::net::Ipv4Addr;

/// Life of records that hold or name the host (RFC 6762, 10), seconds.
const HOST_LIFE: u32 = 120;
/// Life of all others, seconds.
const LIFE: u32 = 4500;
/// Question for the types of service (RFC 6763, 9).
pub const TYPES: &str = "_services._dns-sd._udp.local";

/// The records of one board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Address of the board.
    pub address: Ipv4Addr,
    /// Port of its endpoint.
    pub port: u16,
    /// `INSTANCE._mcp._tcp.local`.
    pub instance: Name,
    /// `HOST.local`.
    pub host: Name,
    /// Everything it answers for.
    pub records: Vec<Record>,
}

/// A record that others may have too, or with `unique` one that only this board has.
pub fn record(owner: &Name, kind: u16, is_unique: bool, data: Vec<u8>) -> Record {
    Record {
        name: owner.clone(),
        kind,
        class: if is_unique { IN | TOP } else { IN },
        ttl: if matches!(kind, PTR | TXT) {
            LIFE
        } else {
            HOST_LIFE
        },
        data,
    }
}

/// A PTR record.
pub fn pointer(owner: &Name, to: &Name) -> Record {
    record(owner, PTR, false, write_name(to))
}

/// An SRV record.
pub fn service(owner: &Name, port: u16, host: &Name) -> Record {
    let data = [&[0; 4][..], &port.to_be_bytes(), &write_name(host)].concat();
    record(owner, SRV, true, data)
}

/// A TXT record with these strings.
pub fn text(owner: &Name, strings: &[&str]) -> Record {
    let string = |text: &&str| {
        let mut string = vec![u8::try_from(text.len()).unwrap_or(u8::MAX)];
        string.extend(text.as_bytes());
        string
    };
    record(owner, TXT, true, strings.iter().flat_map(string).collect())
}

impl Zone {
    /// The board that serves MCP at an address.
    pub fn new(address: Ipv4Addr, port: u16) -> Self {
        let [_, a, b, c] = address.octets();
        let label = format!("board-{a}-{b}-{c}");
        let (service_name, host) = (name(SERVICE), name(&format!("{label}.local")));
        let instance = [vec![label.into_bytes()], service_name.clone()].concat();
        let records = vec![
            pointer(&service_name, &instance),
            pointer(&name(TYPES), &service_name),
            service(&instance, port, &host),
            text(&instance, &["txtvers=1", "path=/mcp"]),
            record(&host, A, true, address.octets().to_vec()),
        ];
        Self {
            address,
            port,
            instance,
            host,
            records,
        }
    }

    /// Records of this type.
    pub fn of(&mut self, kind: u16) -> impl Iterator<Item = &mut Record> {
        self.records.iter_mut().filter(move |record| record.kind == kind)
    }

    /// Leaves out records of a type.
    pub fn without(&mut self, kind: u16) {
        self.records.retain(|record| record.kind != kind);
    }

    /// Puts another TXT record in the place of the one that is there.
    pub fn say(&mut self, strings: &[&str]) {
        let text = text(&self.instance, strings);
        self.of(TXT).for_each(|record| record.data.clone_from(&text.data));
    }

    /// Takes other names; the records go along.
    pub fn rename(&mut self, instance: Name, host: Name) {
        let services = self.records.iter().position(|record| record.kind == PTR);
        for record in &mut self.records {
            if same(&record.name, &self.instance) {
                record.name.clone_from(&instance);
            } else if same(&record.name, &self.host) {
                record.name.clone_from(&host);
            }
            if record.kind == SRV {
                record.data = [&record.data[..6], &write_name(&host)].concat();
            }
        }
        if let Some(services) = services {
            self.records[services].data = write_name(&instance);
        }
        (self.instance, self.host) = (instance, host);
    }

    /// The word that a name of this board has no record of the type that was asked for (RFC 6762, 6.1).
    pub fn denial(&self, owner: &Name) -> Option<Record> {
        let owned: Vec<_> = self
            .records
            .iter()
            .filter(|record| record.flushes() && same(&record.name, owner))
            .collect();
        let first = owned.first()?;
        let mut data = write_name(owner);
        let mut map = vec![0_u8; 1 + usize::from(owned.iter().map(|record| record.kind).max()?) / 8];
        for record in &owned {
            map[usize::from(record.kind / 8)] |= 0x80 >> (record.kind % 8);
        }
        data.extend([0, u8::try_from(map.len()).ok()?]);
        data.extend(map);
        Some(Record {
            ttl: first.ttl,
            ..record(owner, NSEC, true, data)
        })
    }

    /// What comes along with an answer (RFC 6763, 12).
    pub fn along_with(&self, answer: &Record) -> Vec<Record> {
        let of = |owner: &Name| {
            let owner = owner.clone();
            let owned = self
                .records
                .iter()
                .filter(move |record| same(&record.name, &owner));
            owned.cloned().collect::<Vec<_>>()
        };
        let mut found = Vec::new();
        if let Some(instance) = answer.pointer() {
            found = of(&instance);
        }
        let host = found.iter().chain([answer]).find_map(Record::service);
        if let Some((_, _, _, host)) = host {
            found.extend(of(&host));
        }
        found.retain(|record| record.flushes());
        found
    }
}
