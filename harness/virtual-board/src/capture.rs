//! Writes what is on the cables to a pcapng file: each frame where a port sent it and where a port got it.
//!
//! Every port is an interface of the file, as if a capture ran on each machine: what was lost is seen only at the
//! sender, a delay is the difference of two times. `tcpdump -r FILE` and Wireshark read it; in Wireshark the filter
//! `frame.interface_name == "host"` shows one side only.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use crate::Error;
use crate::switch::PortId;

/// Which way a frame went, from the port's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The port's machine sent it.
    Sent,
    /// The port's machine got it.
    Received,
}

/// An open capture file.
pub struct Capture {
    path: PathBuf,
    file: PcapNgWriter<BufWriter<File>>,
}

impl Capture {
    /// Makes the file, or empties it.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::Capture {
            path: path.to_owned(),
            reason,
        };
        let file = File::create(path).map_err(|error| failed(error.to_string()))?;
        let file = PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failed(error.to_string()))?;
        Ok(Capture {
            path: path.to_owned(),
            file,
        })
    }

    /// Describes the next port; ports are described in the order of their numbers.
    pub fn add_port(&mut self, name: &str) -> Result<(), Error> {
        const NANOSECONDS: u8 = 9;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        let written = self.file.write_pcapng_block(interface);
        self.check(written.map(drop))
    }

    /// Writes one frame.
    pub fn record(&mut self, at: SystemTime, port: PortId, way: Way, frame: &[u8]) -> Result<(), Error> {
        // Bits 0 and 1 of the flags: 1 is inbound, 2 is outbound (pcapng, section 4.3.1), of the machine.
        let flags = match way {
            Way::Received => 1,
            Way::Sent => 2,
        };
        let written = self.file.write_pcapng_block(EnhancedPacketBlock {
            interface_id: port as u32,
            timestamp: at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![EnhancedPacketOption::Flags(flags)],
        });
        self.check(written.map(drop))
    }

    /// Puts on disk what was written so far, so that a killed run leaves a file that ends with a whole frame.
    pub fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.file.get_mut().flush();
        self.check(flushed.map_err(PcapError::IoError))
    }

    fn check(&self, written: Result<(), PcapError>) -> Result<(), Error> {
        written.map_err(|error| Error::Capture {
            path: self.path.clone(),
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pcap_file::pcapng::{Block, PcapNgReader};

    use super::*;

    #[test]
    fn a_reader_finds_the_frames_their_ports_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pcapng");
        let mut capture = Capture::create(&path).unwrap();
        capture.add_port("host").unwrap();
        let first = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        capture.record(first, 0, Way::Sent, &[0xaa; 61]).unwrap();
        // A port may come after the first frames: a board that starts late.
        capture.add_port("board 0").unwrap();
        capture
            .record(first + Duration::from_millis(20), 1, Way::Received, &[0xaa; 61])
            .unwrap();
        capture.flush().unwrap();

        let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
        let mut packets = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
                packets.push(packet);
            }
        }
        assert_eq!(packets.len(), 2);
        assert_eq!(
            packets[0].timestamp,
            Duration::from_nanos(1_700_000_000_123_456_789)
        );
        assert_eq!(packets[0].data.as_ref(), [0xaa; 61]);
        assert_eq!(
            (packets[0].interface_id, &packets[0].options[0]),
            (0, &EnhancedPacketOption::Flags(2))
        );
        assert_eq!(
            (packets[1].interface_id, &packets[1].options[0]),
            (1, &EnhancedPacketOption::Flags(1))
        );
        let names: Vec<_> = reader
            .interfaces()
            .iter()
            .map(|interface| interface.options[0].clone())
            .collect();
        assert_eq!(
            names[1],
            InterfaceDescriptionOption::IfName(Cow::Borrowed("board 0"))
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = Capture::create(Path::new("/no/such/folder/run.pcapng"))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("/no/such/folder/run.pcapng") && error.contains("No such file"),
            "{error}"
        );
    }
}
