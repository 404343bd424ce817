//! The network: smoltcp on virtio-net, an address by DHCP.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ptr::NonNull;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::dhcpv4;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpCidr, Ipv4Cidr};
use virtio_drivers::device::net::VirtIONet;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};

use crate::machine::{DeviceMemory, now, println};

/// The virtio slots of the machine.
const SLOTS: core::ops::Range<usize> = 0x1000_1000..0x1000_9000;
const SLOT: usize = 0x1000;
const FRAME: usize = 1514;
const QUEUE: usize = 16;

/// Interface and sockets.
pub struct Network {
    card: Card,
    interface: Interface,
    /// Those of all parts of the program.
    pub sockets: SocketSet<'static>,
    dhcp: SocketHandle,
    address: Option<Ipv4Cidr>,
}

impl Network {
    /// Finds the network card.
    pub fn new() -> Self {
        let slot = SLOTS.step_by(SLOT).find_map(|slot| {
            let header = NonNull::new(slot as *mut VirtIOHeader)?;
            // SAFETY: a slot of the machine, used here alone.
            let transport = unsafe { MmioTransport::new(header, SLOT) }.ok()?;
            (transport.device_type() == DeviceType::Network).then_some(transport)
        });
        let transport = slot.expect("QEMU has a -device virtio-net-device");
        let mut card = Card(VirtIONet::new(transport, FRAME + 64).expect("the card starts"));
        let mac = EthernetAddress(card.0.mac_address());
        let mut config = Config::new(mac.into());
        config.random_seed =
            now().0 ^ u64::from_le_bytes([mac.0[2], mac.0[3], mac.0[4], mac.0[5], 0, 0, 0, 0]);
        let interface = Interface::new(config, &mut card, time());
        let mut sockets = SocketSet::new(Vec::new());
        let dhcp = sockets.add(dhcpv4::Socket::new());
        Self {
            card,
            interface,
            sockets,
            dhcp,
            address: None,
        }
    }

    /// The card's MAC address.
    pub fn mac(&self) -> [u8; 6] {
        self.card.0.mac_address()
    }

    /// The address with its network, once there is one.
    pub const fn address(&self) -> Option<Ipv4Cidr> {
        self.address
    }

    /// Takes part in a multicast group.
    pub fn join(&mut self, group: Ipv4Addr) {
        self.interface
            .join_multicast_group(group)
            .expect("there is room for a group");
    }

    /// Moves frames, and takes the address that DHCP gives.
    pub fn poll(&mut self) {
        self.interface.poll(time(), &mut self.card, &mut self.sockets);
        let event = self.sockets.get_mut::<dhcpv4::Socket<'_>>(self.dhcp).poll();
        let address = match event {
            None => return,
            Some(dhcpv4::Event::Configured(lease)) => Some(lease.address),
            Some(dhcpv4::Event::Deconfigured) => None,
        };
        if address != self.address {
            self.interface.update_ip_addrs(|addresses| {
                addresses.clear();
                addresses.extend(address.map(IpCidr::Ipv4));
            });
            self.address = address;
            if let Some(address) = address {
                println!("address {address}");
            }
        }
    }
}

fn time() -> Instant {
    Instant::from_millis(now().0 as i64)
}

type Virtio = VirtIONet<DeviceMemory, MmioTransport<'static>, QUEUE>;

/// The card, as smoltcp sees it.
struct Card(Virtio);

impl Device for Card {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sender<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sender<'_>)> {
        let buffer = self.0.receive().ok()?;
        let frame = buffer.packet().to_vec();
        self.0.recycle_rx_buffer(buffer).ok()?;
        Some((Received(frame), Sender(&mut self.0)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender<'_>> {
        self.0.can_send().then_some(Sender(&mut self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Sender<'a>(&'a mut Virtio);

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let result = write(&mut frame);
        // a frame that is lost is sent again, as on any network
        let _ = self.0.send(virtio_drivers::device::net::TxBuffer::from(&frame));
        result
    }
}
