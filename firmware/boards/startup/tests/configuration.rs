//! The configuration sector: the samples that every reader and writer shares, and each bound from both sides.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use std::fs;
use std::path::PathBuf;

use mcp_hil_board_startup::configuration::{Configuration, ConfigurationError, ENTRIES, HEADER, SECTOR};
use proptest::prelude::*;
use serde_json::Value;

const SSID: u8 = 1;
const PASSWORD: u8 = 2;
const HOSTNAME: u8 = 3;
const TOKEN: u8 = 4;
const ADDRESS: u8 = 5;

/// CRC-32 as the format's page describes it, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !crc
}

/// A whole sector with these bytes of entries, erased behind them.
fn sector(entries: &[u8]) -> Vec<u8> {
    let mut bytes = b"MCPC\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(entries.len()).unwrap().to_le_bytes());
    let crc = crc(&[&bytes, entries].concat());
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(entries);
    bytes.resize(SECTOR, 0xff);
    bytes
}

fn entry(tag: u8, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [&[tag, u8::try_from(value.len()).unwrap()], value].concat()
}

/// What a sector with this one entry, and a network where it needs one, is refused for.
fn refusal(tag: u8, value: impl AsRef<[u8]>) -> Option<ConfigurationError> {
    let mut entries = entry(tag, value);
    if tag == PASSWORD {
        entries.extend(entry(SSID, "net"));
    }
    Configuration::parse(&sector(&entries)).err()
}

fn samples() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../../fixtures/configuration"]
        .iter()
        .collect()
}

#[test]
fn the_samples_say_what_their_json_says() {
    let read = |name: &str| fs::read_to_string(samples().join(name)).unwrap();
    let schema: Value = serde_json::from_str(&read("configuration.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for name in ["open", "wpa2", "all", "wired", "static"] {
        let json: Value = serde_json::from_str(&read(&format!("{name}.json"))).unwrap();
        assert!(schema.is_valid(&json), "{name}");
        let hex: String = read(&format!("{name}.hex")).split_whitespace().collect();
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();

        let found = Configuration::parse(&bytes).unwrap();
        let wifi = found.wifi;
        assert_eq!(
            wifi.map(|wifi| wifi.ssid),
            json["wifi"]["ssid"].as_str().map(str::as_bytes),
            "{name}"
        );
        let password = wifi.and_then(|wifi| wifi.password).map(|secret| secret.reveal());
        assert_eq!(password, json["wifi"]["password"].as_str(), "{name}");
        assert_eq!(
            found.hostname.as_ref().map(|label| label.as_str()),
            json["hostname"].as_str(),
            "{name}"
        );
        assert_eq!(
            found.token.map(|secret| secret.reveal()),
            json["token"].as_str(),
            "{name}"
        );
        let address = found
            .address
            .map(|address| format!("{}/{}", address.ip, address.prefix));
        assert_eq!(address.as_deref(), json["ipv4"]["address"].as_str(), "{name}");
        let gateway = found
            .address
            .and_then(|address| address.gateway)
            .map(|ip| ip.to_string());
        assert_eq!(gateway.as_deref(), json["ipv4"]["gateway"].as_str(), "{name}");
    }
    let files = fs::read_dir(samples()).unwrap();
    assert_eq!(files.count(), 2 + 2 * 5, "a sample that is not looked at");
}

#[test]
fn the_schema_and_the_board_refuse_the_same() {
    let schema = fs::read_to_string(samples().join("configuration.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let texts = [
        "",
        "a",
        "a-b",
        "-a",
        "a-",
        "a.b",
        "ä",
        "1234567",
        "12345678",
        "tab\tinside",
        "0123456789abcdef",
        "0123456789abcde",
        "0123456789abcde=",
        "================",
        "0123456789=abcde",
        "0123456789abcde~+/._-==",
        "0123456789 abcde",
    ];
    let long = [62, 63, 64, 65, 128, 129].map(|length| "a".repeat(length));
    let long_hexless = ["x".repeat(63), "x".repeat(64)];
    for text in texts
        .into_iter()
        .chain(long.iter().chain(&long_hexless).map(String::as_str))
    {
        for (tag, json) in [
            (
                PASSWORD,
                serde_json::json!({ "wifi": { "ssid": "net", "password": text } }),
            ),
            (HOSTNAME, serde_json::json!({ "hostname": text })),
            (TOKEN, serde_json::json!({ "token": text })),
        ] {
            assert_eq!(
                refusal(tag, text).is_none(),
                schema.is_valid(&json),
                "tag {tag}: {text:?}"
            );
        }
    }
}

#[test]
fn each_value_is_bounded_on_both_sides() {
    assert_eq!(refusal(SSID, ""), Some(ConfigurationError::Ssid));
    assert_eq!(refusal(SSID, "x"), None);
    assert_eq!(refusal(SSID, [0xff; 32]), None, "any bytes");
    assert_eq!(refusal(SSID, [b'x'; 33]), Some(ConfigurationError::Ssid));

    assert_eq!(refusal(PASSWORD, [b'x'; 7]), Some(ConfigurationError::Password));
    assert_eq!(refusal(PASSWORD, [b'x'; 8]), None);
    assert_eq!(refusal(PASSWORD, [b'x'; 63]), None);
    assert_eq!(
        refusal(PASSWORD, [b'x'; 64]),
        Some(ConfigurationError::Password),
        "64 are hex digits"
    );
    assert_eq!(refusal(PASSWORD, [b'F'; 64]), None);
    assert_eq!(refusal(PASSWORD, [b'f'; 65]), Some(ConfigurationError::Password));
    for byte in [0x1f, 0x7f, 0x80] {
        assert_eq!(
            refusal(PASSWORD, [byte; 8]),
            Some(ConfigurationError::Password),
            "{byte:#x}"
        );
    }
    for byte in [0x20, 0x7e] {
        assert_eq!(refusal(PASSWORD, [byte; 8]), None, "{byte:#x}");
    }

    assert_eq!(refusal(HOSTNAME, ""), Some(ConfigurationError::Hostname));
    assert_eq!(refusal(HOSTNAME, [b'x'; 63]), None);
    assert_eq!(refusal(HOSTNAME, [b'x'; 64]), Some(ConfigurationError::Hostname));

    assert_eq!(refusal(TOKEN, [b'x'; 15]), Some(ConfigurationError::Token));
    assert_eq!(refusal(TOKEN, [b'x'; 16]), None);
    assert_eq!(refusal(TOKEN, [b'x'; 128]), None);
    assert_eq!(refusal(TOKEN, [b'x'; 129]), Some(ConfigurationError::Token));
}

#[test]
fn an_address_is_a_hosts_and_the_gateway_its_neighbour() {
    for legal in [
        &[10, 0, 0, 1, 1][..],
        &[192, 168, 4, 20, 24],
        &[192, 168, 4, 20, 24, 192, 168, 4, 1],
        &[192, 168, 4, 254, 24, 192, 168, 4, 1],
        &[192, 168, 4, 1, 30, 192, 168, 4, 2],
        &[192, 168, 4, 0, 16, 192, 168, 255, 254],
        &[223, 255, 255, 254, 24],
    ] {
        assert_eq!(refusal(ADDRESS, legal), None, "{legal:?}");
    }
    for (value, why) in [
        (&[][..], "empty"),
        (&[192, 168, 4, 20], "no prefix"),
        (&[192, 168, 4, 20, 24, 192], "half a gateway"),
        (&[192, 168, 4, 20, 24, 192, 168, 4, 1, 0], "more than a gateway"),
        (&[192, 168, 4, 20, 0], "no network"),
        (&[192, 168, 4, 20, 31], "no room for a neighbour"),
        (&[192, 168, 4, 20, 33], "no such prefix"),
        (&[192, 168, 4, 0, 24], "the network itself"),
        (&[192, 168, 4, 255, 24], "everyone"),
        (&[0, 0, 0, 1, 8], "this network"),
        (&[127, 0, 0, 1, 8], "loopback"),
        (&[224, 0, 0, 251, 24], "a group"),
        (
            &[192, 168, 4, 20, 24, 192, 168, 5, 1],
            "a gateway of another network",
        ),
        (&[192, 168, 4, 20, 24, 192, 168, 4, 20], "its own gateway"),
        (
            &[192, 168, 4, 20, 24, 192, 168, 4, 255],
            "everyone as the gateway",
        ),
    ] {
        assert_eq!(
            refusal(ADDRESS, value),
            Some(ConfigurationError::Address),
            "{why}"
        );
    }
}

#[test]
fn the_schema_knows_what_an_address_looks_like() {
    let schema = fs::read_to_string(samples().join("configuration.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    for (address, is_one) in [
        ("10.0.0.1/1", true),
        ("192.168.4.20/24", true),
        ("192.168.4.20/30", true),
        ("192.168.4.20/31", false),
        ("192.168.4.20/0", false),
        ("192.168.4.20/024", false),
        ("192.168.4.20", false),
        ("192.168.4.256/24", false),
        ("192.168.04.20/24", false),
        ("192.168.4/24", false),
    ] {
        let json = serde_json::json!({ "ipv4": { "address": address } });
        assert_eq!(schema.is_valid(&json), is_one, "{address}");
    }
    let without_address = serde_json::json!({ "ipv4": { "gateway": "192.168.4.1" } });
    assert!(!schema.is_valid(&without_address));
}

#[test]
fn a_password_needs_a_network() {
    let alone = sector(&entry(PASSWORD, "correct horse"));
    assert_eq!(
        Configuration::parse(&alone),
        Err(ConfigurationError::PasswordAlone)
    );
}

#[test]
fn nothing_configured_is_a_configuration() {
    assert_eq!(Configuration::parse(&sector(&[])), Ok(Configuration::default()));
}

#[test]
fn erased_flash_and_foreign_bytes_are_told_apart() {
    assert_eq!(
        Configuration::parse(&[0xff; SECTOR]),
        Err(ConfigurationError::Missing)
    );
    assert_eq!(Configuration::parse(&[0; SECTOR]), Err(ConfigurationError::Magic));
    assert_eq!(
        Configuration::parse(b"MCPD\x01\x00\x00\x00\x00\x00\x00\x00"),
        Err(ConfigurationError::Magic)
    );
}

#[test]
fn versions_before_and_after_are_refused() {
    for version in [0u16, 2, 0x100, u16::MAX] {
        let mut bytes = sector(&entry(SSID, "net"));
        bytes[4..6].copy_from_slice(&version.to_le_bytes());
        assert_eq!(
            Configuration::parse(&bytes),
            Err(ConfigurationError::Version(version))
        );
    }
}

#[test]
fn a_sector_may_be_full_and_not_fuller() {
    let mut entries: Vec<u8> = entry(SSID, "net");
    while ENTRIES - entries.len() > 257 {
        entries.extend(entry(200, [0; 255]));
    }
    entries.extend(entry(201, vec![0; ENTRIES - entries.len() - 2]));
    assert_eq!(entries.len(), 4084, "the length that the format's page gives");
    let full = sector(&entries);
    assert_eq!(full.len(), SECTOR);
    assert_eq!(Configuration::parse(&full).unwrap().wifi.unwrap().ssid, b"net");

    entries.push(202);
    let longer = [sector(&entries), vec![0xff; SECTOR]].concat();
    assert_eq!(
        Configuration::parse(&longer),
        Err(ConfigurationError::Length(4085, 4084))
    );
}

#[test]
fn a_sector_cut_short_anywhere_is_refused() {
    let entries = [entry(SSID, "net"), entry(PASSWORD, "correct horse")].concat();
    let whole = &sector(&entries)[..HEADER + entries.len()];
    assert!(Configuration::parse(whole).is_ok());
    for length in 0..whole.len() {
        let claimed = if length < HEADER { 0 } else { entries.len() };
        let room = length.saturating_sub(HEADER);
        let cut = Configuration::parse(&whole[..length]);
        assert_eq!(
            cut,
            Err(ConfigurationError::Length(claimed, room)),
            "{length} bytes"
        );
    }
}

#[test]
fn a_write_that_stopped_in_the_entries_is_a_wrong_crc() {
    let mut bytes = sector(&entry(SSID, "workshop"));
    bytes[HEADER + 6..].fill(0xff);
    assert_eq!(Configuration::parse(&bytes), Err(ConfigurationError::Crc));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let entries = [entry(SSID, "net"), entry(TOKEN, "0123456789abcdef")].concat();
    let whole = sector(&entries);
    for bit in 0..(HEADER + entries.len()) * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = Configuration::parse(&bytes).unwrap_err();
        let expected = match bit / 8 {
            0..4 => found == ConfigurationError::Magic,
            4..6 => matches!(found, ConfigurationError::Version(_)),
            6..8 => matches!(found, ConfigurationError::Crc | ConfigurationError::Length(..)),
            _ => found == ConfigurationError::Crc,
        };
        assert!(expected, "bit {bit}: {found}");
    }
    let mut behind = whole;
    behind[HEADER + entries.len()] = 0;
    assert!(
        Configuration::parse(&behind).is_ok(),
        "what lies behind is not looked at"
    );
}

#[test]
fn entries_must_end_where_the_sector_says() {
    for (entries, at) in [
        (vec![SSID], 12),
        (vec![SSID, 4, b'n', b'e', b't'], 12),
        ([entry(SSID, "net"), vec![9]].concat(), 17),
    ] {
        assert_eq!(
            Configuration::parse(&sector(&entries)),
            Err(ConfigurationError::Entry(at))
        );
    }
}

#[test]
fn a_known_entry_is_there_once_and_an_unknown_one_is_passed_over() {
    let twice = [entry(HOSTNAME, "a"), entry(SSID, "net"), entry(HOSTNAME, "a")].concat();
    assert_eq!(
        Configuration::parse(&sector(&twice)),
        Err(ConfigurationError::Repeated(HOSTNAME))
    );
    let unknown = [
        entry(0, ""),
        entry(255, [1; 255]),
        entry(SSID, "net"),
        entry(255, ""),
    ]
    .concat();
    assert_eq!(
        Configuration::parse(&sector(&unknown))
            .unwrap()
            .wifi
            .unwrap()
            .ssid,
        b"net"
    );
}

#[test]
fn secrets_are_not_printed() {
    let entries = [
        entry(SSID, "net"),
        entry(PASSWORD, "correct horse"),
        entry(TOKEN, "0123456789abcdef"),
    ]
    .concat();
    let bytes = sector(&entries);
    let printed = format!("{:?}", Configuration::parse(&bytes).unwrap());
    assert!(printed.contains("(secret)"), "{printed}");
    assert!(
        !printed.contains("horse") && !printed.contains("0123"),
        "{printed}"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Configuration::parse(&bytes);
        if bytes.len() <= ENTRIES {
            let _ = Configuration::parse(&sector(&bytes));
        }
    }
}
