//! Sessions of a legacy server that has them.

use super::methods::bare;
use super::{NOWHERE, set, unset};
use crate::check::{Check, LEGACY, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Client, Exchange, compose};
use mcp_hil_harness::http::Request;
use serde_json::Value;

const SESSION: &str = "Mcp-Session-Id";
const ASCII: &str = "2025-11-25/session/id-visible-ascii";
const UNKNOWN: &str = "2025-11-25/session/unknown-id-404";
const MISSING: &str = "2025-11-25/session/missing-id-400";
const DELETED: &str = "2025-11-25/session/delete-accepted-or-405";
const TERMINATED: &str = "2025-11-25/session/terminated-404";
const ISOLATION: &str = "2025-11-25/session/isolation";
const UNGUESSABLE: &str = "2025-11-25/session/id-unguessable";
/// Sessions that are opened, one after the other, to compare their ids.
const IDS: usize = 4;
/// Bits that can't be guessed: half of what a random UUID has, so that no honest id is taken for a weak one.
const MIN_BITS: f64 = 60.0;

pub const CHECKS: &[Check] = &[
    check!("http/session-id", LEGACY, id, [ASCII]).over(Over::Http),
    check!("http/session-unknown", LEGACY, unknown, [UNKNOWN, MISSING]).over(Over::Http),
    check!(
        "http/session-ended",
        LEGACY,
        ended,
        [DELETED, TERMINATED, ISOLATION]
    )
    .over(Over::Http)
    .with_two_connections(),
    check!("http/session-ids", LEGACY, ids, [UNGUESSABLE]).over(Over::Http),
];

fn needs_sessions(lab: &Lab) -> Result<(), Stop> {
    if lab.offer().session {
        Ok(())
    } else {
        Err(Stop::Skip("the server opens no session".to_owned()))
    }
}

fn session_of(exchange: &Exchange) -> Option<String> {
    Some(exchange.reply()?.header(SESSION)?.to_owned())
}

async fn id(lab: &mut Lab) -> Result<(), Stop> {
    needs_sessions(lab)?;
    if let Some(opening) = lab.offer().opened.first().cloned()
        && let Some(session) = session_of(&opening)
    {
        let visible = !session.is_empty() && session.chars().all(|c| matches!(c, '!'..='~'));
        let judged = if visible {
            Ok(())
        } else {
            Err(format!("the session id is {session:?}"))
        };
        lab.note(ASCII, judged, &opening);
    }
    Ok(())
}

/// The POST of the harmless request in a client's session.
fn post(lab: &Lab, client: &Client) -> Result<Request, Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    let body = message.to_string().into_bytes();
    Ok(compose::post(
        lab.endpoint()?,
        &client.dress,
        Some(&message),
        body,
    ))
}

async fn unknown(lab: &mut Lab) -> Result<(), Stop> {
    needs_sessions(lab)?;
    let message = lab.request(lab.harmless(), Value::Null);
    let mut request = lab.post(&message).await?;
    set(&mut request, SESSION, NOWHERE);
    let exchange = lab.deliver(&request).await?;
    lab.note(UNKNOWN, expect::has_status(&exchange, &[404]), &exchange);
    unset(&mut request, SESSION);
    let exchange = lab.deliver(&request).await?;
    // a server may have sessions and not require them
    if expect::result(&exchange).is_err() {
        lab.note(MISSING, expect::has_status(&exchange, &[400]), &exchange);
    }
    Ok(())
}

async fn ended(lab: &mut Lab) -> Result<(), Stop> {
    needs_sessions(lab)?;
    lab.client().await?;
    let mut other = lab.another().await?;
    let request = post(lab, &other)?;
    let exchange = lab.deliver_as(&mut other, &bare(&request, "DELETE")).await?;
    match expect::status(&exchange) {
        Some(200..=299) => {}
        Some(405) => {
            other.close().await;
            return Err(Stop::Skip(
                "the server does not let clients end their sessions".to_owned(),
            ));
        }
        _ => {
            let judged = expect::has_status(&exchange, &[200, 405]);
            lab.note(DELETED, judged, &exchange);
            other.close().await;
            return Err(Stop::Found);
        }
    }
    let exchange = lab.deliver_as(&mut other, &request).await?;
    lab.note(TERMINATED, expect::has_status(&exchange, &[404]), &exchange);
    let exchange = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(ISOLATION, expect::result(&exchange), &exchange);
    Ok(())
}

async fn ids(lab: &mut Lab) -> Result<(), Stop> {
    needs_sessions(lab)?;
    let (mut ids, mut exchanges) = (Vec::new(), Vec::new());
    for exchange in lab.offer().opened.iter().take(1) {
        ids.extend(session_of(exchange));
        exchanges.push(exchange.clone());
    }
    while ids.len() < IDS {
        let mut client = lab.stranger()?;
        let opened = client.initialize().await;
        client.close().await;
        let Some(exchange) = opened
            .ok()
            .and_then(|(_, exchanges)| exchanges.into_iter().next())
        else {
            return Err(Stop::Skip("the handshake fails".to_owned()));
        };
        let Some(session) = session_of(&exchange) else {
            return Err(Stop::Skip("not every handshake opens a session".to_owned()));
        };
        ids.push(session);
        exchanges.push(lab.saw(exchange)?);
    }
    if let Err(what) = hard_to_guess(&ids) {
        lab.found(UNGUESSABLE, what, &exchanges.iter().collect::<Vec<_>>());
    }
    Ok(())
}

/// What differs between ids must be long enough and no count.
pub fn hard_to_guess(ids: &[String]) -> Result<(), String> {
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    if unique.len() < ids.len() {
        return Err(format!("an id comes twice: {ids:?}"));
    }
    let Some(shortest) = ids.iter().map(String::len).min() else {
        return Ok(());
    };
    let first = ids[0].as_bytes();
    let same_at = |index: usize| ids.iter().all(|id| id.as_bytes()[index] == first[index]);
    let varying = (0..shortest).filter(|index| !same_at(*index)).count();
    let kinds: std::collections::HashSet<_> = ids.iter().flat_map(|id| id.bytes()).collect();
    let bits = varying as f64 * (kinds.len() as f64).log2();
    if bits < MIN_BITS {
        return Err(format!("what differs between ids is short: {ids:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn random_ids_are_hard_to_guess() {
        let uuids = [
            "1b4e28ba-2fa1-4d2a-883f-0016d3cca427",
            "7f1c3c0e-96b7-4f0a-9a55-b3f4a8c1d3e2",
            "c9a646d3-9c61-4cb7-bfcd-ee2522c8f633",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
        ];
        assert_eq!(hard_to_guess(&owned(&uuids)), Ok(()));
        let hex = [
            "9f86d081884c7d65",
            "60303ae22b998861",
            "fd61a03af4f77d87",
            "a4e624d686e03ed2",
        ];
        assert_eq!(hard_to_guess(&owned(&hex)), Ok(()));
    }

    #[test]
    fn counters_times_and_repeats_are_not() {
        for ids in [
            ["1", "2", "3", "4"],
            [
                "session-0000000000000001",
                "session-0000000000000002",
                "session-0000000000000003",
                "session-0000000000000004",
            ],
            ["1764542304000", "1764542304120", "1764542304260", "1764542305100"],
            ["abc", "abc", "def", "ghi"],
        ] {
            assert!(hard_to_guess(&owned(&ids)).is_err(), "{ids:?}");
        }
    }
}
