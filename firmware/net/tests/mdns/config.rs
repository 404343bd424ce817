//! What may be announced, and how it looks on the wire.

use mcp_device_net::mdns::{Config, ConfigError, Txt};

use crate::script::*;

fn config(host: &str, instance: &str) -> Result<Config, ConfigError> {
    Config::new(host, instance, 18791, Txt::new(&TXT_PAIRS).unwrap())
}

/// `mdns/txt-string-length`, `mdns/txt-size`: each string after its length, in the order given.
#[test]
fn txt_strings_have_their_length_in_front() {
    let txt = Txt::new(&TXT_PAIRS).unwrap();
    assert_eq!(
        txt.as_bytes(),
        b"\x0cendpoint=mcp\x0fid=02aabba1b2c3\x0ebuild=0123abcd"
    );
}

/// `mdns/txt-empty`
#[test]
fn an_empty_txt_is_one_zero_byte() {
    assert_eq!(Txt::new(&[]).unwrap().as_bytes(), [0]);
    let config = Config::new("board", "Board", 18791, Txt::new(&[]).unwrap()).unwrap();
    let mut board = Board::with(config, 1).at_rest();
    let sent = board.ask("? Board._mcp._tcp.local TXT");
    assert_eq!(
        sent[0].bytes[sent[0].bytes.len() - 3..],
        [0, 1, 0],
        "length 1, one zero byte"
    );
}

/// `mdns/txt-key-syntax`, `mdns/txt-no-empty-key`, `mdns/txt-key-unique`, `mdns/txt-string-length`, `mdns/txt-size`
#[test]
fn bad_txt_is_refused() {
    let long = "x".repeat(250);
    for (pairs, error) in [
        (&[("", "x")][..], ConfigError::TxtKey(1)),
        (&[("a=b", "x")], ConfigError::TxtKey(1)),
        (&[("ok", "x"), ("t\u{e4}st", "x")], ConfigError::TxtKey(2)),
        (&[("a\n", "x")], ConfigError::TxtKey(1)),
        (&[("id", "1"), ("ID", "2")], ConfigError::TxtRepeated(2)),
        (&[("build", &long)], ConfigError::TxtTooLong(1)),
        (&[("a", &long), ("b", "1234")], ConfigError::TxtTooLong(2)),
    ] {
        assert_eq!(Txt::new(pairs).unwrap_err(), error, "{pairs:?}");
    }
    assert_eq!(Txt::new(&[("a", &long)]).unwrap().as_bytes().len(), 253);
    let text = ConfigError::TxtRepeated(2).to_string();
    assert_eq!(text, "TXT key number 2 repeats an earlier one");
}

/// `mdns/txt-key-length`, `mdns/txt-version-key` (there is none), `mdns/txt-no-secrets`: all that boards tell.
#[test]
fn a_board_tells_its_endpoint_its_mac_and_its_build() {
    let txt = Txt::of_board(
        [0x02, 0, 0x27, 0x49, 0x89, 0x0b],
        "17f49fef5c60dbaea8201a01c3938f911f9081ec",
    );
    let expected =
        b"\x0cendpoint=mcp\x14id=02:00:27:49:89:0b\x2ebuild=17f49fef5c60dbaea8201a01c3938f911f9081ec";
    assert_eq!(txt.as_bytes(), expected);
    let without = b"\x0cendpoint=mcp\x14id=02:00:27:49:89:0b\x06build=";
    for build in ["", "not hex", &"0".repeat(65)] {
        assert_eq!(
            Txt::of_board([0x02, 0, 0x27, 0x49, 0x89, 0x0b], build).as_bytes(),
            without
        );
    }
}

/// `mdns/instance-name-utf8`, `mdns/host-name-local`
#[test]
fn bad_names_are_refused() {
    for host in ["", "a.b", "-a", "a-", "a b", "a_b", "ä", &"h".repeat(64)] {
        assert_eq!(config(host, "x").unwrap_err(), ConfigError::Host, "{host}");
    }
    for instance in ["", "a\nb", "a\u{7f}", "\u{85}", &"i".repeat(64), &"ä".repeat(32)] {
        assert_eq!(
            config("x", instance).unwrap_err(),
            ConfigError::Instance,
            "{instance}"
        );
    }
    let txt = Txt::new(&TXT_PAIRS).unwrap();
    assert_eq!(Config::new("x", "x", 0, txt).unwrap_err(), ConfigError::Port);
    assert!(config(&"h".repeat(63), &"i".repeat(63)).is_ok());
}

/// `mdns/instance-name-with-dots`, `mdns/instance-name-utf8`
#[test]
fn an_instance_name_is_one_label_whatever_is_in_it() {
    let mut board = Board::with(config("board", "A. B ü").unwrap(), 1).at_rest();
    let sent = board.ask("? _mcp._tcp.local PTR");
    let label = b"\x07A. B \xc3\xbc\x04_mcp\x04_tcp\x05local\x00";
    assert!(
        sent[0].bytes.windows(label.len()).any(|part| part == label),
        "{:?}",
        sent[0]
    );
}

/// `mdns/response-size`: the longest names, TXT and legacy questions still fit. The writer checks that nothing is left out
/// (in builds with debug assertions), and the reader sees all of it.
#[test]
fn the_largest_packet_fits() {
    let value = "x".repeat(253);
    let name = "n".repeat(63);
    let config = Config::new(&name, &name, 65535, Txt::new(&[("a", &value)]).unwrap()).unwrap();
    let mut board = Board::with(config, 1).at_rest();
    let questions = format!(
        "? {name}._mcp._tcp.local ANY\n? {name}.local ANY\n? _mcp._tcp.local PTR\n? {name}.local AAAA\n\
         ? _services._dns-sd._udp.local PTR\n? {name}._mcp._tcp.local MX\n"
    );
    board.receive(CLIENT, &query(&questions));
    let sent = board.run(1000);
    assert!(sent[0].heads().len() >= 9, "{sent:?}");
    assert!(sent[0].bytes.len() > 800, "{} bytes", sent[0].bytes.len());
    board.receive(ASKER, &query(&questions));
    assert_eq!(board.run(1000)[0].heads().len(), 7);
    board.responder.shutdown();
    assert_eq!(board.run(0)[0].heads().len(), 4);
}

/// `mdns/legacy-unicast-response`: there is room for 256 bytes of questions; one that doesn't fit is left out whole.
#[test]
fn a_question_without_room_in_a_legacy_answer_is_left_out() {
    let name = "n".repeat(63);
    let config = Config::new(&name, &name, 18791, Txt::new(&TXT_PAIRS).unwrap()).unwrap();
    let mut board = Board::with(config, 1).at_rest();
    // Uncompressed 34, 21 and 85 bytes: of the last one the name would fit after seven others, but not the class.
    let services = "? _services._dns-sd._udp.local PTR\n".repeat(2);
    let ptr = "? _mcp._tcp.local PTR\n";
    let srv = format!("? {name}._mcp._tcp.local SRV\n");
    board.receive(CLIENT, &query(&format!("{services}{}{srv}{ptr}", ptr.repeat(5))));
    let sent = board.run(1000);
    let text = sent[0].text();
    let questions: String = text
        .lines()
        .filter(|line| line.starts_with('?'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(questions, format!("{services}{}", ptr.repeat(6)));
}
