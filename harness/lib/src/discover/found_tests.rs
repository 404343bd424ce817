//! Each oddity of ESP-Claw's discovery and of other announcements, beside a good board that must stay usable.

use super::*;
use crate::discover::heard::Heard;
use simple_dns::rdata::{A, AAAA, PTR, RData, SRV, TXT};
use simple_dns::{CLASS, Name as Wire, Packet, ResourceRecord};
use std::time::Instant;

/// What a board announces; the default is a board without a fault.
struct Announcement<'a> {
    instance: &'a str,
    hostname: &'a str,
    port: Option<u16>,
    text: Option<&'a [&'a str]>,
    addresses: &'a [&'a str],
    sender: &'a str,
    interface: &'a str,
}

const GOOD: Announcement<'static> = Announcement {
    instance: "good",
    hostname: "good.local",
    port: Some(18791),
    text: Some(&["endpoint=mcp", "id=02:00:00:00:00:05", "build=17f4"]),
    addresses: &["192.168.1.5"],
    sender: "192.168.1.5",
    interface: "eth0",
};

const ODD: Announcement<'static> = Announcement {
    instance: "odd",
    hostname: "odd.local",
    text: Some(&["endpoint=mcp"]),
    addresses: &["192.168.1.6"],
    sender: "192.168.1.6",
    ..GOOD
};

impl Announcement<'_> {
    fn packet(&self) -> Vec<u8> {
        let service = Wire::new_unchecked("_mcp._tcp.local");
        let full = format!("{}._mcp._tcp.local", self.instance);
        let name = Wire::new_unchecked(&full);
        let mut packet = Packet::new_reply(0);
        let mut say = |owner: &Wire<'_>, rdata: RData<'_>| {
            let record = ResourceRecord::new(owner.clone(), CLASS::IN, 120, rdata);
            packet.answers.push(record.into_owned());
        };
        say(&service, RData::PTR(PTR(name.clone())));
        if let Some(port) = self.port {
            let target = Wire::new_unchecked(self.hostname);
            let (priority, weight) = (0, 0);
            say(
                &name,
                RData::SRV(SRV {
                    priority,
                    weight,
                    port,
                    target,
                }),
            );
        }
        if let Some(strings) = self.text {
            let text = strings
                .iter()
                .fold(TXT::new(), |text, string| text.with_string(string).unwrap());
            say(&name, RData::TXT(text));
        }
        for address in self.addresses {
            let host = Wire::new_unchecked(self.hostname);
            match address.parse().unwrap() {
                IpAddr::V4(v4) => say(&host, RData::A(A::from(v4))),
                IpAddr::V6(v6) => say(&host, RData::AAAA(AAAA::from(v6))),
            }
        }
        packet.build_bytes_vec().unwrap()
    }
}

fn interface(name: &str, index: u32, networks: &[(&str, u8)]) -> Interface {
    Interface {
        name: name.to_owned(),
        index,
        up: true,
        multicast: true,
        loopback: name == "lo",
        networks: networks
            .iter()
            .map(|(address, prefix)| Network {
                address: address.parse().unwrap(),
                prefix: *prefix,
            })
            .collect(),
    }
}

fn look(announcements: &[&Announcement<'_>]) -> Vec<Found> {
    let interfaces = [
        interface("lo", 1, &[("127.0.0.1", 8)]),
        interface(
            "eth0",
            2,
            &[("192.168.1.1", 24), ("fe80::1", 64), ("2001:db8::1", 64)],
        ),
        interface("wlan0", 3, &[("10.0.0.1", 24)]),
    ];
    let (mut heard, now) = (Heard::default(), Instant::now());
    for one in announcements {
        heard.packet(&one.packet(), one.sender.parse().unwrap(), one.interface, now);
    }
    found(heard.records(now), &Name::dotted("_mcp._tcp.local"), &interfaces)
}

/// The odd board, after the good one beside it was seen to be well.
fn odd(announcement: &Announcement<'_>) -> Found {
    let boards = look(&[announcement, &GOOD]);
    let good = boards.iter().find(|board| board.instance == "good").unwrap();
    assert_eq!(good.url.as_deref(), Some("http://192.168.1.5:18791/mcp"));
    assert!(good.complete && good.oddities.is_empty(), "{good:?}");
    boards.into_iter().find(|board| board.instance != "good").unwrap()
}

fn codes(board: &Found) -> Vec<&'static str> {
    board.oddities.iter().map(Oddity::code).collect()
}

#[test]
fn a_board_was_heard_when_it_described_itself_the_last_time() {
    let (mut heard, now) = (Heard::default(), Instant::now());
    let sender = GOOD.sender.parse().unwrap();
    let later = |seconds| now + std::time::Duration::from_secs(seconds);
    heard.packet(&GOOD.packet(), sender, "eth0", now);
    // its address alone describes nothing
    let mut packet = Packet::new_reply(0);
    let host = Wire::new_unchecked("good.local");
    let address = RData::A(A::from(std::net::Ipv4Addr::new(192, 168, 1, 5)));
    packet
        .answers
        .push(ResourceRecord::new(host, CLASS::IN, 120, address));
    heard.packet(&packet.build_bytes_vec().unwrap(), sender, "eth0", later(1));
    let at = |heard: &mut Heard| {
        let boards = found(heard.records(later(1)), &Name::dotted("_mcp._tcp.local"), &[]);
        boards[0].heard
    };
    assert_eq!(at(&mut heard), Some(now));
    heard.packet(&GOOD.packet(), sender, "eth0", later(2));
    assert_eq!(at(&mut heard), Some(later(2)));
}

#[test]
fn a_good_board_has_what_esp_claw_gives_and_more() {
    let boards = look(&[&GOOD]);
    let json = serde_json::to_value(&boards).unwrap();
    let wanted = serde_json::json!([{
        "instance": "good", "hostname": "good", "ip": "192.168.1.5", "port": 18791, "endpoint": "mcp",
        "server_url": "http://192.168.1.5:18791", "url": "http://192.168.1.5:18791/mcp",
        "addresses": ["192.168.1.5"],
        "txt": {"endpoint": "mcp", "id": "02:00:00:00:00:05", "build": "17f4"},
        "id": "02:00:00:00:00:05", "build": "17f4", "interface": "eth0", "complete": true, "reachable": null,
        "oddities": [],
    }]);
    assert_eq!(json, wanted);
    let target = boards[0].target().unwrap();
    assert_eq!(
        (target.authority.as_str(), target.path.as_str()),
        ("192.168.1.5:18791", "/mcp")
    );
}

#[test]
fn port_zero_leaves_no_way_to_the_board() {
    let board = odd(&Announcement { port: Some(0), ..ODD });
    assert_eq!(codes(&board), ["port-zero"]);
    assert_eq!(
        (board.port, board.url.as_ref(), board.complete),
        (Some(0), None, false)
    );
}

#[test]
fn without_a_service_record_there_is_neither_port_nor_hostname() {
    let board = odd(&Announcement {
        port: None,
        text: None,
        addresses: &[],
        ..ODD
    });
    assert_eq!(codes(&board), ["no-srv"]);
    assert_eq!((board.port, board.hostname, board.url), (None, None, None));
}

#[test]
fn without_a_hostname_the_sender_is_used() {
    let board = odd(&Announcement {
        hostname: "",
        addresses: &[],
        ..ODD
    });
    assert_eq!(codes(&board), ["no-hostname", "sender-used"]);
    assert_eq!(board.url.as_deref(), Some("http://192.168.1.6:18791/mcp"));
    assert_eq!((board.hostname, board.complete), (None, false));
}

#[test]
fn without_an_address_the_sender_is_used() {
    let board = odd(&Announcement {
        addresses: &[],
        ..ODD
    });
    assert_eq!(codes(&board), ["no-address", "sender-used"]);
    assert_eq!(board.url.as_deref(), Some("http://192.168.1.6:18791/mcp"));
}

#[test]
fn a_hostname_outside_local_is_told() {
    let board = odd(&Announcement {
        hostname: "odd.lan",
        ..ODD
    });
    assert_eq!(
        (codes(&board), board.hostname.as_deref()),
        (vec!["hostname-not-local"], Some("odd.lan"))
    );
}

#[test]
fn two_boards_with_one_hostname_keep_their_own_addresses() {
    let one = Announcement {
        instance: "one",
        hostname: "esp-claw.local",
        ..GOOD
    };
    let two = Announcement {
        instance: "two",
        hostname: "ESP-Claw.local",
        ..ODD
    };
    let boards = look(&[&one, &two]);
    let urls: Vec<_> = boards.iter().map(|board| board.url.as_deref().unwrap()).collect();
    assert_eq!(
        urls,
        ["http://192.168.1.5:18791/mcp", "http://192.168.1.6:18791/mcp"]
    );
    assert_eq!(
        [codes(&boards[0]), codes(&boards[1])],
        [["same-hostname"], ["same-hostname"]]
    );
    assert!(
        boards[0].oddities[0]
            .to_string()
            .contains("\"two\" at 192.168.1.6")
    );
}

#[test]
fn two_boards_with_one_instance_name_are_two() {
    for text in [["endpoint=mcp", "id=5"], ["endpoint=mcp", "version=2"]] {
        let other = ["endpoint=mcp", "id=6"];
        let one = Announcement {
            instance: "ESP-Claw",
            hostname: "esp-claw.local",
            text: Some(&text),
            ..GOOD
        };
        let two = Announcement {
            text: Some(&other),
            addresses: &["192.168.1.6"],
            sender: "192.168.1.6",
            ..one
        };
        let boards = look(&[&one, &two]);
        let urls: Vec<_> = boards.iter().map(|board| board.url.as_deref().unwrap()).collect();
        assert_eq!(
            urls,
            ["http://192.168.1.5:18791/mcp", "http://192.168.1.6:18791/mcp"]
        );
        assert_eq!(codes(&boards[0]), ["same-instance", "same-hostname"]);
    }
}

#[test]
fn two_servers_on_one_host_are_not_odd() {
    let second = Announcement {
        instance: "second",
        hostname: GOOD.hostname,
        port: Some(18792),
        text: Some(&["endpoint=mcp", "id=other"]),
        addresses: GOOD.addresses,
        sender: GOOD.sender,
        ..ODD
    };
    for board in look(&[&GOOD, &second]) {
        assert!(board.oddities.is_empty(), "{board:?}");
    }
}

#[test]
fn one_board_heard_on_two_ways_is_one() {
    let over_v6 = Announcement {
        sender: "fe80::5",
        addresses: &["2001:db8::5"],
        ..GOOD
    };
    let over_wifi = Announcement {
        sender: "10.0.0.5",
        interface: "wlan0",
        addresses: &["10.0.0.5"],
        ..GOOD
    };
    for text in [GOOD.text.unwrap(), &["endpoint=mcp"]] {
        let with = |one: &Announcement<'static>| Announcement {
            text: Some(text),
            ..*one
        };
        let boards = look(&[
            &Announcement {
                addresses: &["192.168.1.5"],
                ..with(&GOOD)
            },
            &with(&over_v6),
            &with(&over_wifi),
        ]);
        assert_eq!(boards.len(), 1, "{boards:?}");
        let addresses: Vec<_> = boards[0].addresses.iter().map(IpAddr::to_string).collect();
        assert_eq!(addresses, ["192.168.1.5", "10.0.0.5", "2001:db8::5"]);
        assert!(boards[0].oddities.is_empty());
    }
}

#[test]
fn the_text_record_is_judged() {
    for (text, code, url) in [
        (None, "txt-missing", "http://192.168.1.6:18791/mcp"),
        (Some(&[][..]), "txt-empty", "http://192.168.1.6:18791/mcp"),
        (
            Some(&["version=1"][..]),
            "endpoint-missing",
            "http://192.168.1.6:18791/mcp",
        ),
        (
            Some(&["EndPoint=api"][..]),
            "endpoint-case",
            "http://192.168.1.6:18791/api",
        ),
        (
            Some(&["path=/api"][..]),
            "path-instead",
            "http://192.168.1.6:18791/api",
        ),
        (
            Some(&["endpoint=http://192.168.1.6:18791/api"][..]),
            "endpoint-url",
            "http://192.168.1.6:18791/api",
        ),
    ] {
        let board = odd(&Announcement { text, ..ODD });
        assert_eq!((codes(&board), board.url.as_deref()), (vec![code], Some(url)));
    }
}

#[test]
fn an_ipv6_address_is_bracketed() {
    let board = odd(&Announcement {
        addresses: &["2001:db8::6"],
        ..ODD
    });
    assert_eq!(codes(&board), ["ipv6-only"]);
    assert_eq!(board.url.as_deref(), Some("http://[2001:db8::6]:18791/mcp"));
    let target = board.target().unwrap();
    assert_eq!(
        (target.host.as_str(), target.authority.as_str()),
        ("2001:db8::6", "[2001:db8::6]:18791")
    );
}

#[test]
fn a_link_local_address_comes_with_its_interface() {
    let board = odd(&Announcement {
        addresses: &["fe80::6"],
        ..ODD
    });
    assert_eq!(board.oddities, [Oddity::Ipv6Only { link_local: true }]);
    assert_eq!(board.url.as_deref(), Some("http://[fe80::6%25eth0]:18791/mcp"));
    let target = board.target().unwrap();
    assert_eq!(
        (target.host.as_str(), target.authority.as_str()),
        ("fe80::6%2", "[fe80::6]:18791")
    );
}

#[test]
fn an_address_of_another_network_is_told_and_comes_last() {
    let board = odd(&Announcement {
        addresses: &["10.9.9.9", "192.168.1.6"],
        ..ODD
    });
    assert_eq!(
        (codes(&board), board.ip),
        (vec!["off-subnet"], Some(IpAddr::from([192, 168, 1, 6])))
    );
    let text = board.oddities[0].to_string();
    assert!(
        text.starts_with("10.9.9.9 is on none of our networks (127.0.0.1/8, 192.168.1.1/24, 10.0.0.1/24)"),
        "{text}"
    );
}

#[test]
fn addresses_that_lead_nowhere_are_not_used() {
    let board = odd(&Announcement {
        addresses: &["0.0.0.0", "127.0.0.1", "192.168.1.6"],
        ..ODD
    });
    assert_eq!(codes(&board), ["no-board-address", "loopback-announced"]);
    assert_eq!(board.addresses, [IpAddr::from([192, 168, 1, 6])]);
    let on_loopback = Announcement {
        addresses: &["127.0.0.1"],
        sender: "127.0.0.1",
        interface: "lo",
        ..ODD
    };
    assert_eq!(codes(&odd(&on_loopback)), Vec::<&str>::new());
}

#[test]
fn what_the_network_says_cannot_write_on_a_terminal() {
    let board = odd(&Announcement {
        text: Some(&["endpoint=\u{1b}[2J"]),
        ..ODD
    });
    let text = board.oddities[0].to_string();
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2J"), "{text}");
}

#[test]
fn what_was_resolved_elsewhere_fills_gaps_only() {
    let (mut heard, now) = (Heard::default(), Instant::now());
    let service = Name::dotted("_mcp._tcp.local");
    let (name, host) = (service.instance("odd"), Name::dotted("odd.local"));
    let silent = Announcement {
        text: None,
        addresses: &[],
        port: None,
        ..ODD
    };
    heard.packet(&silent.packet(), IpAddr::from([192, 168, 1, 6]), "eth0", now);
    heard.resolved(service.clone(), Data::Pointer(name.clone()), "eth0", now);
    heard.resolved(
        name.clone(),
        Data::Service {
            port: 18791,
            host: host.clone(),
        },
        "eth0",
        now,
    );
    heard.resolved(
        name.clone(),
        Data::Text(vec![("endpoint".to_owned(), Some("mcp".to_owned()))]),
        "eth0",
        now,
    );
    heard.resolved(host, Data::Address(IpAddr::from([192, 168, 1, 6])), "eth0", now);
    let interfaces = [interface("eth0", 2, &[("192.168.1.1", 24)])];
    let boards = found(heard.records(now), &service, &interfaces);
    assert_eq!(boards.len(), 1);
    assert!(
        boards[0].complete && boards[0].oddities.is_empty(),
        "{:?}",
        boards[0]
    );
    heard.forget(&name);
    assert_eq!(
        codes(&found(heard.records(now), &service, &interfaces)[0]),
        ["no-srv"]
    );
}

#[test]
fn what_was_resolved_elsewhere_makes_no_two_boards_one() {
    let (mut heard, now) = (Heard::default(), Instant::now());
    let service = Name::dotted("_mcp._tcp.local");
    let (name, host) = (service.instance("ESP-Claw"), Name::dotted("esp-claw.local"));
    let described = Data::Service {
        port: 18791,
        host: host.clone(),
    };
    heard.resolved(service.clone(), Data::Pointer(name.clone()), "eth0", now);
    heard.resolved(name, described, "eth0", now);
    for last in [5, 6] {
        let address = IpAddr::from([192, 168, 1, last]);
        heard.resolved(host.clone(), Data::Address(address), "eth0", now);
    }
    for board in [&GOOD, &ODD] {
        let claw = Announcement {
            instance: "ESP-Claw",
            hostname: "esp-claw.local",
            text: ODD.text,
            ..*board
        };
        heard.packet(&claw.packet(), claw.sender.parse().unwrap(), "eth0", now);
    }
    let interfaces = [interface("eth0", 2, &[("192.168.1.1", 24)])];
    let boards = found(heard.records(now), &service, &interfaces);
    let addresses: Vec<_> = boards.iter().map(|board| board.addresses.clone()).collect();
    assert_eq!(
        addresses,
        [5, 6].map(|last| vec![IpAddr::from([192, 168, 1, last])])
    );
}

#[test]
fn a_board_is_called_by_instance_or_hostname() {
    let board = odd(&Announcement {
        instance: "My Odd",
        ..ODD
    });
    for name in [
        "My Odd",
        "my odd",
        "odd",
        "odd.local",
        "odd.local.",
        "ODD",
        "My Odd._mcp._tcp.local",
    ] {
        assert!(board.is_called(name), "{name}");
    }
    for name in ["", "my", "odd.lan", "odd._mcp", "local"] {
        assert!(!board.is_called(name), "{name}");
    }
}
