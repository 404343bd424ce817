//! `virtual[:N]`

use super::{Kind, Open, OpenError, Options, Prepared, Preparing, firmware};
use crate::output;
use mcp_hil_harness::board::console::Console;
use mcp_hil_harness::board::firmware::VIRTUAL;
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::{Endpoint, Target};
use mcp_hil_virtual_board::firmware::check as check_firmware;
use mcp_hil_virtual_board::impairment::Impairment;
use mcp_hil_virtual_board::plan::MAX_BOARDS;
use mcp_hil_virtual_board::{Board, BoardOptions, Error, Options as NetworkOptions, VirtualNetwork};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    syntax: "virtual[:N]",
    about: "one or N RISC-V boards in QEMU on a network of their own, built from the checkout or given by --firmware",
    prepare,
};

/// Time from power-on to serving, which a busy machine needs much of with several boards.
pub const BOOT_LIMIT: Duration = Duration::from_secs(30);
/// For a board to obey a line on its console.
const OBEY_LIMIT: Duration = Duration::from_secs(5);

fn prepare(name: &str, options: &Options) -> Option<Preparing> {
    let count = count(name)?;
    let options = options.clone();
    Some(Box::pin(async move {
        let count = count?;
        // built outside: from the network of the boards no crate can be fetched
        let file = firmware(options.firmware.as_deref()).await?;
        firmware::build(&file)?;
        let network = NetworkOptions {
            boards: count,
            seed: options.seed,
            capture: options.pcap.clone(),
        };
        let network = VirtualNetwork::enter(&network).map_err(infrastructure)?;
        Ok(Prepared::new(move || start(network, file, options)))
    }))
}

/// How many boards a name asks for; none if it is of another kind.
pub(crate) fn count(name: &str) -> Option<Result<usize, OpenError>> {
    let rest = name.strip_prefix("virtual")?;
    let count = match rest.strip_prefix(':') {
        None if rest.is_empty() => return Some(Ok(1)),
        None => return None,
        Some(count) => count.parse().ok(),
    };
    let count = count.filter(|count| (1..=MAX_BOARDS).contains(count));
    Some(count.ok_or_else(|| {
        OpenError::Usage(format!(
            "{name:?}: give a number of boards from 1 to {MAX_BOARDS}"
        ))
    }))
}

fn infrastructure(error: Error) -> OpenError {
    OpenError::Infrastructure(error.to_string())
}

async fn start(network: VirtualNetwork, file: PathBuf, options: Options) -> Result<Open, OpenError> {
    let limit = BOOT_LIMIT.mul_f64(options.deadline_factor.max(1.0));
    let mut boards =
        VirtualBoards::start(network, &file, limit, |_| BoardOptions::default()).map_err(infrastructure)?;
    let mut subjects = boards.subjects();
    for (subject, up) in subjects.iter_mut().zip(&boards.boards) {
        let name = firmware::answers(&subject.target, &file, options.deadline_factor).await?;
        subject.board = Some(name.unwrap_or_else(|| format!("board-{}", up.board.number())));
    }
    if let Some(impairment) = options.impair {
        let factor = device_factor(options.deadline_factor);
        boards.impair(impairment, factor).map_err(infrastructure)?;
        subjects
            .iter_mut()
            .for_each(|subject| subject.stretched = factor > 1);
    }
    Ok(Open::all(subjects, boards))
}

/// Firmware for a virtual board, that of the file or built from the checkout.
///
/// # Errors
/// Also when this machine can't have virtual boards, or the file can't run on one.
pub async fn firmware(named: Option<&Path>) -> Result<PathBuf, OpenError> {
    let ready =
        || VirtualNetwork::prerequisites().map_err(|error| OpenError::Infrastructure(error.to_string()));
    let file = firmware::find(named, &VIRTUAL, ready).await?;
    check_firmware(&file).map_err(|error| OpenError::Usage(error.to_string()))?;
    Ok(file)
}

/// Boards that serve, and the network that they hang on and that this process is inside of.
pub struct VirtualBoards {
    // dropped in this order: the boards before what they hang on
    /// The boards, by their places.
    pub boards: Vec<Up>,
    /// Their network.
    pub network: VirtualNetwork,
}

impl Drop for VirtualBoards {
    fn drop(&mut self) {
        if let Some(error) = self.network.capture_error() {
            output::print(true, &format!("mcp-hil: {error}\n"));
        }
    }
}

/// A board that serves.
pub struct Up {
    /// The board.
    pub board: Board,
    /// Where it answers, inside.
    pub endpoint: Endpoint,
}

impl VirtualBoards {
    /// Starts a board in every place of a network and waits until all serve, by `limit` each.
    ///
    /// # Errors
    /// Those of [`VirtualNetwork::start_board`] and [`Board::wait_until_serving`].
    pub fn start(
        network: VirtualNetwork,
        firmware: &Path,
        limit: Duration,
        options: impl Fn(usize) -> BoardOptions,
    ) -> Result<Self, Error> {
        let boards = (0..network.size())
            .map(|place| network.start_board(place, firmware, &options(place)))
            .collect::<Result<Vec<_>, _>>()?;
        let serve = |board: Board| {
            let serving = board.wait_until_serving(limit)?;
            let endpoint = Endpoint::parse(&serving.url).map_err(|error| Error::Told {
                board: board.number(),
                reason: error.to_string(),
            })?;
            Ok(Up { board, endpoint })
        };
        let boards = boards.into_iter().map(serve).collect::<Result<_, _>>()?;
        Ok(Self { boards, network })
    }

    /// The boards as targets that keep our contract.
    pub fn subjects(&self) -> Vec<Subject> {
        let subject = |up: &Up| Subject {
            console: Some(up.board.shared_console() as Arc<dyn Console>),
            ..Subject::new(Target::Http(up.endpoint.clone()), Some(CONTRACT.to_owned()))
        };
        self.boards.iter().map(subject).collect()
    }

    /// Stretches the boards' own deadlines, and then makes their cables bad.
    ///
    /// # Errors
    /// A board that does not obey.
    pub fn impair(&mut self, impairment: Impairment, deadline_factor: u32) -> Result<(), Error> {
        // a board of another make has no such command
        if deadline_factor > 1 {
            for up in &mut self.boards {
                stretch(&mut up.board, deadline_factor)?;
            }
        }
        self.network.impair_all(impairment);
        Ok(())
    }
}

/// Has a board stretch its deadlines.
///
/// # Errors
/// When it does not say so.
pub fn stretch(board: &mut Board, factor: u32) -> Result<(), Error> {
    let told = format!("mcp-device deadline-factor {factor}");
    board.type_line(&format!("deadline-factor {factor}"))?;
    board.wait_for(&told, OBEY_LIMIT, |console| {
        console.lines().any(|line| line.text == told).then_some(())
    })
}

/// A factor for the harness as one for the device, which has whole ones up to 100.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and 100"
)]
fn device_factor(factor: f64) -> u32 {
    factor.ceil().clamp(1.0, 100.0) as u32
}
