//! Certificates of our own, and a server that speaks TLS with them.

use crate::server::{answer, request_with_head};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use tempfile::TempDir;

/// A certificate authority, with files for the command line.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self {
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
            folder,
        }
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Files of a client's certificate and key.
    pub fn client(&self) -> (String, String) {
        let (certificate, key) = self.issue("client");
        std::fs::write(self.file("client.pem"), certificate.pem()).unwrap();
        std::fs::write(self.file("client.key"), key.serialize_pem()).unwrap();
        (self.file("client.pem"), self.file("client.key"))
    }

    fn config(&self, clients: Option<&Self>) -> ServerConfig {
        let provider = Arc::new(ring::default_provider());
        let (certificate, key) = self.issue("127.0.0.1");
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.certificate.clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }

    /// Serves pings over TLS, to clients of an authority if there is one; gives the URL.
    pub fn serve(&self, clients: Option<&Self>) -> String {
        let config = Arc::new(self.config(clients));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/mcp", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                thread::spawn(move || {
                    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
                    while let Some((_, message)) = request_with_head(&mut stream) {
                        let text = answer(&message);
                        if stream
                            .get_mut()
                            .write_all(text.as_bytes())
                            .and_then(|()| stream.get_mut().flush())
                            .is_err()
                        {
                            return;
                        }
                    }
                });
            }
        });
        url
    }
}
