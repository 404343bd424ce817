//! What a person can do where a server could not be placed: pure.

use super::{ClientError, Exchange, Probe};
use crate::fault::Fault;
use crate::target::{Endpoint, Target};

/// What to try, where the evidence says something.
pub(super) fn advice(target: &Target, probe: &Probe) -> Option<String> {
    match (probe, target) {
        (Probe::Unreachable(Fault::Unreachable { reason, .. }), Target::Http(endpoint)) => {
            Some(unreachable(endpoint, reason))
        }
        (Probe::NotMcp(error), Target::Http(endpoint)) => not_mcp(endpoint, error),
        (Probe::NotMcp(_), Target::Stdio(_)) => Some(
            "start the command by hand: it must answer JSON-RPC, a message a line, on standard output, and nothing else \
             may stand there"
                .to_owned(),
        ),
        _ => None,
    }
}

fn unreachable(endpoint: &Endpoint, reason: &str) -> String {
    let Endpoint { authority, path, .. } = endpoint;
    if reason.contains("certificate") {
        return "if the certificate is one of your own, name its authority with --ca FILE".to_owned();
    }
    if reason.contains("TLS") {
        return format!("TLS may not be spoken there; leave out the s: http://{authority}{path}");
    }
    if reason.contains("lookup") {
        return "check the name; a board that announces itself is found by mdns:NAME, and `mcp-hil discover` lists them"
            .to_owned();
    }
    if reason.contains("refused") {
        return format!(
            "the machine is there, and nothing listens on port {}: start the server, or check the port",
            endpoint.port
        );
    }
    "check that the board is up and in this network: `mcp-hil discover` lists those that announce themselves"
        .to_owned()
}

fn not_mcp(endpoint: &Endpoint, error: &ClientError) -> Option<String> {
    let Endpoint { authority, path, .. } = endpoint;
    let scheme = if endpoint.tls { "https" } else { "http" };
    let exchange = error.exchange();
    let Some(status) = exchange.first_status() else {
        return Some(no_answer(endpoint, exchange));
    };
    let header = |name| exchange.reply().and_then(|reply| reply.header(name));
    match status {
        401 | 403 => Some(
            "the server wants to know who asks: give --bearer TOKEN or --header 'Name: value'".to_owned(),
        ),
        300..=399 => header("location").map(|to| {
            format!("it sends you elsewhere, to {to:?}; redirects are not followed, name the place itself")
        }),
        404 | 405 | 501 if path != "/mcp" => Some(format!(
            "no MCP server is at {path}; many are at /mcp: {scheme}://{authority}/mcp"
        )),
        _ if is_page(header("content-type")) => {
            Some("a web page answers there, and no MCP server: check port and path".to_owned())
        }
        404 | 405 | 501 => Some(format!(
            "no MCP server is at {path}; look in its documentation for the path of its Streamable HTTP endpoint"
        )),
        _ if error.is_broken_answer() => Some(format!(
            "a server is there, and what it answers can't be used; the bytes: mcp-hil check {scheme}://{authority}{path} -v"
        )),
        _ if header("content-encoding").is_some() => {
            Some("have the server answer without a content coding".to_owned())
        }
        _ => None,
    }
}

/// Something took the connection and gave nothing that begins as HTTP.
fn no_answer(endpoint: &Endpoint, exchange: &Exchange) -> String {
    match exchange.fault {
        Some(Fault::Silent(_) | Fault::Slow { .. }) => {
            "something took the connection and does not answer: check the port, look whether the server hangs, or give \
             it more time with --deadline-factor 3"
                .to_owned()
        }
        _ if !endpoint.tls => format!(
            "what listens there speaks no HTTP: check the port, or try https://{}{}",
            endpoint.authority, endpoint.path
        ),
        _ => "what listens there speaks no HTTP: check the port".to_owned(),
    }
}

fn is_page(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|media| media.to_ascii_lowercase().starts_with("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Reply;
    use std::time::Duration;

    fn endpoint(url: &str) -> Target {
        Target::Http(Endpoint::parse(url).unwrap())
    }

    fn answered(url: &str, status: u16, header: (&str, &str)) -> String {
        let reply = Reply {
            status: Some(status),
            headers: vec![(header.0.to_owned(), header.1.to_owned())],
            ..Reply::default()
        };
        let exchange = Box::new(Exchange {
            replies: vec![reply],
            ..Exchange::default()
        });
        let error = ClientError::Unexpected {
            method: "initialize".to_owned(),
            reason: String::new(),
            exchange,
        };
        advice(&endpoint(url), &Probe::NotMcp(error)).unwrap_or_default()
    }

    fn unreached(url: &str, reason: &str) -> String {
        let fault = Fault::Unreachable {
            target: String::new(),
            reason: reason.to_owned(),
        };
        advice(&endpoint(url), &Probe::Unreachable(fault)).unwrap_or_default()
    }

    #[test]
    fn a_wrong_path_leads_to_the_usual_one() {
        let plain = ("Content-Type", "text/plain");
        for path in ["", "/", "/mpc", "/mcp/"] {
            let url = format!("http://127.0.0.1:8000{path}");
            assert!(
                answered(&url, 404, plain).ends_with("http://127.0.0.1:8000/mcp"),
                "{path}"
            );
        }
        assert!(!answered("http://127.0.0.1:8000/mcp", 404, plain).contains("many are at"));
    }

    #[test]
    fn pages_logins_and_redirects_are_told_apart() {
        let url = "http://127.0.0.1/mcp";
        assert!(answered(url, 200, ("content-type", "text/HTML; charset=utf-8")).starts_with("a web page"));
        assert!(answered(url, 401, ("WWW-Authenticate", "Bearer")).contains("--bearer"));
        assert!(answered(url, 302, ("Location", "/login")).contains("\"/login\""));
        let coded = answered(url, 200, ("Content-Encoding", "gzip"));
        assert_eq!(coded, "have the server answer without a content coding");
        let useless = answered(url, 200, ("content-type", "application/json"));
        assert!(
            useless.ends_with("mcp-hil check http://127.0.0.1/mcp -v"),
            "{useless}"
        );
    }

    #[test]
    fn what_begins_as_http_is_not_said_to_speak_none() {
        let broken = |received: &str| {
            let fault = Fault::Malformed(crate::http::Malformed::Head(httparse::Error::HeaderName));
            let exchange = Box::new(Exchange {
                received: received.into(),
                fault: Some(fault.clone()),
                ..Exchange::default()
            });
            let error = ClientError::Fault {
                method: "initialize".to_owned(),
                fault,
                exchange,
            };
            advice(&endpoint("http://127.0.0.1/mcp"), &Probe::NotMcp(error)).unwrap_or_default()
        };
        assert!(broken("HTTP/1.1 200 OK\r\nX-A : b\r\n\r\n").starts_with("a server is there"));
        assert!(broken("HTTP/1.1 401 No\r\nX-A : b\r\n\r\n").contains("--bearer"));
        for none in ["", "HTTP", "HTTP/1.1 2", "SSH-2.0-x", "HTTP/1.1 2\u{fc}0"] {
            assert!(broken(none).contains("speaks no HTTP"), "{none:?}");
        }
    }

    #[test]
    fn what_could_not_be_reached_is_told_by_its_reason() {
        let url = "https://127.0.0.1:8000/mcp";
        let tls = "TLS: received corrupt message of type InvalidContentType";
        assert!(unreached(url, tls).ends_with("http://127.0.0.1:8000/mcp"));
        assert!(unreached(url, "TLS: invalid peer certificate: UnknownIssuer").contains("--ca"));
        assert!(unreached(url, "Connection refused (os error 111)").contains("nothing listens on port 8000"));
        assert!(unreached(url, "failed to lookup address information").contains("mdns:NAME"));
        assert!(unreached(url, "no connection within 5 s").contains("mcp-hil discover"));
    }

    #[test]
    fn silence_and_other_protocols_have_advice() {
        let silent = |fault: Fault| {
            let exchange = Box::new(Exchange {
                fault: Some(fault.clone()),
                ..Exchange::default()
            });
            let error = ClientError::Fault {
                method: "initialize".to_owned(),
                fault,
                exchange,
            };
            advice(&endpoint("http://127.0.0.1:8443/mcp"), &Probe::NotMcp(error)).unwrap()
        };
        assert!(silent(Fault::Silent(Duration::from_secs(10))).contains("--deadline-factor"));
        let closed = Fault::Closed {
            bytes: 0,
            reset: false,
            note: String::new(),
        };
        assert!(silent(closed).ends_with("https://127.0.0.1:8443/mcp"));
    }
}
