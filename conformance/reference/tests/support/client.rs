//! A client on the server's standard streams.

use mcp_hil_reference::{Options, Server, serve_stdio};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub struct Client {
    pub input: WriteHalf<DuplexStream>,
    pub output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub task: JoinHandle<std::io::Result<()>>,
    /// How long an answer may take.
    limit: Duration,
}

impl Client {
    /// Starts a server that must answer within `limit`, on streams that hold so many bytes.
    pub fn start(options: Options, bytes: usize, limit: Duration) -> Self {
        let (client, server) = duplex(bytes);
        let (output, input) = split(client);
        let (reader, writer) = split(server);
        let task = tokio::spawn(async { serve_stdio(reader, writer, &Server::new(options)).await });
        Self {
            input,
            output: BufReader::new(output).lines(),
            task,
            limit,
        }
    }

    pub async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// The next message.
    pub async fn answer(&mut self) -> Value {
        let line = timeout(self.limit, self.output.next_line())
            .await
            .expect("an answer in time");
        serde_json::from_str(&line.unwrap().expect("the server is still there")).unwrap()
    }

    pub async fn ask(&mut self, message: Value) -> Value {
        self.send(message.to_string()).await;
        self.answer().await
    }

    /// Ends the input; the server must end too, having said nothing more.
    pub async fn end(mut self) {
        self.input.shutdown().await.unwrap();
        timeout(self.limit, self.task)
            .await
            .expect("ended in time")
            .unwrap()
            .unwrap();
        assert_eq!(self.output.next_line().await.unwrap(), None);
    }
}
