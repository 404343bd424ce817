//! mdns-sd sees boards come and go.

use crate::lab::{BEFORE, GOODBYE, KILLED, LATER, Ready, Tested, runtime};
use mcp_hil_harness::discover::{Browser, Found, Options};
use mcp_hil_virtual_board::plan::{HOST_INTERFACE, format_mac};
use std::time::{Duration, Instant};

/// Probing takes 750 ms (RFC 6762, 8.1), and with up to 250 ms before it, a second and the way of the packets.
const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// A goodbye sets the time to live to one second (RFC 6762, 10.1).
const GONE_WITHIN: Duration = Duration::from_secs(3);

fn browser() -> Result<Browser, String> {
    let options = Options {
        interfaces: vec![HOST_INTERFACE.to_owned()],
        ..Options::default()
    };
    Browser::start(&options).map_err(|error| error.to_string())
}

fn is(tested: &Tested) -> impl Fn(&Found) -> bool {
    let (mac, endpoint) = (format_mac(tested.board.mac()), tested.endpoint.clone());
    move |found| {
        found.complete
            && found.id.as_deref() == Some(mac.as_str())
            && found.target().as_ref() == Some(&endpoint)
    }
}

async fn is_found(browser: &mut Browser, tested: &Tested) -> Result<(), String> {
    let is = is(tested);
    let found = browser
        .wait((Instant::now() + FOUND_WITHIN).into(), |found| {
            found.iter().any(&is)
        })
        .await;
    match found.iter().find(|found| is(found)) {
        Some(found) if found.oddities.is_empty() => Ok(()),
        Some(found) => Err(format!("odd: {:?}", found.oddities)),
        None => Err(tested.with_console(&format!("{} is not found, but {found:#?}", tested.endpoint))),
    }
}

/// How long it takes until a board that was found is no longer; an error after the limit.
async fn until_gone(browser: &mut Browser, tested: &Tested, limit: Duration) -> Result<Duration, String> {
    let is = is(tested);
    let started = Instant::now();
    let found = browser
        .wait((started + limit).into(), |found| !found.iter().any(&is))
        .await;
    match found.iter().any(is) {
        true => Err(format!("still there after {limit:?}: {found:#?}")),
        false => Ok(started.elapsed()),
    }
}

pub fn before_and_later(ready: &Ready) -> Result<(), String> {
    let before = ready.start(BEFORE)?;
    before
        .board
        .wait_for_stage("announced", FOUND_WITHIN)
        .map_err(|error| error.to_string())?;
    // the announcements are a second apart: afterwards nothing is said unasked
    std::thread::sleep(Duration::from_secs(2));
    runtime()?.block_on(async {
        let mut browser = browser()?;
        is_found(&mut browser, &before).await?;
        let later = ready.start(LATER)?;
        is_found(&mut browser, &later).await
    })
}

pub fn goodbye(ready: &Ready) -> Result<(), String> {
    let mut tested = ready.start(GOODBYE)?;
    runtime()?.block_on(async {
        let mut browser = browser()?;
        is_found(&mut browser, &tested).await?;
        tested
            .board
            .type_line("shutdown")
            .map_err(|error| error.to_string())?;
        until_gone(&mut browser, &tested, GONE_WITHIN).await?;
        let ended = tested.board.wait_for_exit(GONE_WITHIN);
        match ended.map_err(|error| error.to_string())? {
            Some(status) if status.success() => Ok(()),
            other => Err(tested.with_console(&format!("it ended with {other:?}"))),
        }
    })
}

/// A board that loses its power is gone when its SRV record has run out, 120 s after it was last told (RFC 6762, 10).
pub fn killed(ready: &Ready) -> Result<(), String> {
    let mut tested = ready.start(KILLED)?;
    runtime()?.block_on(async {
        let mut browser = browser()?;
        is_found(&mut browser, &tested).await?;
        tested.board.kill().map_err(|error| error.to_string())?;
        let took = until_gone(&mut browser, &tested, Duration::from_secs(125)).await?;
        eprintln!("rv32: a killed board was gone after {took:?}");
        match took > Duration::from_secs(100) {
            true => Ok(()),
            false => Err(format!("gone after {took:?} already, though it said no goodbye")),
        }
    })
}
