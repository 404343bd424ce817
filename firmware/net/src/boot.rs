//! The boot log: one line a stage, the same on every board, read by people and by the harness. The format is described
//! in the firmware's README.

use core::fmt;
use core::net::IpAddr;

/// A stage of starting up, displayed as its log line without the line feed.
///
/// ```
/// use mcp_device_net::boot::Stage;
/// assert_eq!(Stage::Reset { reason: "power-on" }.to_string(), "mcp-device boot stage=reset reason=power-on");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// The board runs; the first line.
    Reset {
        /// Why it was reset, one word in lower case such as `power-on`, `software`, `watchdog`, `unknown`.
        reason: &'a str,
    },
    /// Which image runs.
    Build {
        /// GNU build id in lowercase hex, empty where there is none.
        id: &'a str,
    },
    /// The hardware address, which may be made up on boards without one.
    Mac {
        /// As it is on the wire.
        mac: [u8; 6],
    },
    /// An address is in use on the network; again when it changes.
    Address {
        /// IPv4 or IPv6.
        ip: IpAddr,
    },
    /// The name is announced by mDNS.
    Announced {
        /// Host name without `.local`.
        name: &'a str,
    },
    /// Requests are answered from now on.
    Serving {
        /// Address the server listens on.
        ip: IpAddr,
        /// TCP port.
        port: u16,
    },
}

impl fmt::Display for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mcp-device boot stage=")?;
        match self {
            Self::Reset { reason } => write!(f, "reset reason={reason}"),
            Self::Build { id } => write!(f, "build id={id}"),
            Self::Mac {
                mac: [a, b, c, d, e, g],
            } => {
                write!(f, "mac mac={a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
            }
            Self::Address { ip } => write!(f, "address ip={ip}"),
            Self::Announced { name } => write!(f, "announced name={name}"),
            Self::Serving {
                ip: IpAddr::V6(ip),
                port,
            } => write!(f, "serving url=http://[{ip}]:{port}/mcp"),
            Self::Serving { ip, port } => write!(f, "serving url=http://{ip}:{port}/mcp"),
        }
    }
}
