//! `native`

use super::{Kind, Open, OpenError, Opening, Options, firmware};
use mcp_hil_harness::board::firmware::NATIVE;
use mcp_hil_harness::board::native::NativeBoard;
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::Target;
use std::time::Duration;

pub const KIND: Kind = Kind {
    syntax: "native",
    about: "the board that is a Linux process, built from the checkout or given by --firmware",
    open,
};

/// Time from power-on to serving.
const BOOT_LIMIT: Duration = Duration::from_secs(10);

fn open(name: &str, options: &Options) -> Option<Opening> {
    (name == "native").then(|| Box::pin(start(options.clone())) as Opening)
}

async fn start(options: Options) -> Result<Open, OpenError> {
    let file = firmware::find(options.firmware.as_deref(), &NATIVE, || Ok(())).await?;
    let limit = BOOT_LIMIT.mul_f64(options.deadline_factor);
    let board = NativeBoard::start(&file, limit)
        .await
        .map_err(|error| OpenError::Infrastructure(error.to_string()))?;
    let mut subject = Subject::new(Target::Http(board.endpoint.clone()), Some(CONTRACT.to_owned()));
    subject.console = Some(board.console());
    Ok(Open::one(subject, board))
}
