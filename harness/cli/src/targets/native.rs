//! `native`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing, firmware};
use mcp_hil_harness::board::firmware::NATIVE;
use mcp_hil_harness::board::native::NativeBoard;
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::Target;
use std::path::PathBuf;
use std::time::Duration;

pub const KIND: Kind = Kind {
    syntax: "native",
    about: "the board that is a Linux process, built from the checkout or given by --firmware",
    prepare,
};

/// Time from power-on to serving.
const BOOT_LIMIT: Duration = Duration::from_secs(10);

fn prepare(name: &str, options: &Options) -> Option<Preparing> {
    let options = options.clone();
    let prepare = async move {
        let file = firmware::find(options.firmware.as_deref(), &NATIVE, || Ok(())).await?;
        Ok(Prepared::new(move || start(file, options.deadline_factor)))
    };
    (name == "native").then(|| Box::pin(prepare) as Preparing)
}

async fn start(file: PathBuf, deadline_factor: f64) -> Result<Open, OpenError> {
    let limit = BOOT_LIMIT.mul_f64(deadline_factor);
    let firmware = file.clone();
    // a thread that lives as long as the runtime: the board ends with the one that started it
    let board = tokio::spawn(async move { NativeBoard::start(&firmware, limit).await }).await;
    let board = board
        .map_err(|error| OpenError::Infrastructure(error.to_string()))?
        .map_err(|error| OpenError::Infrastructure(error.to_string()))?;
    let mut subject = Subject::new(Target::Http(board.endpoint.clone()), Some(CONTRACT.to_owned()));
    subject.console = Some(board.console());
    firmware::answers(&subject.target, &file, deadline_factor).await?;
    Ok(Open::one(subject, board))
}
