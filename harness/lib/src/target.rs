//! What a client talks to.

use crate::access::Access;
use crate::shown;
use std::fmt;
use url::Url;

/// An endpoint, or a command that serves on its standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Streamable HTTP at this URL.
    Http(Endpoint),
    /// Newline-delimited messages on the standard streams of this command.
    Stdio(Command),
}

impl Target {
    /// `http` or `stdio`, the words of a transcript's `needs.transport`.
    pub const fn transport(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Stdio(_) => "stdio",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(endpoint) => endpoint.fmt(f),
            Self::Stdio(command) => write!(f, "stdio:{command}"),
        }
    }
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL at all.
    #[error("{0:?} is not a URL: {1}")]
    Url(String, url::ParseError),
    /// A URL of another kind.
    #[error(
        "{0:?} is not an http URL; servers are reached by http://HOST:PORT/PATH or https://HOST:PORT/PATH"
    )]
    Scheme(String),
    /// A URL with a user name or password, which is not repeated.
    #[error(
        "a user name or password in the URL would not be sent; leave it out, and use --bearer or --header"
    )]
    Credentials,
    /// A command line with an open quote, or none at all.
    #[error("{0:?} is not a command line: close its quotes, name a program")]
    Command(String),
}

/// An MCP endpoint over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host to connect to, without the brackets of an IPv6 literal.
    pub host: String,
    /// Port to connect to.
    pub port: u16,
    /// What goes into the `Host` header: with the port unless it is the scheme's own, 80 or 443.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// Whether the connection is encrypted, `https`.
    pub tls: bool,
    /// What it takes to be let in.
    pub access: Access,
}

impl Endpoint {
    /// Reads an `http` or `https` URL.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let url = Url::parse(text).map_err(|error| TargetError::Url(shown::target(text), error))?;
        let (Some(host), scheme @ ("http" | "https")) = (url.host_str(), url.scheme()) else {
            return Err(TargetError::Scheme(shown::target(text)));
        };
        let tls = scheme == "https";
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        let authority = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let path = url.query().map_or_else(
            || url.path().to_owned(),
            |query| format!("{}?{query}", url.path()),
        );
        let access = Access::default().hiding(&path);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self {
            host,
            port: url.port().unwrap_or(if tls { 443 } else { 80 }),
            authority,
            path,
            tls,
            access,
        })
    }

    /// The URL of a path on the same host.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown::target(&self.url(&self.path)))
    }
}

/// A program with its arguments; no shell stands between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Name or path of the program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Command {
    /// Splits a command line by the quoting rules of a POSIX shell.
    pub fn parse(line: &str) -> Result<Self, TargetError> {
        let bad = || TargetError::Command(line.to_owned());
        let mut words = shlex::split(line).ok_or_else(bad)?.into_iter();
        let program = words.next().ok_or_else(bad)?;
        Ok(Self {
            program,
            arguments: words.collect(),
        })
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        for (index, word) in words.enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&shlex::try_quote(word).unwrap_or(word.into()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_keeps_what_the_host_header_needs() {
        let endpoint = Endpoint::parse("http://[::1]:8080/mcp?x=1").unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 8080));
        assert_eq!(
            (endpoint.authority.as_str(), endpoint.path.as_str()),
            ("[::1]:8080", "/mcp?x=1")
        );
        assert_eq!(
            Endpoint::parse("http://board.local/mcp").unwrap().authority,
            "board.local"
        );
        let endpoint = Endpoint::parse("https://board.local/mcp").unwrap();
        assert_eq!((endpoint.port, endpoint.tls), (443, true));
        assert_eq!(endpoint.to_string(), "https://board.local/mcp");
    }

    #[test]
    fn other_schemes_are_refused() {
        assert!(matches!(Endpoint::parse("ftp://x/"), Err(TargetError::Scheme(_))));
        assert!(matches!(Endpoint::parse("nonsense"), Err(TargetError::Url(..))));
    }

    #[test]
    fn a_command_line_splits_as_a_shell_would() {
        let command = Command::parse("server --name 'two words'").unwrap();
        assert_eq!((command.program.as_str(), command.arguments.len()), ("server", 2));
        assert_eq!(command.to_string(), "server --name 'two words'");
        assert!(Command::parse("server 'open").is_err());
        assert!(Command::parse("  ").is_err());
    }
}
