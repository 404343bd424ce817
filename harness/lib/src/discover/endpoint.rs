//! The endpoint that a TXT record names: pure. ESP-Claw's key is `endpoint`, a path without a leading slash, `mcp` by
//! default; other projects do it otherwise, and all of them have to be understood.

use super::heard::Text;
use super::oddity::Oddity;
use url::Url;

/// Where a server is when its TXT record does not say.
const DEFAULT: &str = "mcp";
const KEY: &str = "endpoint";

/// What the SRV record and the addresses say, to compare a URL with.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Port of the SRV record.
    pub port: Option<u16>,
    /// Hostname and addresses, as they would stand in a URL.
    pub hosts: &'a [String],
}

/// The path, without its leading slash, and what is odd about the record. None: there is no TXT record.
pub fn endpoint(text: Option<&Text>, place: Place<'_>) -> (String, Vec<Oddity>) {
    let default = |oddity| (DEFAULT.to_owned(), vec![oddity]);
    let Some(text) = text else {
        return default(Oddity::TextMissing);
    };
    if text.is_empty() {
        return default(Oddity::TextEmpty);
    }
    let all = |wanted: &str| -> Vec<&(String, Option<String>)> {
        text.iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(wanted))
            .collect()
    };
    let mut oddities = Vec::new();
    let named = all(KEY);
    let value = if let Some((key, value)) = named.first() {
        if key != KEY {
            oddities.push(Oddity::EndpointCase(key.clone()));
        }
        if named.len() > 1 {
            oddities.push(Oddity::EndpointTwice(named.len()));
        }
        let value = value.as_deref().unwrap_or_default();
        if value.starts_with('/') {
            oddities.push(Oddity::EndpointSlash(value.to_owned()));
        }
        value
    } else if let Some((_, Some(value))) = all("path").first() {
        oddities.push(Oddity::PathInstead(value.clone()));
        value
    } else {
        return default(Oddity::EndpointMissing);
    };
    if value.is_empty() {
        oddities.push(Oddity::EndpointEmpty);
        return (DEFAULT.to_owned(), oddities);
    }
    let path = if value.contains("://") {
        of_url(value, place)
    } else {
        of_path(value)
    };
    match path {
        Ok((path, None)) => (path, oddities),
        Ok((path, Some(oddity))) => {
            oddities.push(oddity);
            (path, oddities)
        }
        Err(oddity) => {
            oddities.push(oddity);
            (DEFAULT.to_owned(), oddities)
        }
    }
}

type Path = Result<(String, Option<Oddity>), Oddity>;

fn of_path(value: &str) -> Path {
    let unusable = || Oddity::EndpointUnusable(value.to_owned());
    // a tab or a line break in it would vanish without a word
    if value.chars().any(char::is_control) {
        return Err(unusable());
    }
    let url =
        Url::parse(&format!("http://host/{}", value.trim_start_matches('/'))).map_err(|_| unusable())?;
    Ok((path(&url), None))
}

fn of_url(value: &str, place: Place<'_>) -> Path {
    let unusable = || Oddity::EndpointUnusable(value.to_owned());
    let url = Url::parse(value).map_err(|_| unusable())?;
    let (Some(host), "http" | "https") = (url.host_str(), url.scheme()) else {
        return Err(unusable());
    };
    let elsewhere = url.port_or_known_default() != place.port
        || !place.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
    let oddity = Oddity::EndpointUrl {
        url: value.to_owned(),
        elsewhere,
    };
    Ok((path(&url), Some(oddity)))
}

fn path(url: &Url) -> String {
    let path = url.path().trim_start_matches('/');
    url.query()
        .map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, Option<&str>)]) -> (String, Vec<&'static str>) {
        let text = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned)))
            .collect();
        let hosts = ["board.local".to_owned(), "10.0.0.5".to_owned()];
        let place = Place {
            port: Some(18791),
            hosts: &hosts,
        };
        let (path, oddities) = endpoint(Some(&text), place);
        (path, oddities.iter().map(Oddity::code).collect())
    }

    #[test]
    fn a_plain_endpoint_is_not_odd() {
        assert_eq!(
            read(&[("endpoint", Some("mcp")), ("id", Some("1"))]),
            ("mcp".to_owned(), vec![])
        );
        assert_eq!(read(&[("endpoint", Some("a/b?c=1"))]).0, "a/b?c=1");
    }

    #[test]
    fn every_other_form_is_understood_and_named() {
        for (pairs, path, codes) in [
            (vec![("Endpoint", Some("api"))], "api", vec!["endpoint-case"]),
            (vec![("version", Some("1"))], "mcp", vec!["endpoint-missing"]),
            (vec![("path", Some("/api/mcp"))], "api/mcp", vec!["path-instead"]),
            (vec![("path", None)], "mcp", vec!["endpoint-missing"]),
            (
                vec![("path", Some("no")), ("endpoint", Some("yes"))],
                "yes",
                vec![],
            ),
            (vec![("endpoint", None)], "mcp", vec!["endpoint-empty"]),
            (vec![("endpoint", Some(""))], "mcp", vec!["endpoint-empty"]),
            (vec![("endpoint", Some("/mcp"))], "mcp", vec!["endpoint-slash"]),
            (
                vec![("endpoint", Some("one")), ("ENDPOINT", Some("two"))],
                "one",
                vec!["endpoint-twice"],
            ),
            (vec![("endpoint", Some("a\nb"))], "mcp", vec!["endpoint-unusable"]),
            (
                vec![("endpoint", Some("ws://10.0.0.5/mcp"))],
                "mcp",
                vec!["endpoint-unusable"],
            ),
            (
                vec![("endpoint", Some("http://10.0.0.5:18791/api"))],
                "api",
                vec!["endpoint-url"],
            ),
        ] {
            assert_eq!(read(&pairs), (path.to_owned(), codes), "{pairs:?}");
        }
        assert_eq!(read(&[]), ("mcp".to_owned(), vec!["txt-empty"]));
    }

    #[test]
    fn a_url_of_another_place_is_told() {
        let elsewhere = |url: &str| {
            let text = vec![("endpoint".to_owned(), Some(url.to_owned()))];
            let hosts = ["board.local".to_owned(), "10.0.0.5".to_owned()];
            let place = Place {
                port: Some(18791),
                hosts: &hosts,
            };
            match endpoint(Some(&text), place).1.as_slice() {
                [Oddity::EndpointUrl { elsewhere, .. }] => *elsewhere,
                other => unreachable!("{other:?}"),
            }
        };
        assert!(!elsewhere("http://10.0.0.5:18791/mcp"));
        assert!(!elsewhere("http://Board.local:18791/mcp"));
        assert!(elsewhere("http://10.0.0.5/mcp"));
        assert!(elsewhere("http://192.168.4.1:18791/mcp"));
    }

    #[test]
    fn no_text_record_is_not_an_empty_one() {
        let place = Place {
            port: None,
            hosts: &[],
        };
        assert_eq!(
            endpoint(None, place),
            ("mcp".to_owned(), vec![Oddity::TextMissing])
        );
    }
}
