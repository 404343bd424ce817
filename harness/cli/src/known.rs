//! What is known to be broken on a target, read for a run of checks.

use mcp_hil_conformance::baseline::{self, Baseline};
use mcp_hil_harness::report::Report;
use std::path::Path;

/// A profile and a baseline; each may have nothing in it.
pub struct Known {
    pub profile: Baseline,
    pub baseline: Baseline,
}

impl Known {
    /// Reads both, where they are named. A baseline that `is_written` may be missing.
    ///
    /// # Errors
    /// What can't be used, in words.
    pub fn read(profile: Option<&str>, baseline: Option<&Path>, is_written: bool) -> Result<Self, String> {
        Ok(Self {
            profile: built_in(profile)?,
            baseline: read(baseline, is_written)?,
        })
    }

    /// Marks in a report what is expected; gives the entries of the profile that no longer hold.
    pub fn apply(&self, report: &mut Report) -> Vec<String> {
        let today = today();
        self.baseline.apply(report, &today);
        self.profile.apply(report, &today)
    }
}

fn built_in(name: Option<&str>) -> Result<Baseline, String> {
    let Some(name) = name else {
        return Ok(Baseline::default());
    };
    match baseline::profile(name) {
        Some(Ok(profile)) => Ok(profile),
        Some(Err(error)) => Err(format!("the profile {name}: {error}")),
        None => {
            let known: Vec<_> = baseline::profiles().collect();
            Err(format!("there is no profile {name}; known: {}", known.join(", ")))
        }
    }
}

fn read(path: Option<&Path>, is_written: bool) -> Result<Baseline, String> {
    let Some(path) = path else {
        return Ok(Baseline::default());
    };
    match std::fs::read_to_string(path) {
        Ok(text) => Baseline::parse(&text).map_err(|error| format!("{}: {error}", path.display())),
        Err(error) if is_written && error.kind() == std::io::ErrorKind::NotFound => Ok(Baseline::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The date in UTC, as `2027-01-31`.
fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}
