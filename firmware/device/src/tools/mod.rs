//! The tools of the contract. A new tool is its entry in the contract, its function, and one line in the list.

mod echo;
mod identity;
mod jobs;
mod led;
mod log;
mod sensor;
mod time;

use core::fmt;

use crate::answer::{Full, Writer};
use crate::jobs::{Entry, Id};
use crate::json::{Quoted, Text};
use crate::schema::Invalid;
use crate::{Board, Device, MAX_ANSWER, MAX_JOBS, Millis};

/// A call of a tool, its arguments already valid by its schema.
pub(crate) struct Call<'a, 'w, 'o> {
    pub now: Millis,
    /// Text of the `arguments` object.
    pub arguments: &'a str,
    /// Takes the output: [`Writer::structured`] or [`Writer::text`], once.
    pub answer: &'w mut Writer<'o>,
}

/// A tool's own failure, in words that a model can act on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError<'a> {
    #[error("invalid arguments: {0}")]
    Arguments(Invalid<'a>),
    #[error("answer too large: the limit is {MAX_ANSWER} bytes; ask for less")]
    Full(#[from] Full),
    #[error("sensor {0} is not fitted on this board; sensor_list tells which are")]
    NotFitted(&'static str),
    #[error("sensor {0} did not answer; try again")]
    SensorFailed(&'static str),
    #[error("program {} does not take \"{argument}\"; it takes {}", program.name, Names(program.takes))]
    NotTaken {
        program: &'static Entry,
        argument: &'static str,
    },
    #[error("{MAX_JOBS} jobs are live, and no more are kept; stop one with job_stop, or wait until one ends")]
    JobsFull,
    #[error("group {} is in use by job {job}; stop it with job_stop, or set replace to have it stopped", Quoted(*group, usize::MAX))]
    GroupInUse { group: Text<'a>, job: Id },
    #[error("give job_id or name; job_list tells which jobs there are")]
    WhichJob,
    #[error("there is no job with id {}; job_list tells which jobs there are", Quoted(*.0, usize::MAX))]
    NoJobWithId(Text<'a>),
    #[error("there is no job named {}; job_list tells which jobs there are", Quoted(*.0, usize::MAX))]
    NoJobNamed(Text<'a>),
    #[error("this tool is declared but not there in this firmware")]
    NotThere,
}

/// Names with commas between them.
struct Names(&'static [&'static str]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        if self.0.is_empty() {
            f.write_str("nothing")
        } else {
            Ok(())
        }
    }
}

macro_rules! tools {
    ($($name:literal => $function:path,)*) => {
        /// Names of the tools that can be run.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        /// Runs a tool.
        pub(crate) async fn run<'a, B: Board>(
            name: &str,
            device: &Device<B>,
            call: Call<'a, '_, '_>,
        ) -> Result<(), ToolError<'a>> {
            match name {
                $($name => $function(device, call).await,)*
                _ => Err(ToolError::NotThere),
            }
        }
    };
}

tools! {
    "device_info" => identity::info,
    "device_stats" => identity::stats,
    "echo" => echo::echo,
    "sensor_list" => sensor::list,
    "sensor_read" => sensor::read,
    "led_set" => led::set,
    "led_get" => led::get,
    "uptime" => time::uptime,
    "log_tail" => log::tail,
    "job_start" => jobs::start,
    "job_get" => jobs::get,
    "job_list" => jobs::list,
    "job_stop" => jobs::stop,
    "job_stop_all" => jobs::stop_all,
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::NAMES;
    use crate::contract::TOOLS;

    #[test]
    fn every_tool_of_the_contract_can_be_run_and_no_other() {
        let mut declared: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        let mut implemented = NAMES.to_vec();
        declared.sort_unstable();
        implemented.sort_unstable();
        assert_eq!(declared, implemented);
    }
}
