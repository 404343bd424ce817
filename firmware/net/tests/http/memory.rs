//! What a server costs in memory. The figures are those of the README: a change is a decision.

use mcp_device_net::http::{CONNECTION_BYTES, Connection, Hosts, Server};

use crate::sockets::{Mirror, listen};

#[test]
fn a_connection_is_a_head_and_little_more() {
    assert_eq!(CONNECTION_BYTES, 2560);
    // State beside the buffer; this is on 64 bits, a chip has half of it.
    assert!(
        size_of::<Connection<'_>>() <= 192,
        "{}",
        size_of::<Connection<'_>>()
    );
}

#[test]
fn a_server_is_its_buffers() {
    let expected = 8 * 2560 + 2 * 16_384 + 2 * (256 + 16_384);
    assert_eq!(size_of::<Server<8, 2, 2>>(), expected);
    assert_eq!(size_of::<Server<9, 2, 2>>(), expected + 2560);
}

#[test]
fn what_runs_a_connection_is_small() {
    let mut server = Box::new(Server::<1, 1, 1>::new());
    let (shared, [seat]) = server.split();
    let listener = listen();
    let hosts = Hosts::default();
    // On 64 bits; half of it holds the headers while the device answers. The device's own future comes on top.
    let task = size_of_val(&shared.serve(seat, &listener, &Mirror, &hosts));
    assert!(task <= 2048, "{task}");
    assert!(size_of_val(&shared) <= 512);
}
