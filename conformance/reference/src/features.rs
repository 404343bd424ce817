//! What the server can do beyond the contract, each behind a switch.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A part of MCP that the contract leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Legacy sessions over HTTP: `MCP-Session-Id`, demanded after `initialize`, ended by DELETE.
    Sessions,
    /// Event streams as answers over HTTP where the client admits them; in legacy with ids, resumed by GET, and a GET
    /// stream.
    Streams,
    /// The tool `slow_count`, which tells its progress and can be cancelled.
    Progress,
    /// `logging/setLevel` in legacy, `logLevel` in `_meta` of modern requests; `slow_count` logs.
    Logging,
    /// `slow_count` and `long_count` as tasks: the experimental form of 2025-11-25, the extension of 2026-07-28.
    Tasks,
    /// `subscriptions/listen` (2026-07-28).
    Subscriptions,
    /// The tool `ask_name`, which needs input of the client's (2026-07-28).
    InputRequired,
    /// Tools, resources, prompts and completions that the official suite wants to find. Comes with all the others.
    Official,
}

impl Feature {
    /// All but the last, which brings names of somebody else's.
    pub const ALL: [Self; 7] = [
        Self::Sessions,
        Self::Streams,
        Self::Progress,
        Self::Logging,
        Self::Tasks,
        Self::Subscriptions,
        Self::InputRequired,
    ];

    /// Its name on a command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Streams => "streams",
            Self::Progress => "progress",
            Self::Logging => "logging",
            Self::Tasks => "tasks",
            Self::Subscriptions => "subscriptions",
            Self::InputRequired => "input-required",
            Self::Official => "official",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that no feature has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "no feature {0:?}; use sessions, streams, progress, logging, tasks, subscriptions, input-required, all, or official"
)]
pub struct UnknownFeature(pub String);

/// A set of features. Reads one name, `all`, or `official`, which is all and what the official suite wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(u8);

impl Features {
    /// Every feature of [`Feature::ALL`].
    pub fn all() -> Self {
        Feature::ALL.into_iter().collect()
    }

    /// Whether a feature is in it.
    pub fn has(self, feature: Feature) -> bool {
        self.0 & bit(feature) != 0
    }

    /// Whether any of these is in it.
    pub(crate) fn any(self, features: &[Feature]) -> bool {
        features.iter().any(|feature| self.has(*feature))
    }
}

fn bit(feature: Feature) -> u8 {
    1 << feature as u8
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        Self(features.into_iter().fold(0, |set, feature| set | bit(feature)))
    }
}

impl FromIterator<Features> for Features {
    fn from_iter<I: IntoIterator<Item = Features>>(sets: I) -> Self {
        Self(sets.into_iter().fold(0, |set, other| set | other.0))
    }
}

impl FromStr for Features {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "all" {
            return Ok(Self::all());
        }
        if name == Feature::Official.as_str() {
            return Ok(Self(Self::all().0 | bit(Feature::Official)));
        }
        let feature = Feature::ALL.into_iter().find(|feature| feature.as_str() == name);
        feature
            .map(|feature| Self(bit(feature)))
            .ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_feature() {
        for feature in Feature::ALL {
            let set: Features = feature.as_str().parse().unwrap();
            assert!(
                Feature::ALL
                    .into_iter()
                    .all(|other| set.has(other) == (other == feature)),
                "{feature}"
            );
        }
        assert_eq!("all".parse(), Ok(Features::all()));
        assert!(!Features::all().has(Feature::Official));
        let official: Features = "official".parse().unwrap();
        assert!(official.has(Feature::Official) && official.any(&Feature::ALL));
        assert_eq!(
            "Tasks".parse::<Features>(),
            Err(UnknownFeature("Tasks".to_owned()))
        );
        assert!(!Features::default().any(&Feature::ALL));
    }
}
