//! `board:NAME`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing};
use crate::bench::args::Choice;
use crate::bench::{Held, acquire, blocking, log_of, refusal};
use mcp_hil_harness::bench::boot::{self, Limits, Up};
use mcp_hil_harness::bench::capture::Capture;
use mcp_hil_harness::bench::choose;
use mcp_hil_harness::bench::failure::{Failure, Kind as Name};
use mcp_hil_harness::bench::power::{Power as _, Start};
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::run::Firmware;
use mcp_hil_harness::target::{Endpoint, Target};
use std::time::Duration;

pub const KIND: Kind = Kind {
    syntax: "board:NAME",
    about: "a board of the inventory, or on the port of that path, which is reset; with --firmware it must run that",
    prepare,
};

/// For so long a board that somebody else has is waited for.
const LEASE_LIMIT: Duration = Duration::from_secs(300);

fn prepare(name: &str, options: &Options) -> Option<Preparing> {
    let (name, options) = (name.strip_prefix("board:")?.to_owned(), options.clone());
    let prepared = Prepared::new(move || start(name, options));
    Some(Box::pin(std::future::ready(Ok(prepared))))
}

async fn start(name: String, options: Options) -> Result<Open, OpenError> {
    let build = match &options.firmware {
        None => None,
        Some(file) => {
            let firmware =
                Firmware::read(file).map_err(|error| OpenError::Usage(format!("--firmware {error}")))?;
            let id = firmware.build_id.ok_or_else(|| {
                let file = file.display();
                OpenError::Usage(format!(
                    "--firmware {file}: it has no GNU build id, by which to tell what runs"
                ))
            })?;
            Some(id)
        }
    };
    let choice = Choice {
        wait: LEASE_LIMIT,
        ..Choice::default()
    };
    let held = acquire(&choice, Some(&name), "replay").await?;
    let factor = options.deadline_factor.max(1.0);
    let (held, capture, url) = blocking(move || up(held, factor, build.as_deref())).await??;
    let endpoint = Endpoint::parse(&url).map_err(|error| OpenError::Failed(format!("{name}: {error}")))?;
    let mut subject = Subject::new(Target::Http(endpoint), Some(CONTRACT.to_owned()));
    subject.board = Some(held.board.name.clone());
    subject.console = Some(capture.console());
    Ok(Open::one(subject, (capture, held)))
}

/// Resets the board and waits until it says where it serves.
fn up(held: Held, factor: f64, build: Option<&str>) -> Result<(Held, Capture, String), OpenError> {
    let board = &held.board;
    let failed = |failure: Failure| OpenError::from(refusal(&failure));
    let site = choose::site(board);
    let port = board
        .power
        .restart(&site, Start::Run, board.console_baud)
        .map_err(failed)?;
    let log = log_of(board, None);
    let capture = Capture::start(port, &site, board.console_baud, log.as_deref())
        .map_err(|error| OpenError::Infrastructure(format!("the log of {}: {error}", board.name)))?;
    let limits = Limits::default();
    let limits = Limits {
        serving: limits.serving.mul_f64(factor),
        settle: limits.settle.mul_f64(factor),
    };
    let silent = || {
        let cause = "it runs, and does not say on its console where it serves";
        let mut failure = Failure::new(Name::Hung, &board.name, cause);
        failure.advice = Some("name its endpoint: http://HOST/PATH or mdns:NAME".to_owned());
        failure
    };
    match boot::watch(&board.name, &capture, limits, build, None).map_err(failed)? {
        Up::Serving(boot) => match held.board.endpoint.clone().or(boot.url) {
            Some(url) => Ok((held, capture, url)),
            None => Err(failed(silent())),
        },
        Up::Running => Err(failed(silent())),
    }
}
