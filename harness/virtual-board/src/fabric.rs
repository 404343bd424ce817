//! The switch at work: one thread that reads frames from the ports' ends, asks the switch and the clock, and
//! writes frames to the ends.

use std::io::{self, ErrorKind::*};
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use tun_rs::SyncDevice;

use crate::Error;
use crate::capture::{Capture, Way};
use crate::impairment::Impairment;
use crate::switch::{Counters, MAX_FRAME, PortId, Switch};

/// How many frames one port may send before the others get their turn.
const BATCH: usize = 64;

/// What a port leads to.
pub enum End {
    /// The namespace's own stack.
    Tap(SyncDevice),
    /// A machine whose frames travel in datagrams; the socket is connected to the machine's.
    Datagrams(UdpSocket),
}

impl End {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            End::Tap(device) => device.recv(buffer),
            End::Datagrams(socket) => socket.recv(buffer),
        }
    }

    fn send(&self, frame: &[u8]) -> io::Result<usize> {
        match self {
            End::Tap(device) => device.send(frame),
            End::Datagrams(socket) => socket.send(frame),
        }
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            End::Tap(device) => device.as_fd(),
            End::Datagrams(socket) => socket.as_fd(),
        }
    }
}

struct State {
    switch: Switch,
    ends: Vec<Arc<End>>,
    capture: Option<Capture>,
    capture_error: Option<Error>,
    stopping: bool,
}

impl State {
    fn record(&mut self, port: PortId, way: Way, frame: &[u8]) {
        if let Some(capture) = &mut self.capture
            && let Err(error) = capture.record(SystemTime::now(), port, way, frame)
        {
            self.end_capture(error);
        }
    }

    fn flush(&mut self) {
        if let Some(capture) = &mut self.capture
            && let Err(error) = capture.flush()
        {
            self.end_capture(error);
        }
    }

    /// A full disk must not stop the network; the error is kept for [`Fabric::capture_error`].
    fn end_capture(&mut self, error: Error) {
        self.capture = None;
        self.capture_error = Some(error);
    }
}

/// The running switch. Dropping it stops the thread and closes the ends.
pub struct Fabric {
    state: Arc<Mutex<State>>,
    waker: UnixDatagram,
    thread: Option<JoinHandle<()>>,
}

impl Fabric {
    /// Starts the thread.
    pub fn start(switch: Switch, capture: Option<Capture>) -> Result<Self, Error> {
        let (waker, woken) = UnixDatagram::pair().map_err(Error::io("make the switch's waker"))?;
        for socket in [&waker, &woken] {
            socket
                .set_nonblocking(true)
                .map_err(Error::io("make the switch's waker"))?;
        }
        let state = State {
            switch,
            ends: Vec::new(),
            capture,
            capture_error: None,
            stopping: false,
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("virtual switch".to_owned())
            .spawn(move || run(&shared, &woken))
            .map_err(Error::io("start the switch's thread"))?;
        Ok(Fabric {
            state,
            waker,
            thread: Some(thread),
        })
    }

    /// Adds a port, named so in captures. The end must not block.
    pub fn add_port(&self, name: &str, end: End) -> PortId {
        let mut state = self.lock();
        let port = state.switch.add_port();
        if let Some(capture) = &mut state.capture
            && let Err(error) = capture.add_port(name)
        {
            state.end_capture(error);
        }
        state.ends.push(Arc::new(end));
        drop(state);
        self.wake();
        port
    }

    /// See [`Switch::impair`].
    pub fn impair(&self, port: PortId, impairment: Impairment) {
        self.lock().switch.impair(port, impairment);
    }

    /// See [`Switch::connect`].
    pub fn connect(&self, port: PortId, connected: bool) {
        self.lock().switch.connect(port, connected);
    }

    /// See [`Switch::counters`].
    pub fn counters(&self, port: PortId) -> Counters {
        self.lock().switch.counters(port)
    }

    /// Why the capture ended early, once.
    pub fn capture_error(&self) -> Option<Error> {
        self.lock().capture_error.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wake(&self) {
        // A full socket means that the thread is about to wake anyway.
        let _ = self.waker.send(&[0]);
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.lock().stopping = true;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(state: &Mutex<State>, woken: &UnixDatagram) {
    // One byte more than a frame, to tell a longer one.
    let mut buffer = [0; MAX_FRAME + 1];
    let mut open: Vec<(PortId, Arc<End>)> = Vec::new();
    let mut known = 0;
    loop {
        let deadline = {
            let mut state = lock(state);
            deliver(&mut state);
            state.flush();
            if state.stopping {
                return;
            }
            open.extend((known..state.ends.len()).map(|port| (port, Arc::clone(&state.ends[port]))));
            known = state.ends.len();
            state.switch.next_deadline()
        };
        let ready = wait(woken, &open, deadline);
        while woken.recv(&mut [0; 1]).is_ok() {}
        // An end that fails for good is asked no more: somebody inside deleted the interface.
        let failed: Vec<PortId> = ready
            .into_iter()
            .filter(|at| !drain(state, &open[*at], &mut buffer))
            .collect();
        for at in failed.into_iter().rev() {
            open.remove(at);
        }
    }
}

/// Gives the switch what an end has, up to a batch. False when the end has failed for good.
fn drain(state: &Mutex<State>, (port, end): &(PortId, Arc<End>), buffer: &mut [u8]) -> bool {
    for _ in 0..BATCH {
        match end.receive(buffer) {
            Ok(length) => {
                let mut state = lock(state);
                state.record(*port, Way::Sent, &buffer[..length]);
                state.switch.receive(Instant::now(), *port, &buffer[..length]);
                deliver(&mut state);
            }
            // Refused: the machine at the other side is not up, and said so to an earlier frame.
            Err(error) if matches!(error.kind(), WouldBlock | Interrupted | ConnectionRefused) => break,
            Err(_) => return false,
        }
    }
    true
}

/// Hands over what has arrived by now.
fn deliver(state: &mut State) {
    while let Some((port, frame)) = state.switch.poll(Instant::now()) {
        match state.ends[port].send(&frame) {
            Ok(_) => state.record(port, Way::Received, &frame),
            Err(_) => state.switch.note_overflow(port),
        }
    }
}

/// Waits for frames, a change or the deadline; the places in `open` that have frames.
fn wait(woken: &UnixDatagram, open: &[(PortId, Arc<End>)], deadline: Option<Instant>) -> Vec<usize> {
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut fds: Vec<PollFd<'_>> = open.iter().map(|(_, end)| readable(end.as_fd())).collect();
    fds.push(readable(woken.as_fd()));
    let timeout = deadline.map(|at| TimeSpec::from_duration(at.saturating_duration_since(Instant::now())));
    if ppoll(&mut fds, timeout, None).is_err() {
        // Interrupted by a signal: nothing is known to be ready.
        return Vec::new();
    }
    (0..open.len())
        .filter(|at| fds[*at].any() == Some(true))
        .collect()
}
