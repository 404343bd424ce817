//! The TXT record (RFC 6763, 6).

use crate::fault::{BOTH, Fault, must, must_not, should, should_not};
use crate::mdns::text;
use mcp_hil_conformance::mdns::wire::TXT;

/// A value of 200 characters.
const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

pub const FAULTS: &[Fault] = &[
    should(
        "mdns-txt-twice",
        BOTH,
        "mdns/txt-single-record",
        "has two TXT records",
    )
    .zone(|zone| {
        let second = text(&zone.instance, &["path=/other"]);
        zone.records.push(second);
    }),
    must(
        "mdns-txt-length",
        BOTH,
        "mdns/txt-string-length",
        "has a string in TXT that is shorter than its length",
    )
    .zone(|zone| zone.of(TXT).for_each(|record| record.data[0] = 200)),
    must(
        "mdns-txt-no-length",
        BOTH,
        "mdns/txt-string-length",
        "has text without lengths in TXT",
    )
    .zone(|zone| {
        zone.of(TXT)
            .for_each(|record| record.data = b"path=/mcp".to_vec())
    }),
    must(
        "mdns-txt-nothing",
        BOTH,
        "mdns/txt-empty",
        "has a TXT record of no bytes",
    )
    .zone(|zone| zone.of(TXT).for_each(|record| record.data.clear())),
    must_not(
        "mdns-txt-no-key",
        BOTH,
        "mdns/txt-no-empty-key",
        "has a value without a key in TXT",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "=value"])),
    must(
        "mdns-txt-key-umlaut",
        BOTH,
        "mdns/txt-key-syntax",
        "has a key in TXT that is not ASCII",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "gerät=1"])),
    must(
        "mdns-txt-key-control",
        BOTH,
        "mdns/txt-key-syntax",
        "has a control character in a key of TXT",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "a\tb=1"])),
    should(
        "mdns-txt-key-long",
        BOTH,
        "mdns/txt-key-length",
        "has a key of 12 characters in TXT",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "manufacturer=us"])),
    should_not(
        "mdns-txt-key-twice",
        BOTH,
        "mdns/txt-key-unique",
        "has a key twice in TXT, in other letters",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "PATH=/other"])),
    should(
        "mdns-txt-long",
        BOTH,
        "mdns/txt-size",
        "has a TXT record of more than 400 bytes",
    )
    .zone(|zone| {
        let value = format!("b={LONG}");
        zone.say(&["txtvers=1", "path=/mcp", &value, &value.replace('b', "c")]);
    }),
    should(
        "mdns-txt-version-last",
        BOTH,
        "mdns/txt-version-key",
        "has txtvers last in TXT",
    )
    .zone(|zone| zone.say(&["path=/mcp", "txtvers=1"])),
    must_not(
        "mdns-txt-secret",
        BOTH,
        "mdns/txt-no-secrets",
        "tells a password in TXT",
    )
    .zone(|zone| zone.say(&["txtvers=1", "path=/mcp", "password=hunter2"])),
];
