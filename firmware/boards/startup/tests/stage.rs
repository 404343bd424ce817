//! Console lines, word for word.

use mcp_device::Millis;
use mcp_hil_board_startup::configuration::{Configuration, ConfigurationError, Wifi};
use mcp_hil_board_startup::stage::{self, Told, Unconfigured};
use mcp_hil_board_startup::station::{Event, Station, Step};

fn with_network() -> Configuration<'static> {
    Configuration {
        wifi: Some(NETWORK),
        ..Configuration::default()
    }
}

const NETWORK: Wifi<'static> = Wifi {
    ssid: b"net",
    password: None,
};

#[test]
fn a_board_with_wifi_starts_with_a_network_only() {
    for (sector, state, started) in [
        (Ok(with_network()), "ok", Ok((NETWORK, with_network()))),
        (
            Ok(Configuration::default()),
            "missing",
            Err(Unconfigured::NoNetwork),
        ),
        (
            Err(ConfigurationError::Missing),
            "missing",
            Err(Unconfigured::Sector(ConfigurationError::Missing)),
        ),
        (
            Err(ConfigurationError::Unreadable(1)),
            "bad",
            Err(Unconfigured::Sector(ConfigurationError::Unreadable(1))),
        ),
        (
            Err(ConfigurationError::Version(2)),
            "bad",
            Err(Unconfigured::Sector(ConfigurationError::Version(2))),
        ),
    ] {
        let (told, found) = stage::wireless(sector);
        assert_eq!(
            told.to_string(),
            format!("mcp-device boot stage=configuration state={state}")
        );
        assert_eq!(found, started);
    }
}

#[test]
fn a_board_with_a_cable_starts_without_a_sector_but_not_with_a_damaged_one() {
    for (sector, state, started) in [
        (Ok(with_network()), "ok", Ok(with_network())),
        (Ok(Configuration::default()), "ok", Ok(Configuration::default())),
        (
            Err(ConfigurationError::Missing),
            "missing",
            Ok(Configuration::default()),
        ),
        (
            Err(ConfigurationError::Crc),
            "bad",
            Err(Unconfigured::Sector(ConfigurationError::Crc)),
        ),
    ] {
        let (told, found) = stage::wired(sector);
        assert_eq!(
            told.to_string(),
            format!("mcp-device boot stage=configuration state={state}")
        );
        assert_eq!(found, started);
    }
}

#[test]
fn a_board_that_waits_says_why_and_what_to_do() {
    for (reason, text) in [
        (Unconfigured::NoNetwork, "it names no network"),
        (Unconfigured::Sector(ConfigurationError::Missing), "there is none"),
        (
            Unconfigured::Sector(ConfigurationError::Length(5000, 4084)),
            "it claims 5000 bytes of entries; there is room for 4084",
        ),
    ] {
        assert_eq!(
            reason.to_string(),
            format!(
                "mcp-device warning: configuration: {text}; write a configuration sector, and reset the board"
            )
        );
    }
}

/// Takes a station through events, each at its time, and gives what is told of them.
fn told(events: &[(u64, Event)]) -> Vec<String> {
    let mut station = Station::new(1, Millis(0));
    let mut lines = Vec::new();
    for &(now, event) in events {
        let from = station.step();
        let to = station.on(event, Millis(now));
        lines.extend(
            Told::of(from, event, to, "NoAccessPointFound", Millis(now)).map(|told| told.to_string()),
        );
    }
    lines
}

#[test]
fn a_station_tells_when_it_joins() {
    let lines = told(&[(10, Event::Joined), (20, Event::Addressed)]);
    assert_eq!(lines, ["mcp-device boot stage=joined"]);
}

#[test]
fn a_station_that_is_out_tells_why_and_for_how_long() {
    let lines = told(&[(10, Event::Refused)]);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let pause = line
        .strip_prefix("mcp-device warning: not in the network: NoAccessPointFound; next attempt in ")
        .and_then(|rest| rest.strip_suffix(" ms"))
        .and_then(|pause| pause.parse::<u64>().ok());
    assert!(pause.is_some_and(|pause| (750..=1000).contains(&pause)), "{line}");
    assert_eq!(
        told(&[(10, Event::Joined), (20, Event::Gone)]).len(),
        2,
        "lost again"
    );
}

#[test]
fn a_station_tells_that_it_gives_up_once() {
    assert_eq!(
        told(&[(30_000, Event::Elapsed), (30_001, Event::Gone)]),
        ["mcp-device warning: the radio neither joins nor gives up; stopping it"]
    );
    assert_eq!(
        told(&[
            (10, Event::Joined),
            (45_010, Event::Elapsed),
            (45_020, Event::Gone)
        ]),
        [
            "mcp-device boot stage=joined",
            "mcp-device warning: the network gives no address; leaving it for another attempt"
        ]
    );
    assert_eq!(
        Station::new(1, Millis(0)).step(),
        Step::Join {
            until: Millis(30_000)
        }
    );
}

#[test]
fn a_station_tells_that_it_restarts_the_board() {
    let silence = [(0, Event::Elapsed), (0, Event::Gone), (60_000, Event::Elapsed)];
    let lines = told(&silence.repeat(5));
    assert_eq!(
        lines.last().map(String::as_str),
        Some("mcp-device warning: no address in a row of attempts; restarting, for the radio may be stuck")
    );
    assert_eq!(lines.len(), 5, "{lines:?}");
}
