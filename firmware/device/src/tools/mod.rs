//! The tools of the contract. A new tool is its entry in the contract, its function, and one line in the list.

mod echo;
mod identity;
mod led;
mod log;
mod sensor;
mod time;

use crate::answer::{Full, Writer};
use crate::schema::Invalid;
use crate::{Board, Device, MAX_ANSWER, Millis};

/// A call of a tool, its arguments already valid by its schema.
pub(crate) struct Call<'a, 'o> {
    pub now: Millis,
    /// Text of the `arguments` object.
    pub arguments: &'a str,
    /// Takes the output: [`Writer::structured`] or [`Writer::text`], once.
    pub answer: &'a mut Writer<'o>,
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
    #[error("this tool is declared but not there in this firmware")]
    NotThere,
}

macro_rules! tools {
    ($($name:literal => $function:path,)*) => {
        /// Names of the tools that can be run.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        /// Runs a tool.
        pub(crate) async fn run<B: Board>(
            name: &str,
            device: &Device<B>,
            call: Call<'_, '_>,
        ) -> Result<(), ToolError<'static>> {
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
