//! Boards that come, stay and go.

use crate::responder::{Announcement, Responder, service};
use mcp_hil_harness::discover::{Browser, Found, NameError, Oddity, Options, Search, by_name, discover};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant as Clock};
use tokio::time::{Instant, sleep};

const LIMIT: Duration = Duration::from_secs(5);

fn options(service: &str) -> Options {
    Options {
        service: service.to_owned(),
        interfaces: vec!["lo".to_owned()],
    }
}

fn search(service: &str, wait: Option<usize>, limit: Duration) -> Search {
    Search {
        options: options(service),
        wait,
        limit,
        known: Vec::new(),
    }
}

fn names(found: &[Found]) -> Vec<&str> {
    let mut names: Vec<_> = found.iter().map(|board| board.instance.as_str()).collect();
    names.sort_unstable();
    names
}

async fn wait_for(browser: &mut Browser, wanted: &[&str], limit: Duration) -> Vec<Found> {
    let found = browser
        .wait(Instant::now() + limit, |found| names(found) == wanted)
        .await;
    assert_eq!(names(&found), wanted);
    found
}

#[tokio::test]
async fn a_board_that_was_there_one_that_comes_later_and_one_that_says_goodbye() {
    let service = service();
    let first = Responder::start(Announcement::good(&service, "first", 2));
    let mut browser = Browser::start(&options(&service)).unwrap();
    wait_for(&mut browser, &["first"], LIMIT).await;
    let _second = Responder::start(Announcement::good(&service, "second", 3));
    wait_for(&mut browser, &["first", "second"], LIMIT).await;
    first.goodbye();
    let found = wait_for(&mut browser, &["second"], LIMIT).await;
    assert_eq!(found[0].url.as_deref(), Some("http://127.0.0.3:18791/mcp"));
    assert_eq!(found[0].interface, "lo");
}

#[tokio::test]
async fn a_board_that_stays_is_renewed_and_a_killed_one_runs_out() {
    let service = service();
    let short = |instance, last| Announcement {
        ttl: 2,
        ..Announcement::good(&service, instance, last)
    };
    let _stays = Responder::start(short("stays", 2));
    let killed = Responder::start(short("killed", 3));
    let mut browser = Browser::start(&options(&service)).unwrap();
    wait_for(&mut browser, &["killed", "stays"], LIMIT).await;
    drop(killed);
    wait_for(&mut browser, &["stays"], Duration::from_secs(4)).await;
    // three more lives of its records, in which it is never away for longer than a lost packet would take
    for _ in 0..12 {
        sleep(Duration::from_millis(500)).await;
        assert_eq!(names(&browser.found()), ["stays"]);
    }
}

#[tokio::test]
async fn faulty_announcements_hide_no_good_one() {
    let service = service();
    let good = |instance, last| Announcement::good(&service, instance, last);
    let faulty = [
        Announcement {
            port: Some(0),
            hostname: "zero.local",
            ..good("zero", 10)
        },
        Announcement {
            hostname: "",
            has_address: false,
            ..good("nameless", 11)
        },
        Announcement {
            port: None,
            text: None,
            has_address: false,
            ..good("bare", 12)
        },
        Announcement {
            text: Some(&[]),
            hostname: "dumb.local",
            ..good("dumb", 13)
        },
        Announcement {
            hostname: "twin.local",
            ..good("twin one", 14)
        },
        Announcement {
            hostname: "twin.local",
            ..good("twin two", 15)
        },
    ];
    let _faulty: Vec<_> = faulty.into_iter().map(Responder::start).collect();
    let broken = Responder::with(
        good("broken", 16),
        b"\0\0\x84\0\0\0\0\x01\0\0\0\0\xc0\x0c".to_vec(),
    );
    let _good = Responder::start(good("well", 2));

    let discovery = discover(&search(&service, None, Duration::from_secs(2)))
        .await
        .unwrap();
    let codes = |instance: &str| -> Vec<&str> {
        let board = discovery
            .devices
            .iter()
            .find(|board| board.instance == instance)
            .unwrap();
        board.oddities.iter().map(Oddity::code).collect()
    };
    assert_eq!(
        names(&discovery.devices),
        ["bare", "dumb", "nameless", "twin one", "twin two", "well", "zero"]
    );
    assert_eq!(codes("well"), Vec::<&str>::new());
    assert_eq!(codes("zero"), ["port-zero"]);
    assert_eq!(codes("nameless"), ["no-hostname", "sender-used"]);
    assert_eq!(codes("bare"), ["no-srv"]);
    assert_eq!(codes("dumb"), ["txt-empty"]);
    assert_eq!(codes("twin one"), ["same-hostname"]);
    let twin = discovery
        .devices
        .iter()
        .find(|board| board.instance == "twin two")
        .unwrap();
    assert_eq!(twin.url.as_deref(), Some("http://127.0.0.15:18791/mcp"));
    assert!(
        discovery
            .unreadable
            .contains_key(&IpAddr::V4(Ipv4Addr::new(127, 0, 0, 16)))
    );
    assert_eq!(discovery.diagnosis, None);
    drop(broken);
}

#[tokio::test]
async fn waiting_ends_with_the_last_board() {
    let service = service();
    let _boards = [("one", 2), ("two", 3)]
        .map(|(name, last)| Responder::start(Announcement::good(&service, name, last)));
    let started = Clock::now();
    let discovery = discover(&search(&service, Some(2), Duration::from_secs(30)))
        .await
        .unwrap();
    assert_eq!(names(&discovery.devices), ["one", "two"]);
    // far from the limit, and also with a connection tried where nothing listens
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(discovery.devices[0].reachable, Some(false));
}

#[tokio::test]
async fn too_few_boards_are_diagnosed() {
    let service = service();
    let _board = Responder::start(Announcement::good(&service, "one", 2));
    let discovery = discover(&search(&service, Some(2), Duration::from_secs(2)))
        .await
        .unwrap();
    let diagnosis = discovery.diagnosis.unwrap();
    assert_eq!((diagnosis.usable, diagnosis.wanted), (1, 2));
    let first = diagnosis.to_string().lines().next().unwrap().to_owned();
    assert_eq!(first, format!("1 of 2 boards answered for {service}.local"));
}

#[tokio::test]
async fn a_board_is_found_by_either_of_its_names() {
    let service = service();
    let _board = Responder::start(Announcement::good(&service, "My Board", 2));
    for name in ["my board", "two", "TWO.local"] {
        let board = by_name(name, &options(&service), LIMIT).await.unwrap();
        assert_eq!(board.target().unwrap().to_string(), "http://127.0.0.2:18791/mcp");
    }
}

#[tokio::test]
async fn a_name_of_two_boards_is_refused_with_both_of_them() {
    let service = service();
    let twin = |instance, last| Announcement {
        hostname: "twin.local",
        ..Announcement::good(&service, instance, last)
    };
    // RFC 6762, 6: an answer may be held back for so long
    let late = Announcement {
        delay: Duration::from_millis(120),
        ..twin("two", 3)
    };
    let _boards = [Responder::start(twin("one", 2)), Responder::start(late)];
    let error = by_name("twin", &options(&service), LIMIT).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, NameError::Ambiguous { .. }));
    assert!(text.starts_with("\"twin\" is the name of 2 boards"), "{text}");
    assert!(text.contains("127.0.0.2") && text.contains("127.0.0.3"), "{text}");
}

#[tokio::test]
async fn a_name_that_nobody_has_says_who_is_there() {
    let service = service();
    let _board = Responder::start(Announcement::good(&service, "other", 2));
    let _zero = Responder::start(Announcement {
        port: Some(0),
        ..Announcement::good(&service, "zero", 3)
    });
    let limit = Duration::from_secs(2);
    let text = by_name("kitchen", &options(&service), limit)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("no board called \"kitchen\" answered; there are"),
        "{text}"
    );
    assert!(
        text.contains("http://127.0.0.2:18791/mcp") && text.contains("\ninterfaces:\n"),
        "{text}"
    );
    let error = by_name("zero", &options(&service), limit).await.unwrap_err();
    assert!(matches!(error, NameError::Unusable { .. }), "{error}");
    assert!(error.to_string().contains("port 0"), "{error}");
}
