//! Random bytes, and the same bytes in random pieces.

use proptest::prelude::*;

use crate::peer::{Peer, Seen, outcome};

/// Pieces of requests, good and bad, so that their sequences reach deep into the parser.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<Vec<u8>> = [
        "POST /mcp HTTP/1.1\r\n",
        "GET / HTTP/1.0\r\n",
        "HEAD http://127.0.0.1/mcp HTTP/1.1\r\n",
        "POST /mcp HTTP/2.0\r\n",
        "Host: 127.0.0.1\r\n",
        "host: evil.example\r\n",
        "Origin: http://127.0.0.1\r\n",
        "Content-Length: 0\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 3000\r\n",
        "Content-Length: -1\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n",
        "X: y\r\n",
        "\r\n",
        "\n",
        "hello",
        "5\r\nhello\r\n",
        "5;ext=1\r\nhello\r\n",
        "0\r\n\r\n",
        "0\r\nT: x\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    prop_oneof![
        20 => prop::sample::select(pieces),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (0..4000_usize).prop_map(|count| vec![b'x'; count]),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2);
    (prop::collection::vec(piece(), 0..20), flips).prop_map(|(pieces, flips)| {
        let mut bytes = pieces.concat();
        for (index, byte) in flips {
            if !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
        }
        bytes
    })
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(1..100_usize, 1..10),
        prop::collection::vec(1..3000_usize, 1..10)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_bytes_are_answered_and_closed(bytes in prop::collection::vec(any::<u8>(), 1..3000)) {
        let peer = outcome(bytes);
        prop_assert!(peer.refused().is_some() || !peer.bodies().is_empty());
    }

    #[test]
    fn every_split_has_the_same_outcome(bytes in stream(), sizes in sizes()) {
        let mut whole = Peer::new();
        whole.send(&bytes).end();
        let mut split = Peer::new();
        split.send_split(&bytes, &sizes).end();
        prop_assert_eq!(&whole.seen, &split.seen);
        prop_assert_eq!(whole.output, split.output);
        prop_assert_eq!(whole.seen.last(), Some(&Seen::Closed));
    }

    #[test]
    fn bodies_arrive_as_sent(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 1..4),
        chunks in prop::collection::vec(1..2000_usize, 1..5),
        sizes in sizes(),
    ) {
        let mut wire = Vec::new();
        for (index, body) in bodies.iter().enumerate() {
            wire.extend(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
            if index % 2 == 0 {
                wire.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                let mut rest = &body[..];
                for chunk in chunks.iter().cycle() {
                    if rest.is_empty() {
                        break;
                    }
                    let (now, later) = rest.split_at(rest.len().min(*chunk));
                    wire.extend(format!("{:X}\r\n", now.len()).bytes().chain(now.iter().copied()).chain(*b"\r\n"));
                    rest = later;
                }
                wire.extend(b"0\r\n\r\n");
            } else {
                wire.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes().chain(body.iter().copied()));
            }
        }
        let mut peer = Peer::new();
        peer.send_split(&wire, &sizes).end();
        prop_assert_eq!(peer.bodies(), bodies);
    }
}
