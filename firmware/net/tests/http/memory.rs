//! What a server costs in memory. The figures are those of the README of a chip: a change here is a decision.

use mcp_device_net::http::{CONNECTION_BYTES, Connection, Server};

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
