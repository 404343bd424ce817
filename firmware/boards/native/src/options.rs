//! The command line.

use std::process;

use clap::Parser;

/// The MCP device as a Linux process on loopback. Its console is the standard output.
#[derive(Debug, Parser)]
#[command(version, name = "mcp-hil-board-native")]
pub struct Options {
    /// TCP port on 127.0.0.1; 0 takes any free one, which the console tells.
    #[arg(long, default_value_t = 18_791)]
    pub port: u16,
    /// Host name without `.local`; default: mcp-hil- and the last half of the MAC address.
    #[arg(long, value_parser = label)]
    name: Option<String>,
    /// MAC address to report, such as 02:00:00:12:34:56; default: made of process id and port.
    #[arg(long, value_parser = mac)]
    mac: Option<[u8; 6]>,
    /// Exit when the standard input ends, so that the board never outlives its parent.
    #[arg(long)]
    pub exit_on_stdin_eof: bool,
}

impl Options {
    /// The MAC address of a board that listens on `port`. A made-up one is locally administered, and differs between
    /// all boards that run at once, because their ports do.
    pub fn mac(&self, port: u16) -> [u8; 6] {
        let [_, _, c, d] = process::id().to_be_bytes();
        let [e, f] = port.to_be_bytes();
        self.mac.unwrap_or([0x02, 0x00, c, d, e, f])
    }

    /// The host name of a board with this MAC address.
    pub fn name(&self, mac: [u8; 6]) -> String {
        let [_, _, _, d, e, f] = mac;
        self.name
            .clone()
            .unwrap_or_else(|| format!("mcp-hil-{d:02x}{e:02x}{f:02x}"))
    }
}

/// A host name label (RFC 1123, 2.1).
fn label(text: &str) -> Result<String, &'static str> {
    let legal = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if legal && (1..=63).contains(&text.len()) && !text.starts_with('-') && !text.ends_with('-') {
        Ok(text.to_owned())
    } else {
        Err("a name is 1 to 63 letters, digits and hyphens, with no hyphen at either end")
    }
}

fn mac(text: &str) -> Result<[u8; 6], &'static str> {
    let wrong = "a MAC address is six pairs of hex digits joined by colons";
    let mut mac = [0; 6];
    let mut pairs = text.split(':');
    for byte in &mut mac {
        let pair = pairs
            .next()
            .filter(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or(wrong)?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong)?;
    }
    match (pairs.next(), mac) {
        (Some(_), _) => Err(wrong),
        (None, [first, ..]) if first & 1 == 1 => Err("this is a multicast address; make the first byte even"),
        (None, mac) => Ok(mac),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_sound() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }

    #[test]
    fn a_made_up_mac_is_local_and_unicast_and_tells_ports_apart() {
        let options = Options::parse_from(["board"]);
        let mac = options.mac(0x1234);
        assert_eq!(mac[0] & 0b11, 0b10);
        assert_eq!(mac[4..], [0x12, 0x34]);
        assert_ne!(options.name(mac), options.name(options.mac(0x1235)));
    }

    #[test]
    fn what_is_no_mac_or_name_is_refused() {
        assert_eq!(mac("02:00:00:ab:CD:ef"), Ok([2, 0, 0, 0xab, 0xcd, 0xef]));
        for bad in [
            "",
            "02:00:00:12:34",
            "02:00:00:12:34:56:78",
            "02:00:00:12:34:+6",
            "03:00:00:12:34:56",
        ] {
            assert!(mac(bad).is_err(), "{bad}");
        }
        assert!(label("kitchen-2").is_ok());
        for bad in ["", "-a", "a-", "a.b", "ä", &"a".repeat(64)] {
            assert!(label(bad).is_err(), "{bad}");
        }
    }
}
