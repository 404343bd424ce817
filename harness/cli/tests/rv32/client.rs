//! A client that can be as slow, rude or silent as a test wants: sockets, and one HTTP answer at a time.

use mcp_hil_harness::target::Endpoint;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing here takes longer, or it hangs.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    host: String,
}

impl Client {
    pub fn connect(endpoint: &Endpoint) -> Result<Self, String> {
        let ip: IpAddr = endpoint.host.parse().map_err(|_| "the endpoint is no address")?;
        let stream = TcpStream::connect_timeout(&SocketAddr::new(ip, endpoint.port), LIMIT)
            .map_err(|error| format!("no connection: {error}"))?;
        let set_up = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LIMIT))?;
            stream.set_write_timeout(Some(LIMIT))
        };
        set_up().map_err(|error: std::io::Error| error.to_string())?;
        let host = endpoint.authority.clone();
        Ok(Self { stream, host })
    }

    /// Has the system take as little as it can of what the board sends.
    pub fn with_little_room(self) -> Result<Self, String> {
        let socket = socket2::SockRef::from(&self.stream);
        socket
            .set_recv_buffer_size(1)
            .map_err(|error| error.to_string())?;
        Ok(self)
    }

    /// The head of a request with a body of this length.
    pub fn head(&self, length: usize) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            self.host
        )
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream
            .write_all(bytes)
            .map_err(|error| format!("could not send: {error}"))
    }

    /// Sends a message and gives status and body of its answer.
    pub fn post(&mut self, body: &[u8]) -> Result<(u16, String), String> {
        let head = self.head(body.len());
        self.send(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    /// Reads one answer: status and body.
    pub fn answer(&mut self) -> Result<(u16, String), String> {
        self.answer_with_head().map(|(_, status, body)| (status, body))
    }

    /// Reads one answer: head, status, body.
    pub fn answer_with_head(&mut self) -> Result<(String, u16, String), String> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some(answer) = whole(&bytes) {
                return Ok(answer);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(format!("closed after {} bytes", bytes.len())),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) => return Err(format!("{error} after {} bytes", bytes.len())),
            }
        }
    }
}

/// Head, status and body, once all of the answer is there.
fn whole(bytes: &[u8]) -> Option<(String, u16, String)> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))?
        .parse()
        .ok()?;
    (body.len() >= length).then(|| (head.to_owned(), status, body.to_owned()))
}
