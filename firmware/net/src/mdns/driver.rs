//! Runs a responder on an `edge-nal` UDP socket.

use core::future::{Future, pending};
use core::net::SocketAddr;
use core::pin::pin;

use edge_nal::{UdpReceive, UdpSend};
use embassy_futures::select::{Either3, select3};
use embassy_futures::yield_now;
use embassy_time::{Duration, Instant, Timer};
use mcp_device::Millis;

use super::{Event, GROUP, Packet, Responder};

/// A wait after a fault of the socket, so that a lasting one doesn't keep the processor busy.
const FAULT_PAUSE: Duration = Duration::from_millis(100);

/// The time for the responder: that of `embassy-time`.
pub fn now() -> Millis {
    Millis(Instant::now().as_millis())
}

/// Answers until `until` is done, and gives what it gives: a change of the link, say, or the wish to shut down.
///
/// The socket is bound to port 5353 of all addresses, is a member of [`GROUP`], and sends with a hop limit of 255 to the
/// link that the responder was told of. What doesn't fit in `buffer` is ignored; 1500 bytes is a good size. `tell` hears
/// of events. A fault of the socket goes to `complain` and costs no more than the datagram.
pub async fn run<S: UdpReceive + UdpSend, T>(
    socket: &mut S,
    buffer: &mut [u8],
    responder: &mut Responder,
    until: impl Future<Output = T>,
    mut tell: impl FnMut(Event, &Responder),
    mut complain: impl FnMut(S::Error),
) -> T {
    let mut until = pin!(until);
    loop {
        if let Err(error) = send_due(socket, responder).await {
            complain(error);
            Timer::after(FAULT_PAUSE).await;
        }
        while let Some(event) = responder.event() {
            tell(event, responder);
        }
        let deadline = async {
            match responder.deadline() {
                Some(deadline) => Timer::at(Instant::from_millis(deadline.0)).await,
                None => pending().await,
            }
        };
        match select3(&mut until, deadline, socket.receive(buffer)).await {
            Either3::First(done) => return done,
            Either3::Second(()) => {}
            Either3::Third(Ok((len, SocketAddr::V4(from)))) => {
                if let Some(payload) = buffer.get(..len) {
                    responder.receive(now(), from, payload);
                }
                // Or a flood would keep the other tasks from running.
                yield_now().await;
            }
            Either3::Third(Ok((_, SocketAddr::V6(_)))) => {}
            Either3::Third(Err(error)) => {
                complain(error);
                Timer::after(FAULT_PAUSE).await;
            }
        }
    }
}

/// Withdraws the records: nothing is answered from here on.
pub async fn shut_down<S: UdpSend>(socket: &mut S, responder: &mut Responder) -> Result<(), S::Error> {
    responder.shutdown();
    send_due(socket, responder).await
}

/// Sends what is due. An asker that can't be reached is no fault of the socket.
async fn send_due<S: UdpSend>(socket: &mut S, responder: &mut Responder) -> Result<(), S::Error> {
    let mut packet = Packet::new();
    while let Some(to) = responder.transmit(now(), &mut packet) {
        let sent = socket.send(SocketAddr::V4(to), &packet).await;
        if to == GROUP {
            sent?;
        }
    }
    Ok(())
}
