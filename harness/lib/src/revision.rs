//! Revisions of MCP and the two wire eras.

use std::fmt;
use std::str::FromStr;

/// How a revision opens a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Revisions to 2025-11-25: an `initialize` handshake, a session if the server wants one.
    Legacy,
    /// Revisions from 2026-07-28: no handshake; each request carries its version in `_meta`.
    Modern,
}

/// A revision of MCP that this library speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// 2025-06-18, legacy.
    R2025_06_18,
    /// 2025-11-25, the newest legacy one.
    R2025_11_25,
    /// 2026-07-28, the first modern one.
    R2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::R2025_06_18, Self::R2025_11_25, Self::R2026_07_28];
    /// The revision to offer first in a handshake.
    pub const NEWEST_LEGACY: Self = Self::R2025_11_25;
    /// The revision to probe a server with.
    pub const NEWEST_MODERN: Self = Self::R2026_07_28;

    /// The date that stands for the revision on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::R2025_06_18 => "2025-06-18",
            Self::R2025_11_25 => "2025-11-25",
            Self::R2026_07_28 => "2026-07-28",
        }
    }

    /// Its era.
    pub const fn era(self) -> Era {
        match self {
            Self::R2025_06_18 | Self::R2025_11_25 => Era::Legacy,
            Self::R2026_07_28 => Era::Modern,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no revision this library speaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no revision {0:?}; use 2025-06-18, 2025-11-25 or 2026-07-28")]
pub struct UnknownRevision(pub String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}
