//! What a target asks for before it answers: credentials, and trust in certificates both ways.
//!
//! Credentials go out with every request, and nowhere else: in evidence, reports and shell lines stands the name of an
//! environment variable in their place.

use crate::shown;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A value shorter than this is looked for with its header's name only: it would stand in too many places by chance.
const SHORT: usize = 6;

/// What a user says about access.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Token for `Authorization: Bearer` (RFC 6750).
    pub bearer: Option<String>,
    /// Further header fields, each as `Name: value`.
    pub headers: Vec<String>,
    /// PEM file of the certificates to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// PEM files of the client's certificate chain and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

impl Options {
    /// Whether there is nothing but a bearer token, or not even that.
    pub const fn is_token_at_most(&self) -> bool {
        self.headers.is_empty() && self.ca.is_none() && self.client.is_none()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("access::Options")
    }
}

/// Why access can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Not a header field that may be added. Its value is not repeated.
    #[error("--header {0:?}: {1}")]
    Header(String, &'static str),
    /// Not a token that a header can carry.
    #[error("the bearer token has characters that a header can't carry: use printable ASCII without spaces")]
    Bearer,
    /// A PEM file that can't be used.
    #[error("{file}: {reason}")]
    File {
        /// Its path.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system's certificates can't be had.
    #[error("the system has no certificates to trust ({0}); name some with --ca FILE")]
    NoRoots(String),
    /// Certificate and key don't go together, or the like.
    #[error("the client certificate can't be used: {0}")]
    Client(rustls::Error),
}

/// A header field whose value is nobody's business.
#[derive(Clone, PartialEq, Eq)]
struct Credential {
    name: String,
    value: String,
    /// What stands in its place in everything that is shown.
    shown: String,
    /// The part of the value that is the secret.
    secret: String,
}

/// Credentials and trust for one endpoint.
#[derive(Clone, Default)]
pub struct Access {
    credentials: Arc<[Credential]>,
    /// What may be secret in the URL, and what stands in its place.
    query: Arc<[(String, String)]>,
    tls: Option<Arc<ClientConfig>>,
    curl: Vec<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.credentials.iter().map(|credential| &credential.name);
        f.debug_list().entries(names).finish()
    }
}

impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        self.credentials == other.credentials && self.query == other.query && self.curl == other.curl
    }
}

impl Eq for Access {}

impl Access {
    /// Checks the headers and reads the files.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn new(options: &Options) -> Result<Self, AccessError> {
        let mut credentials = Vec::new();
        if let Some(token) = &options.bearer {
            if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(AccessError::Bearer);
            }
            credentials.push(Credential {
                name: "Authorization".to_owned(),
                value: format!("Bearer {token}"),
                shown: "Bearer $MCP_HIL_BEARER".to_owned(),
                secret: token.clone(),
            });
        }
        for line in &options.headers {
            credentials.push(credential(line)?);
        }
        let mut curl = Vec::new();
        let tls = match (&options.ca, &options.client) {
            (None, None) => None,
            (ca, client) => Some(Arc::new(config(ca.as_deref(), client.as_ref())?)),
        };
        let files = [
            ("--cacert", options.ca.as_ref()),
            ("--cert", options.client.as_ref().map(|(chain, _)| chain)),
            ("--key", options.client.as_ref().map(|(_, key)| key)),
        ];
        for (option, file) in files {
            curl.extend(
                file.into_iter()
                    .flat_map(|file| [option.to_owned(), file.display().to_string()]),
            );
        }
        Ok(Self {
            credentials: credentials.into(),
            query: Arc::default(),
            tls,
            curl,
        })
    }

    /// The same that also hides what may be secret in the query of a URL's path.
    #[must_use]
    pub fn hiding(mut self, path: &str) -> Self {
        self.query = shown::of_query(path).into();
        self
    }

    /// Header fields that every request carries.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (String, String)> {
        self.credentials
            .iter()
            .map(|credential| (credential.name.clone(), credential.value.clone()))
    }

    /// Whether requests must carry something, which raw connections do not.
    pub fn has_credentials(&self) -> bool {
        !self.credentials.is_empty()
    }

    /// Whether there is something to hide.
    pub fn has_secrets(&self) -> bool {
        self.has_credentials() || !self.query.is_empty()
    }

    /// What to show in place of a header's value, if that is a secret.
    pub fn shown(&self, name: &str, value: &str) -> Option<&str> {
        let same = |credential: &&Credential| {
            credential.name.eq_ignore_ascii_case(name) && credential.value == value
        };
        self.credentials
            .iter()
            .find(same)
            .map(|credential| credential.shown.as_str())
    }

    /// Options by which `curl` gets the same trust.
    pub fn curl(&self) -> &[String] {
        &self.curl
    }

    /// How to encrypt: as the files say, else with the system's certificates.
    ///
    /// # Errors
    /// [`AccessError::NoRoots`].
    pub fn tls(&self) -> Result<Arc<ClientConfig>, AccessError> {
        static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
        if let Some(config) = self.tls.as_ref().or_else(|| SYSTEM.get()) {
            return Ok(Arc::clone(config));
        }
        let made = Arc::new(config(None, None)?);
        Ok(Arc::clone(SYSTEM.get_or_init(|| made)))
    }

    /// Whether a text holds a secret.
    pub fn is_told_by(&self, text: &str) -> bool {
        self.redact(text) != text
    }

    /// A text with each secret replaced by its placeholder.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (secret, shown) in self.replacements() {
            text = text.replace(&secret, &shown);
        }
        text
    }

    /// The same for bytes.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = bytes;
        for (secret, shown) in self.replacements() {
            bytes = replace(&bytes, secret.as_bytes(), shown.as_bytes());
        }
        bytes
    }

    fn replacements(&self) -> impl Iterator<Item = (String, String)> {
        let of_headers = self.credentials.iter().map(|credential| {
            let Credential {
                name,
                value,
                shown,
                secret,
            } = credential;
            if secret.len() < SHORT {
                (format!("{name}: {value}"), format!("{name}: {shown}"))
            } else {
                (secret.clone(), shown.trim_start_matches("Bearer ").to_owned())
            }
        });
        let all = of_headers.chain(self.query.iter().cloned());
        // in a JSON text a quotation mark or a reverse solidus of a secret has another before it
        all.flat_map(|(secret, shown)| {
            let quoted = secret.replace('\\', "\\\\").replace('"', "\\\"");
            let quoted = (quoted != secret).then(|| (quoted, shown.clone()));
            quoted.into_iter().chain([(secret, shown)])
        })
    }
}

fn credential(line: &str) -> Result<Credential, AccessError> {
    let bad = |problem| AccessError::Header(line.split(':').next().unwrap_or_default().to_owned(), problem);
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| bad("write it as 'Name: value'"))?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(bad("the name is no header name"));
    }
    let value = value.trim();
    if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return Err(bad("the value has characters that a header can't carry"));
    }
    let ours = [
        "host",
        "content-length",
        "transfer-encoding",
        "content-type",
        "accept",
        "connection",
    ];
    if ours.iter().any(|ours| name.eq_ignore_ascii_case(ours))
        || name.to_ascii_lowercase().starts_with("mcp-")
    {
        return Err(bad(
            "each message has its own; a transcript sets it with \"headers\"",
        ));
    }
    let variable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    Ok(Credential {
        name: name.to_owned(),
        value: value.to_owned(),
        shown: format!("$MCP_HIL_{variable}"),
        secret: value.to_owned(),
    })
}

fn config(ca: Option<&Path>, client: Option<&(PathBuf, PathBuf)>) -> Result<ClientConfig, AccessError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(file) => {
            for certificate in certificates(file)? {
                roots
                    .add(certificate)
                    .map_err(|error| in_file(file, error.to_string()))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            let (added, _) = roots.add_parsable_certificates(found.certs);
            if added == 0 {
                let reasons: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
                return Err(AccessError::NoRoots(reasons.join("; ")));
            }
        }
    }
    // named, as a program with two providers has no default one
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(AccessError::Client)?
        .with_root_certificates(roots);
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| in_file(key, words(&error, "private key")))?;
            builder
                .with_client_auth_cert(certificates(chain)?, private)
                .map_err(AccessError::Client)?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let bad = |error: pem::Error| in_file(file, words(&error, "certificate"));
    let found = CertificateDer::pem_file_iter(file).map_err(bad)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(bad)?;
    if found.is_empty() {
        return Err(in_file(file, words(&pem::Error::NoItemsFound, "certificate")));
    }
    Ok(found)
}

fn words(error: &pem::Error, what: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("no {what} in PEM form in it"),
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

fn in_file(file: &Path, reason: String) -> AccessError {
    AccessError::File {
        file: file.to_owned(),
        reason,
    }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(bearer: &str, headers: &[&str]) -> Result<Access, AccessError> {
        Access::new(&Options {
            bearer: Some(bearer.to_owned()),
            headers: headers.iter().map(|&header| header.to_owned()).collect(),
            ..Options::default()
        })
    }

    #[test]
    fn secrets_go_out_and_are_never_shown() {
        let access = access("tok-123456", &["X-Api-Key: key 7890", "X-Short: ab"]).unwrap();
        let headers: Vec<_> = access.headers().collect();
        assert_eq!(
            headers[0],
            ("Authorization".to_owned(), "Bearer tok-123456".to_owned())
        );
        assert_eq!(headers[1], ("X-Api-Key".to_owned(), "key 7890".to_owned()));
        let text =
            "Authorization: Bearer tok-123456\r\nX-Api-Key: key 7890\r\nX-Short: ab\r\n\r\n\"tok-123456\" ab";
        let shown = "Authorization: Bearer $MCP_HIL_BEARER\r\nX-Api-Key: $MCP_HIL_X_API_KEY\r\nX-Short: $MCP_HIL_X_SHORT\r\n\r\n\"$MCP_HIL_BEARER\" ab";
        assert_eq!(access.redact(text), shown);
        assert_eq!(access.redact_bytes(text.into()), shown.as_bytes());
        assert!(!format!("{access:?}").contains("123456"));
        assert_eq!(access.shown("x-api-key", "key 7890"), Some("$MCP_HIL_X_API_KEY"));
    }

    #[test]
    fn what_is_no_header_is_named_without_its_value() {
        for (line, problem) in [
            ("secret", "write it as 'Name: value'"),
            ("a b: secret", "the name is no header name"),
            ("A: x\nsecret", "characters that a header can't carry"),
            ("Mcp-Method: secret", "each message has its own"),
            ("HOST: secret", "each message has its own"),
        ] {
            let error = access("tok", &[line]).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
            assert!(line == "secret" || !error.contains("secret"), "{error}");
        }
        assert!(matches!(access("two words", &[]), Err(AccessError::Bearer)));
    }

    #[test]
    fn a_file_that_is_no_certificate_is_named() {
        let error = |ca: &str| {
            let options = Options {
                ca: Some(ca.into()),
                ..Options::default()
            };
            Access::new(&options).unwrap_err().to_string()
        };
        assert!(error("/no/such.pem").starts_with("/no/such.pem: "));
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(
            error(this).ends_with("no certificate in PEM form in it"),
            "{}",
            error(this)
        );
    }
}
