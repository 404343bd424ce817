//! The driver, over sockets of the loopback interface.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use async_io::Async;
use edge_nal::TcpAccept;
use edge_nal_std::TcpSocket;
use embassy_time::Timer;
use mcp_device::{Millis, Request, Response};
use mcp_device_net::http::{ANSWER_MAX, BODY_MAX, Handler, Hosts, Server};

/// A device that tells what it was sent.
pub struct Mirror;

impl Handler for Mirror {
    async fn handle<'a>(&self, _: Millis, request: &Request<'_>, answer: &'a mut [u8]) -> Response<'a> {
        assert_eq!(answer.len(), ANSWER_MAX);
        let respond = |status, body| Response {
            status,
            content_type: Some("text/plain"),
            allow: None,
            body,
        };
        match request.path {
            "/slow" => {
                Timer::after_millis(300).await;
                respond(200, b"slow")
            }
            "/constant" => respond(404, b"constant"),
            "/empty" => respond(202, b""),
            "/none" => respond(204, b""),
            "/big" => {
                answer.fill(b'b');
                respond(200, answer)
            }
            "/never" => std::future::pending().await,
            "/unusable" => respond(200, &[b'x'; 1000]),
            _ => {
                // Anywhere in the buffer will do.
                let start = (ANSWER_MAX - request.body.len()).min(5);
                let body = &mut answer[start..start + request.body.len()];
                body.copy_from_slice(request.body);
                respond(200, body)
            }
        }
    }
}

pub struct Listener(Async<TcpListener>);

impl TcpAccept for Listener {
    type Error = std::io::Error;
    type Socket<'a> = TcpSocket;

    async fn accept(&self) -> std::io::Result<(SocketAddr, TcpSocket)> {
        let (socket, peer) = self.0.accept().await?;
        Ok((peer, TcpSocket::new(socket)))
    }
}

/// Listens on any free port.
pub fn listen() -> Listener {
    Listener(Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
}

/// A server of `N` sockets and two buffers of each kind.
fn server<const N: usize>() -> SocketAddr {
    server_with::<N, 2>()
}

/// A server of `N` sockets, two body buffers and `A` answer buffers, which lives as long as the tests.
fn server_with<const N: usize, const A: usize>() -> SocketAddr {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let listener = listen();
        tell.send(listener.0.get_ref().local_addr().unwrap()).unwrap();
        let mut server = Box::new(Server::<N, 2, A>::new());
        async_io::block_on(server.run(&listener, &Mirror, &Hosts::default()));
    });
    told.recv().unwrap()
}

struct Client(TcpStream);

impl Client {
    fn connect(to: SocketAddr) -> Self {
        let socket = TcpStream::connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_nodelay(true).unwrap();
        Self(socket)
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.write_all(bytes.as_ref()).unwrap();
        self
    }

    /// Status and body of the next answer, by its `Content-Length`.
    fn answer(&mut self) -> (u16, Vec<u8>) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).unwrap();
        (head[9..12].parse().unwrap(), body)
    }

    /// All that comes until the server closes; an error is a reset.
    fn rest(&mut self) -> std::io::Result<String> {
        let mut text = String::new();
        self.0.read_to_string(&mut text).map(|_| text)
    }
}

fn post(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n")
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
}

/// A request that must be answered within 1 s, connection and all.
#[track_caller]
fn is_answered(to: SocketAddr) {
    let start = Instant::now();
    let answer = Client::connect(to).send(post("/", 5) + "hello").answer();
    assert_eq!(answer, (200, b"hello".to_vec()));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn answers_of_every_kind() {
    let mut client = Client::connect(server::<4>());
    assert_eq!(client.send(post("/", 2) + "ok").answer(), (200, b"ok".to_vec()));
    assert_eq!(
        client.send(get("/constant")).answer(),
        (404, b"constant".to_vec())
    );
    assert_eq!(client.send(get("/empty")).answer(), (202, vec![]));
    assert_eq!(client.send(get("/none")).answer(), (204, vec![]));
    assert_eq!(client.send(get("/big")).answer(), (200, vec![b'b'; ANSWER_MAX]));
    let body = vec![b'x'; BODY_MAX];
    assert_eq!(client.send(post("/", BODY_MAX)).send(&body).answer(), (200, body));
    client.send(get("/unusable"));
    assert!(client.rest().unwrap().starts_with("HTTP/1.1 500 "));
}

#[test]
fn the_answer_to_head_says_its_length_and_has_no_body() {
    let mut client = Client::connect(server::<4>());
    let head = "HEAD /constant HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let text = client.send(head).rest().unwrap();
    assert!(
        text.contains("\r\ncontent-length: 8\r\n") && text.ends_with("\r\n\r\n"),
        "{text}"
    );
}

#[test]
fn a_chunk_may_end_inside_a_character() {
    let body = "{\"text\":\"Grüße, 世界 🦀\"}";
    let mut client = Client::connect(server::<4>());
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for byte in body.bytes() {
        client.send([b'1', b'\r', b'\n', byte, b'\r', b'\n']);
    }
    assert_eq!(client.send("0\r\n\r\n").answer(), (200, body.as_bytes().to_vec()));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut client = Client::connect(server::<4>());
    client.send(
        [
            get("/slow"),
            post("/", 3),
            "abc".into(),
            get("/big"),
            post("/", 1),
            "z".into(),
        ]
        .concat(),
    );
    assert_eq!(client.answer().1, b"slow");
    assert_eq!(client.answer().1, b"abc");
    assert_eq!(client.answer().1.len(), ANSWER_MAX);
    assert_eq!(client.answer().1, b"z");
}

#[test]
fn a_client_that_closes_its_side_first_is_answered() {
    let mut client = Client::connect(server::<4>());
    client.send(get("/slow")).0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().1, b"slow");
    assert_eq!(client.rest().unwrap(), "");
}

#[test]
fn a_body_of_any_excess_sees_413_and_no_reset() {
    let to = server::<4>();
    for length in [BODY_MAX + 1, 1 << 20] {
        // All of the body first, as simple clients do.
        let mut client = Client::connect(to);
        client.send(post("/", length)).send(vec![b'x'; length]);
        let text = client.rest().expect("a reset hides the answer");
        assert!(text.starts_with("HTTP/1.1 413 "), "{text}");

        let mut client = Client::connect(to);
        client.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..length.div_ceil(1000) {
            client.send("3e8\r\n").send([b'x'; 1000]).send("\r\n");
        }
        let text = client.send("0\r\n\r\n").rest().expect("a reset hides the answer");
        assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    }
}

#[test]
fn expect_continue() {
    let mut client = Client::connect(server::<4>());
    client.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer(), (100, vec![]));
    assert_eq!(client.send("ok").answer(), (200, b"ok".to_vec()));
}

#[test]
fn silent_and_half_sent_connections_do_not_starve_the_next() {
    let to = server::<8>();
    let mut silent: Vec<Client> = (0..8).map(|_| Client::connect(to)).collect();
    let mut half_sent: Vec<Client> = (0..4).map(|_| Client::connect(to)).collect();
    for client in &mut half_sent {
        client.send(post("/", 16_000)).send([b'x'; 8000]);
    }
    is_answered(to);
    // The oldest had to go, without a word or with 408.
    assert_eq!(silent[0].rest().unwrap(), "");
    let more: Vec<Client> = (0..8).map(|_| Client::connect(to)).collect();
    is_answered(to);
    drop(more);
    for client in &mut half_sent {
        assert!(client.rest().unwrap().starts_with("HTTP/1.1 408 "));
    }
}

#[test]
fn half_sent_bodies_do_not_starve_the_next_body() {
    let to = server::<16>();
    let mut half_sent: Vec<Client> = (0..4).map(|_| Client::connect(to)).collect();
    for client in &mut half_sent {
        client.send(post("/", 16_000)).send([b'x'; 8000]);
    }
    let start = Instant::now();
    let body = vec![b'y'; 16_000];
    assert_eq!(
        Client::connect(to).send(post("/", 16_000)).send(&body).answer(),
        (200, body)
    );
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(half_sent[0].rest().unwrap().starts_with("HTTP/1.1 408 "));
    // A small body needs no buffer, so those that still wait for theirs don't matter to it.
    is_answered(to);
}

#[test]
fn who_waits_for_a_buffer_makes_room_too() {
    let to = server_with::<8, 4>();
    let body = [b'x'; 8000];
    let mut never: Vec<Client> = (0..2).map(|_| Client::connect(to)).collect();
    for client in &mut never {
        client.send(post("/never", body.len())).send(body);
    }
    let mut half_sent: Vec<Client> = (0..6).map(|_| Client::connect(to)).collect();
    for client in &mut half_sent {
        client.send(post("/", 16_000)).send(body);
    }
    thread::sleep(Duration::from_millis(300));
    is_answered(to);
    assert!(half_sent[0].rest().unwrap().starts_with("HTTP/1.1 408 "));
}

#[test]
fn a_request_waits_for_a_buffer_for_a_bounded_time() {
    let to = server::<8>();
    let mut never: Vec<Client> = (0..2).map(|_| Client::connect(to)).collect();
    for client in &mut never {
        client.send(get("/never"));
    }
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    assert_eq!(Client::connect(to).send(get("/constant")).answer().0, 503);
    assert!(
        (5_900..8_000).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
}

/// More answers than the kernel's buffers hold: 16 MB.
const GREED: usize = 1000;

/// A client that asks for more than it reads.
fn greedy(to: SocketAddr) -> Client {
    let mut client = Client::connect(to);
    client.send(get("/big").repeat(GREED));
    client
}

#[test]
fn clients_that_do_not_read_do_not_starve_the_next() {
    let to = server::<8>();
    let mut never: Vec<Client> = (0..6).map(|_| greedy(to)).collect();
    is_answered(to);
    thread::sleep(Duration::from_millis(1500));
    is_answered(to);
    // The others had to wait for a buffer, so the first had to go.
    let mut answers = Vec::new();
    let _ = never[0].0.read_to_end(&mut answers);
    assert!(answers.len() < GREED * ANSWER_MAX, "{}", answers.len());
}

#[test]
fn a_client_that_pauses_has_its_answers_while_nobody_waits() {
    let to = server::<8>();
    let mut slow = greedy(to);
    for part in 1..=GREED {
        if part % (GREED / 4) == 1 {
            thread::sleep(Duration::from_millis(1000));
            is_answered(to); // with the other buffer
        }
        assert_eq!(slow.answer().1.len(), ANSWER_MAX, "answer {part}");
    }
}

#[test]
fn a_slow_client_has_its_answers_while_others_wait() {
    let to = server_with::<8, 1>();
    let mut slow = greedy(to);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..10 {
                Client::connect(to).send(get("/constant")).answer();
            }
        });
        for part in 1..=GREED {
            if part % 20 == 0 {
                thread::sleep(Duration::from_millis(50));
            }
            assert_eq!(slow.answer().1.len(), ANSWER_MAX, "answer {part}");
        }
    });
}

#[test]
fn many_clients_at_once_are_all_answered() {
    let to = server::<8>();
    let clients: Vec<_> = (0..8)
        .map(|client: usize| {
            thread::spawn(move || {
                for round in 0..20 {
                    let body = vec![b'a' + client as u8; 100 * (client + 1) * (round + 1)];
                    let answer = Client::connect(to)
                        .send(post("/", body.len()))
                        .send(&body)
                        .answer();
                    assert_eq!(answer, (200, body), "client {client}, round {round}");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn a_device_that_never_answers_is_given_up() {
    let text = Client::connect(server::<4>()).send(get("/never")).rest().unwrap();
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
}

#[test]
fn deadlines_hold_on_the_wire() {
    let to = server::<8>();
    let timed = |bytes: &str| {
        let mut client = Client::connect(to);
        client.send(bytes);
        let start = Instant::now();
        (client.rest().unwrap(), start.elapsed().as_millis())
    };
    let (head, body, idle) = thread::scope(|scope| {
        let head = scope.spawn(|| timed("POST / HT"));
        let body = scope.spawn(|| timed(&(post("/", 5) + "hi")));
        let idle = scope.spawn(|| timed(""));
        (head.join().unwrap(), body.join().unwrap(), idle.join().unwrap())
    });
    assert!(
        head.0.starts_with("HTTP/1.1 408 ") && (4_900..7_000).contains(&head.1),
        "{head:?}"
    );
    assert!(
        body.0.starts_with("HTTP/1.1 408 ") && (4_900..7_000).contains(&body.1),
        "{body:?}"
    );
    assert!(
        idle.0.is_empty() && (14_900..17_000).contains(&idle.1),
        "{idle:?}"
    );
}
