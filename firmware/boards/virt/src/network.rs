//! embassy-net's driver on virtio-net.

use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use crate::machine::Register;
use crate::virtio::{self, Memory, WAKER};

/// Frames a queue holds; a power of two.
const QUEUE: usize = 8;
/// Largest Ethernet frame, bytes: 14 of header, 1500 of payload.
const FRAME: usize = 1514;
/// Largest header virtio puts in front of a frame, bytes.
const HEADER: usize = 12;

type Queues = VirtIONetRaw<Memory, MmioTransport<'static>, QUEUE>;
type Buffer = [u8; HEADER + FRAME];

/// Buffers of a [`Device`], for a static.
pub struct Buffers {
    /// One more than the queue holds: the stack reads one while the device fills the others.
    receive: [Buffer; QUEUE + 1],
    send: [Buffer; QUEUE],
}

impl Buffers {
    /// Empty buffers.
    pub const fn new() -> Self {
        Self {
            receive: [[0; HEADER + FRAME]; QUEUE + 1],
            send: [[0; HEADER + FRAME]; QUEUE],
        }
    }
}

/// The network device.
pub struct Device {
    queues: Queues,
    buffers: &'static mut Buffers,
    /// Which receive buffer a token of the receive queue stands for.
    receiving: [usize; QUEUE],
    /// The receive buffer that the queue does not hold.
    spare: usize,
    /// Which send buffer a token of the send queue stands for.
    sending: [usize; QUEUE],
    /// Which send buffers the device does not hold.
    free: [bool; QUEUE],
    link: Register<u8>,
}

/// Bit of virtio-net's status that says the link is up.
const LINK_UP: u8 = 1;
/// Offset of that status in virtio-net's configuration space.
const STATUS: usize = 6;

impl Device {
    /// Finds the device and gives it buffers to receive into.
    ///
    /// # Panics
    /// Where QEMU was started without one.
    pub fn find(buffers: &'static mut Buffers) -> Self {
        let Some((slot, transport)) = virtio::find(DeviceType::Network) else {
            panic!("no network device: start QEMU with -device virtio-net-device,netdev=ID");
        };
        let queues = match Queues::new(transport) {
            Ok(queues) => queues,
            Err(error) => panic!("the network device did not start: {error}"),
        };
        let link = virtio::config(slot, STATUS);
        let mut device = Self {
            queues,
            buffers,
            receiving: [0; QUEUE],
            spare: QUEUE,
            sending: [0; QUEUE],
            free: [true; QUEUE],
            link,
        };
        for buffer in 0..QUEUE {
            device.offer(buffer);
        }
        device
    }

    /// The MAC address QEMU gave it.
    pub fn mac(&self) -> [u8; 6] {
        self.queues.mac_address()
    }

    /// Hands a receive buffer to the device.
    fn offer(&mut self, buffer: usize) {
        // SAFETY: the buffer is static, and is not touched before its token comes back.
        match unsafe { self.queues.receive_begin(&mut self.buffers.receive[buffer]) } {
            Ok(token) => self.receiving[usize::from(token)] = buffer,
            Err(error) => panic!("the receive queue refused a buffer: {error}"),
        }
    }

    /// Takes the next frame that has come into the spare buffer's place: its bounds in the buffer.
    fn take(&mut self) -> Option<(usize, usize)> {
        loop {
            let token = self.queues.poll_receive()?;
            let buffer = self.receiving[usize::from(token)];
            // SAFETY: the buffer that was given with this token.
            let frame = unsafe {
                self.queues
                    .receive_complete(token, &mut self.buffers.receive[buffer])
            };
            let next = core::mem::replace(&mut self.spare, buffer);
            self.offer(next);
            if let Ok((header, length)) = frame {
                return Some((header, header + length));
            }
        }
    }

    /// A send buffer that is free, after taking back those the device is done with.
    fn free_send_buffer(&mut self) -> Option<usize> {
        while let Some(token) = self.queues.poll_transmit() {
            let buffer = self.sending[usize::from(token)];
            // SAFETY: the buffer that was given with this token.
            if let Err(error) = unsafe { self.queues.transmit_complete(token, &self.buffers.send[buffer]) } {
                panic!("the send queue returned a buffer it never had: {error}");
            }
            self.free[buffer] = true;
        }
        self.free.iter().position(|free| *free)
    }
}

impl Driver for Device {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, context: &mut Context) -> Option<(Received<'_>, Sending<'_>)> {
        WAKER.register(context.waker());
        let buffer = self.free_send_buffer()?; // first: a frame that was taken must not be lost
        let (start, end) = self.take()?;
        let frame = &mut self.buffers.receive[self.spare][start..end];
        let sending = Sending {
            queues: &mut self.queues,
            bytes: &mut self.buffers.send[buffer],
            token: &mut self.sending,
            free: &mut self.free[buffer],
            buffer,
        };
        Some((Received(frame), sending))
    }

    fn transmit(&mut self, context: &mut Context) -> Option<Sending<'_>> {
        WAKER.register(context.waker());
        let buffer = self.free_send_buffer()?;
        Some(Sending {
            queues: &mut self.queues,
            bytes: &mut self.buffers.send[buffer],
            token: &mut self.sending,
            free: &mut self.free[buffer],
            buffer,
        })
    }

    fn link_state(&mut self, context: &mut Context) -> LinkState {
        WAKER.register(context.waker());
        if self.link.read() & LINK_UP != 0 {
            LinkState::Up
        } else {
            LinkState::Down
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = FRAME;
        capabilities.max_burst_size = Some(QUEUE);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.mac())
    }
}

/// A frame that has come.
pub struct Received<'a>(&'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

/// Room for a frame to be sent.
pub struct Sending<'a> {
    queues: &'a mut Queues,
    bytes: &'a mut Buffer,
    /// Where to note the buffer's token.
    token: &'a mut [usize; QUEUE],
    free: &'a mut bool,
    buffer: usize,
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let Ok(header) = self.queues.fill_buffer_header(self.bytes) else {
            unreachable!("a buffer has room for the header");
        };
        let end = header + length;
        let result = write(&mut self.bytes[header..end]);
        // SAFETY: the buffer is static, and is not touched before its token comes back.
        match unsafe { self.queues.transmit_begin(&self.bytes[..end]) } {
            Ok(token) => {
                self.token[usize::from(token)] = self.buffer;
                *self.free = false;
            }
            Err(error) => panic!("the send queue refused a buffer: {error}"),
        }
        result
    }
}
