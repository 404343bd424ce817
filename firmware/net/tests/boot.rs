//! The boot log lines, word for word as the firmware's README gives them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mcp_device_net::boot::Stage;

#[test]
fn lines_are_those_of_the_readme() {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let lines = [
        (Stage::Reset { reason: "power-on" }, "stage=reset reason=power-on"),
        (Stage::Build { id: "17f49fef" }, "stage=build id=17f49fef"),
        (Stage::Build { id: "" }, "stage=build id="),
        (
            Stage::Mac {
                mac: [2, 0, 0x27, 0x49, 0x89, 0xb],
            },
            "stage=mac mac=02:00:27:49:89:0b",
        ),
        (Stage::Address { ip }, "stage=address ip=127.0.0.1"),
        (Stage::Announced { name: "board" }, "stage=announced name=board"),
        (
            Stage::Serving { ip, port: 35083 },
            "stage=serving url=http://127.0.0.1:35083/mcp",
        ),
        (
            Stage::Serving {
                ip: Ipv6Addr::LOCALHOST.into(),
                port: 80,
            },
            "stage=serving url=http://[::1]:80/mcp",
        ),
    ];
    for (stage, line) in lines {
        assert_eq!(stage.to_string(), format!("mcp-device boot {line}"));
    }
}
