//! `mdns:NAME`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing};
use mcp_hil_harness::discover::{DiscoverError, NameError, Options as Search, by_name};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::target::Target;
use std::time::Duration;

pub const KIND: Kind = Kind {
    syntax: "mdns:NAME[%IF]",
    about: "the board that announces this instance or host name, on interface IF or on any",
    prepare,
};

/// How long a board may take to answer.
const LIMIT: Duration = Duration::from_secs(3);

fn prepare(name: &str, options: &Options) -> Option<Preparing> {
    let board = name.strip_prefix("mdns:")?.to_owned();
    let limit = LIMIT.mul_f64(options.deadline_factor);
    let prepared = Prepared::new(move || find(board, limit));
    Some(Box::pin(std::future::ready(Ok(prepared))))
}

async fn find(board: String, limit: Duration) -> Result<Open, OpenError> {
    let mut search = Search::default();
    let board = match board.rsplit_once('%') {
        Some((board, interface)) => {
            search.interfaces.push(interface.to_owned());
            board
        }
        None => board.as_str(),
    };
    if board.is_empty() {
        let reason = "mdns: is followed by the instance or host name of a board; mcp-hil discover lists them";
        return Err(OpenError::Usage(reason.to_owned()));
    }
    let found = by_name(board, &search, limit)
        .await
        .map_err(|error| match error {
            NameError::Ambiguous { .. } | NameError::Discover(DiscoverError::Interface(_)) => {
                OpenError::Usage(error.to_string())
            }
            _ => OpenError::Infrastructure(error.to_string()),
        })?;
    let endpoint = found.target().ok_or_else(|| {
        OpenError::Infrastructure(format!("{board:?} is announced, but there is no way to it"))
    })?;
    Ok(Open::one(Subject::new(Target::Http(endpoint), None), ()))
}
