//! Our names and the data of our records.

use core::net::Ipv4Addr;

use domain::base::name::{Name, NameBuilder, ToName};
use domain::base::rdata::ComposeRecordData;
use domain::dep::octseq::array::Array;
use domain::dep::octseq::builder::OctetsBuilder;
use domain::rdata::Srv;

use super::config::{Config, Label, MAX_TXT};
use super::record::{Owner, Record};

const SERVICES: &[u8] = b"\x09_services\x07_dns-sd\x04_udp\x05local\x00";
const SERVICE: &[u8] = b"\x04_mcp\x04_tcp\x05local\x00";
const LOCAL: &[u8] = b"\x05local\x00";

/// The longest name of ours: an instance label and the service type.
const MAX_NAME: usize = 1 + Label::MAX + SERVICE.len();

/// Room for the data of any record of ours, of any PTR and of any SRV. Data of others that is longer is cut there:
/// it differs from ours, and orders after it.
pub(super) const MAX_RDATA: usize = 6 + 255;

const _: () = assert!(MAX_RDATA > MAX_TXT && MAX_RDATA >= 6 + MAX_NAME);

/// Record data without name compression, the form that RFC 6762 §8.2 compares.
pub(super) type Rdata = Array<MAX_RDATA>;

/// Names and data of the records, as they are now.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    pub(super) host: Label,
    pub(super) instance: Label,
    pub(super) address: Ipv4Addr,
    host_name: Name<Array<MAX_NAME>>,
    instance_name: Name<Array<MAX_NAME>>,
}

impl Zone {
    pub(super) fn new(host: Label, instance: Label, address: Ipv4Addr) -> Self {
        Self {
            host,
            instance,
            address,
            host_name: name(host, LOCAL),
            instance_name: name(instance, SERVICE),
        }
    }

    pub(super) fn name(&self, owner: Owner) -> Name<&[u8]> {
        let octets = match owner {
            Owner::Services => SERVICES,
            Owner::Service => SERVICE,
            Owner::Instance => self.instance_name.as_slice(),
            Owner::Host => self.host_name.as_slice(),
        };
        Name::from_octets(octets).expect("our names are legal")
    }

    /// Which of our names this is, letter case aside (RFC 6762 §16).
    pub(super) fn owner(&self, name: &impl ToName) -> Option<Owner> {
        [Owner::Services, Owner::Service, Owner::Instance, Owner::Host]
            .into_iter()
            .find(|owner| name.name_eq(&self.name(*owner)))
    }

    pub(super) fn rdata(&self, record: Record, config: &Config) -> Rdata {
        let mut data = Rdata::new();
        let written = match record {
            Record::Services => data.append_slice(SERVICE),
            Record::Service => data.append_slice(self.instance_name.as_slice()),
            Record::Srv => Srv::new(0, 0, config.port.get(), self.name(Owner::Host)).compose_rdata(&mut data),
            Record::Txt => data.append_slice(config.txt.as_bytes()),
            Record::Address => data.append_slice(&self.address.octets()),
            // The bit maps of RFC 4034 §4.1.2: types 16 and 33, type 1.
            Record::InstanceTypes => data
                .append_slice(self.instance_name.as_slice())
                .and_then(|()| data.append_slice(&[0, 5, 0, 0, 0x80, 0, 0x40])),
            Record::HostTypes => data
                .append_slice(self.host_name.as_slice())
                .and_then(|()| data.append_slice(&[0, 1, 0x40])),
        };
        written.expect("names and TXT are bounded");
        data
    }

    /// Whether this is the data of our record. Names in it compare without regard to letter case.
    pub(super) fn same_rdata(&self, record: Record, theirs: &Rdata, config: &Config) -> bool {
        let ours = self.rdata(record, config);
        match record {
            Record::Services | Record::Service => theirs.eq_ignore_ascii_case(&ours),
            Record::Srv => {
                let (fixed, target) = ours.split_at(6);
                theirs
                    .split_at_checked(6)
                    .is_some_and(|(theirs_fixed, theirs_target)| {
                        theirs_fixed == fixed && theirs_target.eq_ignore_ascii_case(target)
                    })
            }
            Record::Txt | Record::Address | Record::InstanceTypes | Record::HostTypes => *theirs == ours,
        }
    }
}

fn name(label: Label, parent: &[u8]) -> Name<Array<MAX_NAME>> {
    let mut builder = NameBuilder::<Array<MAX_NAME>>::new();
    builder
        .append_label(label.as_str().as_bytes())
        .ok()
        .and_then(|()| builder.append_origin(&Name::from_octets(parent).ok()?).ok())
        .expect("a label of 1 to 63 bytes fits")
}
