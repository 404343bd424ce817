//! The stream below a connection: TCP, plain or encrypted.

use crate::fault::Fault;
use crate::target::Endpoint;
use futures_util::FutureExt as _;
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An open stream.
#[derive(Debug)]
pub enum Stream {
    /// `http`.
    Plain(TcpStream),
    /// `https`.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Connects, and for `https` shakes hands.
    ///
    /// # Errors
    /// What the system or the other side says, in words.
    pub async fn open(endpoint: &Endpoint) -> Result<Self, String> {
        let text = |error: io::Error| error.to_string();
        let tcp = TcpStream::connect((endpoint.host.as_str(), endpoint.port))
            .await
            .map_err(text)?;
        // Nagle's algorithm would glue pieces that a transcript sends apart
        tcp.set_nodelay(true).map_err(text)?;
        if !endpoint.tls {
            return Ok(Self::Plain(tcp));
        }
        let config = endpoint.access.tls().map_err(|error| error.to_string())?;
        let name = ServerName::try_from(endpoint.host.clone())
            .map_err(|_| format!("{:?} is no name that a certificate can have", endpoint.host))?;
        match TlsConnector::from(config).connect(name, tcp).await {
            Ok(stream) => Ok(Self::Tls(Box::new(stream))),
            Err(error) => Err(refusal(&error).unwrap_or_else(|| format!("TLS: {error}"))),
        }
    }

    /// Whether nothing has come, not even an end.
    pub fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(stream) => {
                matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
            }
            // tickets for later sessions may have come, which are no data
            Self::Tls(stream) => stream.read(&mut [0]).now_or_never().is_none(),
        }
    }
}

/// What is wrong between the certificates of both sides; none for every other error. In TLS 1.3 a server refuses a
/// client's certificate after the handshake, so this may come with the first read.
pub fn refusal(error: &io::Error) -> Option<String> {
    use rustls::{AlertDescription as Alert, Error};
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let hint = match error {
        Error::InvalidCertificate(_) => "; trust its CA with --ca FILE",
        Error::AlertReceived(Alert::CertificateRequired) => {
            "; give one with --client-cert FILE --client-key FILE"
        }
        Error::AlertReceived(
            Alert::UnknownCA
            | Alert::BadCertificate
            | Alert::CertificateUnknown
            | Alert::CertificateExpired
            | Alert::DecryptError,
        ) => "; it does not take the client certificate",
        _ => "",
    };
    Some(format!("TLS: {error}{hint}"))
}

/// A fault for a server that does not let us in.
pub fn refused(endpoint: &str, error: &io::Error) -> Option<Fault> {
    let reason = refusal(error)?;
    Some(Fault::Unreachable {
        target: endpoint.to_owned(),
        reason,
    })
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
