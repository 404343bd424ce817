//! `stdio:COMMAND`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::target::{Command, Target};

pub const KIND: Kind = Kind {
    syntax: "stdio:COMMAND",
    about: "a command that serves on its standard streams; started for each transcript",
    prepare,
};

fn prepare(name: &str, _: &Options) -> Option<Preparing> {
    let line = name.strip_prefix("stdio:")?;
    let opened = match Command::parse(line) {
        Ok(command) => {
            let subject = Subject::new(Target::Stdio(command), None);
            Ok(Open::one(subject, ()))
        }
        Err(error) => Err(OpenError::Usage(error.to_string())),
    };
    Some(Box::pin(std::future::ready(Prepared::ready(opened))))
}
