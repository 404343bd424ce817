//! `native`

use super::{Kind, Open, OpenError, Opening, Options};
use crate::output;
use mcp_hil_harness::board::BoardError;
use mcp_hil_harness::board::native::{self, NativeBoard};
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::Target;
use std::path::{Path, PathBuf};
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
    let file = match options.firmware {
        Some(file) if file.is_file() => file,
        Some(file) => {
            return Err(OpenError::Usage(format!(
                "--firmware {}: there is no such file",
                file.display()
            )));
        }
        None => built().await?,
    };
    let limit = BOOT_LIMIT.mul_f64(options.deadline_factor);
    let board = NativeBoard::start(&file, limit).await.map_err(infrastructure)?;
    let target = Target::Http(board.endpoint.clone());
    let subject = Subject {
        name: "native".to_owned(),
        target,
        contract: Some(CONTRACT.to_owned()),
    };
    Ok(Open {
        subject,
        _guard: Box::new(board),
    })
}

/// The firmware of the checkout around the current folder.
async fn built() -> Result<PathBuf, OpenError> {
    let here =
        std::env::current_dir().map_err(|error| OpenError::Usage(format!("the current folder: {error}")))?;
    let folder = native::find_folder(&here).ok_or_else(|| {
        OpenError::Usage(format!(
            "native is built from {} of a checkout of mcp-hil, and {} is not inside one; run there, or give a firmware with --firmware FILE",
            native::FOLDER,
            here.display()
        ))
    })?;
    output::print(true, &format!("building {}\n", folder.display()));
    // under `cargo run` this is the very cargo that runs
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    native::build(&folder, Path::new(&cargo))
        .await
        .map_err(infrastructure)
}

fn infrastructure(error: BoardError) -> OpenError {
    OpenError::Infrastructure(error.to_string())
}
