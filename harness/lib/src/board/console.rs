//! A board's console: what it printed, and the boot lines in it (`firmware/README.md`, "Boot log"): pure.

use crate::bench::failure::Failure;
use std::fmt::Debug;
use std::time::Instant;

/// What a board prints, kept by whoever reads it.
pub trait Console: Debug + Send + Sync {
    /// The lines that were read from `start` on, as far as they are still kept.
    fn since(&self, start: Instant) -> Vec<String>;

    /// What it says has gone wrong with the board by now; none for a reader that does not judge.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// Whether the board has ended and everything that it printed is here. A real board never ends.
    fn ended(&self) -> bool {
        false
    }
}

/// What a board told on its way up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// GNU build id of the running image; empty where there is none.
    pub build_id: Option<String>,
    /// MAC address.
    pub mac: Option<String>,
    /// URL of the endpoint, once it serves.
    pub url: Option<String>,
    /// State of its configuration: `ok`, `missing` or `bad`.
    pub configuration: Option<String>,
    /// Its address.
    pub address: Option<String>,
    /// The last stage that it told.
    pub stage: Option<String>,
    /// What it waits for, where it waits to be flashed with a configuration.
    pub waits: Option<String>,
}

impl Boot {
    /// Takes a line of the console. A reset makes all that was told before stale.
    pub fn line(&mut self, line: &str) {
        if let Some(reason) = line
            .trim_end()
            .strip_prefix("mcp-device warning: configuration: ")
        {
            self.waits = Some(reason.to_owned());
        }
        let Some((stage, values)) = parse(line) else {
            return;
        };
        let value = |key: &str| {
            values
                .iter()
                .find(|(known, _)| *known == key)
                .map(|(_, value)| (*value).to_owned())
        };
        match stage {
            "reset" => *self = Self::default(),
            "configuration" => self.configuration = value("state"),
            "address" => self.address = value("ip"),
            "build" => self.build_id = value("id"),
            "mac" => self.mac = value("mac"),
            "serving" => self.url = value("url"),
            _ => {}
        }
        self.stage = Some(stage.to_owned());
    }
}

/// Stage and `key=value` of a boot line; none for any other line.
pub fn parse(line: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let rest = line
        .trim_end_matches(['\r', '\n'])
        .strip_prefix("mcp-device boot ")?;
    let mut pairs = rest.split(' ').filter_map(|pair| pair.split_once('='));
    let (_, stage) = pairs.next().filter(|(key, _)| *key == "stage")?;
    Some((stage, pairs.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_is_read_from_its_lines() {
        let mut boot = Boot::default();
        for line in [
            "mcp-device boot stage=reset reason=power-on",
            "some other text",
            "mcp-device boot stage=build id=17f4\r\n",
            "mcp-device boot stage=mac mac=02:00:27:49:89:0b",
            "mcp-device boot stage=address ip=127.0.0.1",
            "mcp-device boot stage=later whatever=1",
            "mcp-device boot stage=serving url=http://127.0.0.1:1/mcp more=2",
        ] {
            boot.line(line);
        }
        assert_eq!(boot.build_id.as_deref(), Some("17f4"));
        assert_eq!(boot.address.as_deref(), Some("127.0.0.1"));
        assert_eq!(boot.url.as_deref(), Some("http://127.0.0.1:1/mcp"));
    }

    #[test]
    fn a_second_reset_forgets_what_was_told() {
        let mut boot = Boot::default();
        boot.line("mcp-device boot stage=serving url=http://x/");
        boot.line("mcp-device boot stage=reset reason=watchdog");
        let reset = Boot {
            stage: Some("reset".to_owned()),
            ..Boot::default()
        };
        assert_eq!(boot, reset);
    }

    #[test]
    fn an_empty_build_id_is_told_apart_from_none() {
        let mut boot = Boot::default();
        boot.line("mcp-device boot stage=build id=");
        assert_eq!(boot.build_id.as_deref(), Some(""));
        assert_eq!(parse("mcp-device boot reason=x"), None);
    }
}
