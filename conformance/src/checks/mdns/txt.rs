//! The TXT record (RFC 6763, 6).

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{TXT, query, same, write};
use std::collections::HashSet;

/// Names of keys that tell a secret.
const SECRET: [&str; 5] = ["password", "passwd", "secret", "token", "apikey"];

pub const CHECKS: &[Check] = &[check!(
    "mdns/txt",
    BOTH,
    txt,
    [
        "mdns/txt-single-record",
        "mdns/txt-string-length",
        "mdns/txt-size",
        "mdns/txt-empty",
        "mdns/txt-no-empty-key",
        "mdns/txt-key-syntax",
        "mdns/txt-key-length",
        "mdns/txt-key-unique",
        "mdns/txt-version-key",
        "mdns/txt-no-secrets",
    ]
)];

async fn txt(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let asked = air
        .ask(&write(&query(&[(&board.instance, TXT)])), |asked| {
            asked.answers(&board.instance, TXT)
        })
        .await?;
    let evidence = [&asked.exchange];
    let records: Vec<_> = asked
        .messages()
        .flat_map(|(_, message)| &message.answers)
        .filter(|record| record.kind == TXT && same(&record.name, &board.instance))
        .collect();
    let Some(record) = records.first() else {
        return Err(Stop::Skip(
            "it gives no TXT record, which another check judges".to_owned(),
        ));
    };
    if records.iter().any(|other| other.data != record.data) {
        lab.found(
            "mdns/txt-single-record",
            format!("it has {} TXT records", records.len()),
            &evidence,
        );
    }
    let Some(strings) = record.strings() else {
        lab.found(
            "mdns/txt-string-length",
            "the lengths of its strings don't add up",
            &evidence,
        );
        return Ok(());
    };
    if record.data.is_empty() {
        lab.found(
            "mdns/txt-empty",
            "a TXT record without strings is one zero byte, and this one has none",
            &evidence,
        );
    }
    if record.data.len() >= 400 {
        lab.found(
            "mdns/txt-size",
            format!("the TXT record has {} bytes", record.data.len()),
            &evidence,
        );
    }
    let mut seen = HashSet::new();
    for (number, string) in strings.iter().filter(|string| !string.is_empty()).enumerate() {
        let shown = String::from_utf8_lossy(string).into_owned();
        let key = string.split(|byte| *byte == b'=').next().unwrap_or_default();
        if key.is_empty() {
            lab.found(
                "mdns/txt-no-empty-key",
                format!("the string {shown:?} has no key"),
                &evidence,
            );
            continue;
        }
        if !key.iter().all(|byte| (0x20..=0x7e).contains(byte)) {
            lab.found(
                "mdns/txt-key-syntax",
                format!("the key of {shown:?} is not printable ASCII"),
                &evidence,
            );
        }
        if key.len() > 9 {
            lab.found(
                "mdns/txt-key-length",
                format!("the key of {shown:?} has {} characters", key.len()),
                &evidence,
            );
        }
        let lower = String::from_utf8_lossy(key).to_ascii_lowercase();
        if !seen.insert(lower.clone()) {
            lab.found(
                "mdns/txt-key-unique",
                format!("the key {lower:?} is there twice"),
                &evidence,
            );
        }
        if lower == "txtvers" && number > 0 {
            lab.found(
                "mdns/txt-version-key",
                "txtvers is not the first string",
                &evidence,
            );
        }
        if SECRET
            .iter()
            .any(|secret| lower.replace(['_', '-'], "").contains(secret))
        {
            lab.found(
                "mdns/txt-no-secrets",
                format!("the key {lower:?} tells a secret to everybody"),
                &evidence,
            );
        }
    }
    Ok(())
}
