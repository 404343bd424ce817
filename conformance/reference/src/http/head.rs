//! What a request's head must be before its body matters.

use super::host::{Host, Origin};
use super::{refuse, reply};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};

const ALLOW: &str = "POST, OPTIONS";

/// Why a head is not served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    BadHost(&'static str),
    Forbidden(&'static str),
    NotFound,
    Method,
    /// No refusal in truth: what OPTIONS asks for.
    Options,
    /// A transfer coding besides `chunked`.
    Coding,
    NotOneChunked,
    ContentType,
    Accept,
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<Bytes> {
        let mut response = match self {
            Self::BadHost(reason) => refuse(StatusCode::BAD_REQUEST, reason),
            Self::Forbidden(reason) => refuse(StatusCode::FORBIDDEN, reason),
            Self::NotFound => refuse(StatusCode::NOT_FOUND, "the MCP endpoint is /mcp"),
            Self::Method => refuse(StatusCode::METHOD_NOT_ALLOWED, "send messages with POST"),
            Self::Options => reply(StatusCode::NO_CONTENT, None, Bytes::new()),
            Self::Coding => refuse(
                StatusCode::NOT_IMPLEMENTED,
                "Transfer-Encoding must be chunked and nothing else",
            ),
            Self::NotOneChunked => refuse(StatusCode::BAD_REQUEST, "Transfer-Encoding must be chunked, once"),
            Self::ContentType => refuse(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json",
            ),
            Self::Accept => refuse(StatusCode::NOT_ACCEPTABLE, "Accept must admit application/json"),
        };
        if matches!(self, Self::Method | Self::Options) {
            response
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static(ALLOW));
        }
        response
    }
}

/// Refuses any `Transfer-Encoding` other than one `chunked`: a body in another coding can't be read as what was sent
/// (RFC 9112, 6.1).
pub(super) fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    let values = headers.get_all(header::TRANSFER_ENCODING);
    let elements = values
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let codings: Vec<_> = elements
        .map(<[u8]>::trim_ascii)
        .filter(|coding| !coding.is_empty())
        .collect();
    if codings
        .iter()
        .any(|coding| !coding.eq_ignore_ascii_case(b"chunked"))
    {
        Err(Refusal::Coding)
    } else if codings.len() != 1 {
        Err(Refusal::NotOneChunked)
    } else {
        Ok(())
    }
}

/// Judges a head in the order Host and Origin, path, method, media types. `names` are the host names allowed besides
/// IP literals and `localhost`.
pub(super) fn check(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    names: &[String],
) -> Result<(), Refusal> {
    let host = single(headers, header::HOST).map_err(|()| Refusal::BadHost("more than one Host"))?;
    let host = host.ok_or(Refusal::BadHost("Host is missing"))?;
    // The authority of an absolute-form target replaces Host (RFC 9112, 3.2.2).
    let host = uri
        .authority()
        .map_or(host.as_bytes(), |authority| authority.as_str().as_bytes());
    let host = Host::read(host).filter(|host| host.is_allowed(names));
    let host = host.ok_or(Refusal::Forbidden(
        "Host must be an IP address, localhost or a configured name",
    ))?;
    let origin = single(headers, header::ORIGIN).map_err(|()| Refusal::Forbidden("more than one Origin"))?;
    if let Some(origin) = origin
        && !Origin::read(origin.as_bytes()).is_some_and(|origin| origin.is_same(&host))
    {
        return Err(Refusal::Forbidden(
            "Origin must name the same host and port as Host",
        ));
    }
    if uri.path() != "/mcp" {
        return Err(Refusal::NotFound);
    }
    if method == Method::OPTIONS {
        return Err(Refusal::Options);
    }
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    let content_type = single(headers, header::CONTENT_TYPE).ok().flatten();
    if !content_type.is_some_and(|value| essence(value.as_bytes()).eq_ignore_ascii_case(b"application/json"))
    {
        return Err(Refusal::ContentType);
    }
    let accept: Vec<_> = headers
        .get_all(header::ACCEPT)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if !accept.is_empty() && !admits_type(&accept.join(&b","[..]), b"application/json") {
        return Err(Refusal::Accept);
    }
    Ok(())
}

fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<&HeaderValue>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        Err(())
    } else {
        Ok(first)
    }
}

/// A media type or range without its parameters.
fn essence(value: &[u8]) -> &[u8] {
    value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// Whether the client says that it takes this type.
pub(super) fn admits(headers: &HeaderMap, media_type: &[u8]) -> bool {
    let values = headers.get_all(header::ACCEPT);
    let accept: Vec<_> = values.iter().map(HeaderValue::as_bytes).collect();
    !accept.is_empty() && admits_type(&accept.join(&b","[..]), media_type)
}

/// Whether an `Accept` admits a type. The most specific range that matches decides (RFC 9110, 12.5.1).
fn admits_type(accept: &[u8], media_type: &[u8]) -> bool {
    let slash = media_type
        .iter()
        .position(|byte| *byte == b'/')
        .unwrap_or_default();
    let group = [&media_type[..=slash], b"*"].concat();
    let ranges = [&b"*/*"[..], &group, media_type];
    let specificity = |range: &&[u8]| {
        ranges
            .iter()
            .position(|known| known.eq_ignore_ascii_case(essence(range)))
    };
    let matching = accept
        .split(|byte| *byte == b',')
        .filter(|range| specificity(range).is_some());
    matching
        .max_by_key(specificity)
        .is_some_and(|range| !has_zero_weight(range))
}

fn has_zero_weight(range: &[u8]) -> bool {
    let mut parameters = range.split(|byte| *byte == b';').skip(1).map(<[u8]>::trim_ascii);
    let weight =
        parameters.find_map(|parameter| parameter.strip_prefix(b"q=").or(parameter.strip_prefix(b"Q=")));
    weight.is_some_and(|weight| matches!(weight, b"0" | b"0." | b"0.0" | b"0.00" | b"0.000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(changes: &[(&'static str, &'static str)]) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in [("host", "127.0.0.1:8000"), ("content-type", "application/json")] {
            if !changes.iter().any(|(changed, _)| *changed == name) {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        for (name, value) in changes.iter().filter(|(_, value)| *value != "-") {
            headers.append(*name, HeaderValue::from_static(value));
        }
        check(
            &Method::POST,
            &Uri::from_static("/mcp?x"),
            &headers,
            &["Board-1.local".to_owned()],
        )
    }

    #[test]
    fn host_and_origin_keep_other_sites_out() {
        let bad_host = |result| matches!(result, Err(Refusal::BadHost(_)));
        let forbidden = |result| matches!(result, Err(Refusal::Forbidden(_)));
        assert_eq!(post(&[]), Ok(()));
        assert!(bad_host(post(&[("host", "-")])));
        assert!(bad_host(post(&[("host", "localhost"), ("host", "localhost")])));
        assert!(forbidden(post(&[("host", "evil.example")])));
        assert_eq!(post(&[("host", "board-1.LOCAL:1")]), Ok(()));
        assert_eq!(post(&[("origin", "http://127.0.0.1:8000")]), Ok(()));
        assert!(forbidden(post(&[("origin", "http://127.0.0.1:8001")])));
        assert!(forbidden(post(&[("origin", "http://evil.example")])));
        // Equal to Host, and still not one of ours.
        assert!(forbidden(post(&[
            ("host", "evil.example"),
            ("origin", "http://evil.example")
        ])));
        assert!(forbidden(post(&[("origin", "null")])));
    }

    #[test]
    fn content_type_is_json_in_any_writing() {
        for value in [
            "application/json; charset=utf-8",
            "Application/JSON",
            "application/json ;a=b",
        ] {
            assert_eq!(post(&[("content-type", value)]), Ok(()), "{value}");
        }
        for value in [
            "-",
            "text/plain",
            "application/jsonp",
            "application/json, text/plain",
            "",
        ] {
            assert_eq!(
                post(&[("content-type", value)]),
                Err(Refusal::ContentType),
                "{value}"
            );
        }
    }

    #[test]
    fn the_coding_is_chunked_once() {
        let check = |values: &[&'static str]| {
            let values = values.iter().map(|value| HeaderValue::from_static(value));
            check_coding(&values.map(|value| (header::TRANSFER_ENCODING, value)).collect())
        };
        for values in [&[][..], &["chunked"], &["Chunked"], &[",chunked ,"]] {
            assert_eq!(check(values), Ok(()), "{values:?}");
        }
        for values in [
            &["gzip"][..],
            &["gzip, chunked"],
            &["gzip", "chunked"],
            &["chunked, gzip"],
            &["identity"],
        ] {
            assert_eq!(check(values), Err(Refusal::Coding), "{values:?}");
        }
        for values in [&["chunked, chunked"][..], &["chunked", "chunked"], &[""]] {
            assert_eq!(check(values), Err(Refusal::NotOneChunked), "{values:?}");
        }
    }

    #[test]
    fn accept_must_admit_json() {
        for value in [
            "application/json, text/event-stream",
            "*/*",
            "application/*;q=0.1",
            "text/html, APPLICATION/JSON;q=0.001",
            "*/*;q=0, application/json",
        ] {
            assert_eq!(post(&[("accept", value)]), Ok(()), "{value}");
        }
        for value in [
            "text/event-stream",
            "text/*",
            "application/json;q=0",
            "application/json; q=0.0, */*",
            "",
        ] {
            assert_eq!(post(&[("accept", value)]), Err(Refusal::Accept), "{value}");
        }
        assert_eq!(
            post(&[("accept", "text/event-stream"), ("accept", "application/json")]),
            Ok(())
        );
    }

    #[test]
    fn the_endpoint_has_one_path_and_two_methods() {
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("localhost"))]);
        let ask = |method, path| check(&method, &Uri::from_static(path), &headers, &[]);
        for path in ["/", "/mcp/", "/MCP", "/mcp2"] {
            assert_eq!(ask(Method::POST, path), Err(Refusal::NotFound), "{path}");
        }
        for method in [
            Method::GET,
            Method::HEAD,
            Method::DELETE,
            Method::PUT,
            Method::from_bytes(b"BREW").unwrap(),
        ] {
            assert_eq!(ask(method, "/mcp"), Err(Refusal::Method));
        }
        assert_eq!(ask(Method::OPTIONS, "/mcp"), Err(Refusal::Options));
        assert_eq!(ask(Method::OPTIONS, "/"), Err(Refusal::NotFound));
    }
}
