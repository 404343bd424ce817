//! Why nothing was found: facts, and what to try. Needs no privileges, so it can only hint at a firewall.

use super::interfaces::Interface;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

/// What is known of a search that did not find enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Type of service that was asked for.
    pub service: String,
    /// Boards that can be used.
    pub usable: usize,
    /// Boards that were waited for.
    pub wanted: usize,
    /// Boards that announce themselves in a way that can't be used.
    pub faulty: usize,
    /// The interfaces of this host.
    pub interfaces: Vec<Looked>,
    /// Other types of service that were answered for, with the senders.
    pub others: BTreeMap<String, Vec<IpAddr>>,
    /// Boards that answer at a known address and are not announced, as URLs.
    pub unannounced: Vec<String>,
    /// Boards that do not answer at their known address either, as URLs.
    pub silent: Vec<String>,
    /// What may keep packets away.
    pub hints: Vec<String>,
}

/// An interface, and whether it was listened on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// The interface.
    #[serde(flatten)]
    pub interface: Interface,
    /// It was asked and listened on.
    pub searched: bool,
    /// Why it could not be listened on.
    pub trouble: Option<String>,
}

impl Diagnosis {
    /// What to do, the most likely first.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let mut say = |text: &str| advice.push(text.to_owned());
        let searched: Vec<_> = self.interfaces.iter().filter(|looked| looked.searched).collect();
        if !self.unannounced.is_empty() {
            say(
                "the board serves and is not announced: look for a line stage=announced on its console, and use the URL meanwhile",
            );
        }
        if !self.silent.is_empty() {
            say(
                "the board does not answer at the address that it told: look at its console, and at the way there",
            );
        }
        if self.faulty > 0 {
            say("mend the announcement as said above; it came through, so the network is not the reason");
        }
        if !searched.iter().any(|looked| looked.interface.carries_multicast()) {
            say("switch on an interface that carries multicast, or name one with --interface");
        } else if searched.iter().all(|looked| looked.interface.loopback) {
            say("only loopback was searched; boards are on another interface, name it with --interface");
        } else if self.others.is_empty() {
            say(
                "nothing at all answered: the board may be off, in another network (guest Wi-Fi, VLAN), or behind an access point that keeps clients apart",
            );
        } else {
            say(
                "mDNS works here, others answer: the board may be off, still starting, or announce another type (--service)",
            );
        }
        say("a board that is there but slow is found with a longer --timeout");
        say("a board whose address is known needs no mDNS: http://ADDRESS:18791/mcp");
        advice
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (service, wanted, usable) = (&self.service, self.wanted, self.usable);
        match usable {
            0 => writeln!(f, "no board that can be used answered for {service}")?,
            _ if usable < wanted => writeln!(f, "{usable} of {wanted} boards answered for {service}")?,
            1 => writeln!(f, "1 board answered for {service}")?,
            _ => writeln!(f, "{usable} boards answered for {service}")?,
        }
        if self.faulty > 0 {
            writeln!(f, "boards with a faulty announcement: {}", self.faulty)?;
        }
        for url in &self.unannounced {
            writeln!(f, "{url} is reachable but not announced")?;
        }
        for url in &self.silent {
            writeln!(f, "{url} is neither announced nor reachable")?;
        }
        f.write_str("interfaces:\n")?;
        for looked in &self.interfaces {
            writeln!(f, "  {looked}")?;
        }
        if self.others.is_empty() {
            f.write_str("nobody else answered on port 5353\n")?;
        } else {
            f.write_str("others that answered on port 5353:\n")?;
            for (kind, senders) in &self.others {
                let senders: Vec<_> = senders.iter().map(IpAddr::to_string).collect();
                writeln!(f, "  {} from {}", kind.escape_debug(), senders.join(", "))?;
            }
        }
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        for advice in self.advice() {
            writeln!(f, "try: {advice}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interface {
            name,
            up,
            multicast,
            loopback,
            networks,
            ..
        } = &self.interface;
        let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
        let networks = if networks.is_empty() {
            "no address".to_owned()
        } else {
            networks.join(", ")
        };
        let multicast = match (multicast, loopback) {
            (true, _) => "multicast",
            (false, true) => "loopback",
            (false, false) => "no multicast",
        };
        let searched = match (&self.trouble, self.searched) {
            (Some(trouble), _) => format!("can't be listened on: {trouble}"),
            (None, true) => "searched".to_owned(),
            (None, false) => "not searched".to_owned(),
        };
        let up = if *up { "up" } else { "down" };
        write!(f, "{name}: {networks}; {up}, {multicast}; {searched}")
    }
}

/// What a look at this host's files tells of firewalls and walls of other kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Text of `/etc/ufw/ufw.conf`.
    pub ufw: Option<String>,
    /// firewalld is installed.
    pub firewalld: bool,
    /// The kernel has packet filters loaded.
    pub filters: bool,
    /// This is a container.
    pub container: bool,
    /// Text of `/proc/version`.
    pub kernel: String,
}

impl Host {
    /// Looks at this host.
    pub fn look() -> Self {
        let there = |paths: &[&str]| paths.iter().any(|path| Path::new(path).exists());
        Self {
            ufw: std::fs::read_to_string("/etc/ufw/ufw.conf").ok(),
            firewalld: there(&["/usr/sbin/firewalld", "/etc/firewalld/firewalld.conf"]),
            filters: there(&["/sys/module/nf_tables", "/sys/module/ip_tables"]),
            container: there(&["/.dockerenv", "/run/.containerenv"]),
            kernel: std::fs::read_to_string("/proc/version").unwrap_or_default(),
        }
    }

    /// What it may mean.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        let mut say = |text: &str| hints.push(text.to_owned());
        let enabled = |text: &String| text.lines().any(|line| line.trim() == "ENABLED=yes");
        if self.ufw.as_ref().is_some_and(enabled) {
            say("ufw is on and may drop mDNS: sudo ufw allow in proto udp to 224.0.0.251 port 5353");
        }
        if self.firewalld {
            say("firewalld is installed; if it runs, it may drop mDNS: sudo firewall-cmd --add-service=mdns");
        }
        if self.filters {
            say(
                "packet filters are loaded (nftables or iptables); UDP port 5353 has to come in: sudo nft list ruleset",
            );
        }
        if self.container {
            say("this is a container: multicast of the host's network comes in only with --network host");
        }
        if self.kernel.to_ascii_lowercase().contains("microsoft") {
            say("this is WSL: multicast comes in only with networkingMode=mirrored");
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::interfaces::Network;

    fn looked(name: &str, up: bool, multicast: bool, searched: bool) -> Looked {
        Looked {
            interface: Interface {
                name: name.to_owned(),
                index: 2,
                up,
                multicast,
                loopback: name == "lo",
                networks: vec![Network {
                    address: IpAddr::from([192, 168, 1, 7]),
                    prefix: 24,
                }],
            },
            searched,
            trouble: None,
        }
    }

    fn nothing() -> Diagnosis {
        Diagnosis {
            service: "_mcp._tcp.local".to_owned(),
            wanted: 1,
            interfaces: vec![looked("lo", true, false, true), looked("eth0", true, true, true)],
            ..Diagnosis::default()
        }
    }

    #[test]
    fn it_says_where_was_looked_and_who_answered() {
        let mut diagnosis = nothing();
        diagnosis.interfaces.push(looked("tun0", false, false, false));
        diagnosis.interfaces[1].trouble = Some("Address in use".to_owned());
        let senders = vec![IpAddr::from([192, 168, 1, 9])];
        diagnosis.others.insert("_ipp._tcp.local".to_owned(), senders);
        let text = diagnosis.to_string();
        for line in [
            "no board that can be used answered for _mcp._tcp.local",
            "  lo: 192.168.1.7/24; up, loopback; searched",
            "  eth0: 192.168.1.7/24; up, multicast; can't be listened on: Address in use",
            "  tun0: 192.168.1.7/24; down, no multicast; not searched",
            "  _ipp._tcp.local from 192.168.1.9",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\nnot in\n{text}");
        }
    }

    #[test]
    fn a_board_that_is_reachable_but_not_announced_is_told() {
        let mut diagnosis = nothing();
        diagnosis.unannounced.push("http://10.0.0.5:18791/mcp".to_owned());
        let text = diagnosis.to_string();
        assert!(
            text.contains("\nhttp://10.0.0.5:18791/mcp is reachable but not announced\n"),
            "{text}"
        );
        assert!(diagnosis.advice()[0].contains("stage=announced"));
    }

    #[test]
    fn advice_follows_from_what_was_seen() {
        let first = |diagnosis: &Diagnosis| diagnosis.advice()[0].clone();
        let mut diagnosis = nothing();
        assert!(first(&diagnosis).starts_with("nothing at all answered"));
        diagnosis.others.insert("_ipp._tcp.local".to_owned(), Vec::new());
        assert!(first(&diagnosis).starts_with("mDNS works here"));
        diagnosis.interfaces[1].searched = false;
        assert!(first(&diagnosis).starts_with("only loopback was searched"));
        diagnosis.interfaces.clear();
        assert!(first(&diagnosis).starts_with("switch on an interface"));
        diagnosis.faulty = 1;
        assert!(first(&diagnosis).starts_with("mend the announcement"));
    }

    #[test]
    fn hints_come_from_what_is_installed() {
        assert!(Host::default().hints().is_empty());
        let host = |ufw: &str| Host {
            ufw: Some(ufw.to_owned()),
            ..Host::default()
        };
        assert!(host("# ufw\nENABLED=no\n").hints().is_empty());
        assert_eq!(host("# ufw\nENABLED=yes\n").hints().len(), 1);
        let wsl = Host {
            kernel: "Linux version 5.15.90.1-microsoft-standard-WSL2".to_owned(),
            container: true,
            ..Host::default()
        };
        assert_eq!(wsl.hints().len(), 2);
    }
}
