//! `http://…` and `https://…`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::target::{Endpoint, Target};

pub const KIND: Kind = Kind {
    syntax: "http[s]://HOST/PATH",
    about: "an endpoint that is up already",
    prepare,
};

fn prepare(name: &str, _: &Options) -> Option<Preparing> {
    if !name.contains("://") {
        return None;
    }
    let opened = match Endpoint::parse(name) {
        Ok(endpoint) => {
            let subject = Subject::new(Target::Http(endpoint), None);
            Ok(Open::one(subject, ()))
        }
        Err(error) => Err(OpenError::Usage(error.to_string())),
    };
    Some(Box::pin(std::future::ready(Prepared::ready(opened))))
}
