//! The namespace's own place on the network: a TAP interface, its address, and the way to multicast groups.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::thread;

use rtnetlink::{LinkUnspec, RouteMessageBuilder};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::Error;
use crate::plan::{HOST_ADDRESS, HOST_INTERFACE, PREFIX, mac_of};

/// How often a board is asked for its MAC address before it counts as unreachable. With the kernel's 3 one in 150 would
/// on a network that loses every tenth frame.
const ARP_REQUESTS: &str = "12";

/// Whether the TAP device is open to this user.
pub fn check() -> Result<(), Error> {
    let device = fs::File::options().read(true).write(true).open("/dev/net/tun");
    device.map(drop).map_err(tap_error)
}

/// Opens the TAP interface of the namespace and configures it and loopback. Frames that the namespace's own
/// programs send are read from it, without blocking.
pub fn open() -> Result<SyncDevice, Error> {
    let device = DeviceBuilder::new()
        .name(HOST_INTERFACE)
        .layer(Layer::L2)
        .mac_addr(mac_of(HOST_ADDRESS))
        .ipv4(HOST_ADDRESS, PREFIX, None)
        .build_sync()
        .map_err(tap_error)?;
    device
        .set_nonblocking(true)
        .map_err(Error::io("use the TAP interface without blocking"))?;
    let index = device.if_index().map_err(Error::io("find the TAP interface"))?;
    // Netlink is spoken over an async library. A thread of its own keeps that out of the caller's way, who may
    // be inside a runtime already.
    let configured = thread::scope(|scope| scope.spawn(|| configure(index)).join());
    configured.unwrap_or_else(|_| {
        Err(Error::Configure {
            step: "configure the interfaces",
            reason: "the netlink thread panicked".to_owned(),
        })
    })?;
    for name in ["mcast_solicit", "ucast_solicit"] {
        // Where the file can't be written, 3 stays.
        let _ = fs::write(
            format!("/proc/sys/net/ipv4/neigh/{HOST_INTERFACE}/{name}"),
            ARP_REQUESTS,
        );
    }
    Ok(device)
}

fn configure(tap: u32) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Error::io("start the netlink runtime"))?;
    runtime.block_on(async {
        let (connection, handle, _) =
            rtnetlink::new_connection().map_err(Error::io("open a netlink socket"))?;
        tokio::spawn(connection);
        let failed = |step| {
            move |error: rtnetlink::Error| Error::Configure {
                step,
                reason: error.to_string(),
            }
        };
        // Loopback is always the first interface of a namespace.
        let loopback = LinkUnspec::new_with_index(1).up().build();
        handle
            .link()
            .set(loopback)
            .execute()
            .await
            .map_err(failed("bring up loopback"))?;
        // Without a route programs that name no interface get "network unreachable" when they join or send to
        // a group. There is no default route on purpose: what is outside is refused at once.
        let groups = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(Ipv4Addr::new(224, 0, 0, 0), 4)
            .output_interface(tap)
            .build();
        handle
            .route()
            .add(groups)
            .execute()
            .await
            .map_err(failed("route multicast"))
    })
}

fn tap_error(source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::NotFound => {
            "load the driver with `modprobe tun`; in a container, start it with --device /dev/net/tun"
        }
        io::ErrorKind::PermissionDenied => {
            "without root it must be open to you: `chmod 0666 /dev/net/tun`, for good by a udev rule \
             `KERNEL==\"tun\", MODE=\"0666\"`; in a container, start it with --device /dev/net/tun"
        }
        _ => "run inside a network namespace of your own with the right to configure it (CAP_NET_ADMIN)",
    };
    Error::Tap { source, advice }
}
