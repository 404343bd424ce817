//! `mcp-hil flash`, `config`, `erase`, `read-flash`.

use super::args::{Config, Erase, Flash, Line, ReadFlash, board_and_last};
use super::{Held, acquire, blocking, configuration, failed, log_of};
use crate::exit::Exit;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use mcp_hil_harness::bench::boot::{self, Limits, Up};
use mcp_hil_harness::bench::capture::Capture;
use mcp_hil_harness::bench::choose;
use mcp_hil_harness::bench::failure::{Failure, Kind};
use mcp_hil_harness::bench::flash::job::{Event, Job, Secret, Task};
use mcp_hil_harness::bench::flash::{self, Done, FlashError};
use mcp_hil_harness::bench::image::Image;
use mcp_hil_harness::bench::inventory::Entry;
use mcp_hil_harness::bench::memory::{Firmware, Memories};
use mcp_hil_harness::bench::power::{Power as _, Start};
use mcp_hil_harness::bench::symbols::Symbols;
use mcp_hil_harness::report::{escape, escape_line};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// `mcp-hil flash`.
pub(crate) async fn flash(args: Flash) -> Exit {
    ended(write(args).await)
}

/// `mcp-hil config`.
pub(crate) async fn config(args: Config) -> Exit {
    ended(configure(args).await)
}

/// `mcp-hil erase`.
pub(crate) async fn erase(args: Erase) -> Exit {
    let done = async {
        let held = acquire(&args.choice, args.board.as_deref(), "erase").await?;
        let done = job(
            &held.board,
            Task::Erase { region: args.region },
            &args.line,
            false,
        )
        .await?;
        let what = args.region.map_or_else(
            || "all of its flash".to_owned(),
            |(address, size)| format!("{size:#x} bytes from {address:#x} on"),
        );
        output::print(
            false,
            &format!(
                "{}  erased {what} in {:.1} s\n",
                head(&held.board, &done),
                done.time.as_secs_f64()
            ),
        );
        Ok(Exit::Passed)
    };
    ended(done.await)
}

/// `mcp-hil read-flash`.
pub(crate) async fn read(args: ReadFlash) -> Exit {
    let done = async {
        let (named, file) = board_and_last(&args.words);
        let held = acquire(&args.choice, named, "read-flash").await?;
        let (address, size) = args
            .region
            .map_or((0, None), |(address, size)| (address, Some(size)));
        let task = Task::Read {
            address,
            size,
            file: absolute(Path::new(file)),
        };
        let done = job(&held.board, task, &args.line, false).await?;
        let bytes = std::fs::metadata(file).map_or(0, |meta| meta.len());
        output::print(
            false,
            &format!(
                "{}  {bytes} bytes in {file}, read in {:.1} s\n",
                head(&held.board, &done),
                done.time.as_secs_f64()
            ),
        );
        Ok(Exit::Passed)
    };
    ended(done.await)
}

fn ended(done: Result<Exit, Exit>) -> Exit {
    done.unwrap_or_else(|exit| exit)
}

async fn write(args: Flash) -> Result<Exit, Exit> {
    let (named, file) = board_and_last(&args.words);
    let file = absolute(Path::new(file));
    let unusable = |reason: String| Exit::Usage.because(&format!("{}: {reason}", file.display()));
    // a file that no board takes is known before a board is touched
    let bytes = std::fs::read(&file).map_err(|error| unusable(error.to_string()))?;
    let build = Image::read(bytes)
        .map_err(|error| unusable(error.to_string()))?
        .build_id();
    let sector =
        configuration(&args.flashing.configuration)?.map(|configuration| Secret(configuration.sector()));
    let held = acquire(&args.choice, named, "flash").await?;
    let task = Task::Write {
        image: file.clone(),
        table: args.flashing.partitions.as_deref().map(absolute),
        bootloader: args.flashing.bootloader.as_deref().map(absolute),
        sector,
    };
    let done = job(&held.board, task, &args.flashing.line, args.flashing.force).await?;
    output::print(false, &parts(&held.board, &done));
    let limits = Limits {
        serving: args.boot_deadline,
        ..Limits::default()
    };
    let log = log_of(&held.board, args.log.as_deref());
    let watched = (!args.no_watch).then_some(limits);
    let up = start(held, &done, log, watched, build.clone(), file.clone()).await?;
    let (board, endpoint, time) = up;
    Memories::of_user().change(&choose::memory_key(&board), |memory| {
        memory.firmware = Some(Firmware {
            file: file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            build_id: build,
            seen: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        });
        memory.endpoint.clone_from(&endpoint);
    });
    let text = match (args.no_watch, endpoint) {
        (true, _) => "  reset, and not watched\n".to_owned(),
        (_, Some(url)) => format!(
            "  up {:.1} s after its reset: {}\n",
            time.as_secs_f64(),
            escape_line(&url)
        ),
        (_, None) => format!(
            "  runs: nothing bad in {:.1} s; it does not say that it serves\n",
            time.as_secs_f64()
        ),
    };
    output::print(false, &text);
    Ok(Exit::Passed)
}

/// Resets a board that was flashed and, with limits, waits until it is known good or bad. Gives the board, where it answers, and the
/// time.
async fn start(
    held: Held,
    done: &Done,
    log: Option<PathBuf>,
    limits: Option<Limits>,
    build: Option<String>,
    file: PathBuf,
) -> Result<(Entry, Option<String>, Duration), Exit> {
    let mac = done.identity.mac.clone();
    let watched = blocking(move || {
        let board = held.board.clone();
        let mut site = choose::site(&board);
        site.mac = Some(mac);
        let port = board.power.restart(&site, Start::Run, board.console_baud)?;
        let start = Instant::now();
        let Some(limits) = limits else {
            return Ok((held, None, start.elapsed()));
        };
        let capture = Capture::start(port, &site, board.console_baud, log.as_deref()).map_err(|error| {
            let shown = log.unwrap_or_default();
            Failure::new(
                Kind::PortLost,
                &board.name,
                format!("the console can't be written to {}: {error}", shown.display()),
            )
        })?;
        let symbols = Symbols::open(&file).ok();
        let up = boot::watch(&board.name, &capture, limits, build.as_deref(), symbols.as_ref())?;
        let url = match up {
            Up::Serving(boot) => board.endpoint.clone().or(boot.url),
            Up::Running => None,
        };
        Ok((held, url, start.elapsed()))
    })
    .await?;
    let (held, url, time) = watched.map_err(|failure: Failure| failed(&failure))?;
    Ok((held.board, url, time))
}

async fn configure(args: Config) -> Result<Exit, Exit> {
    let configuration = configuration(&args.configuration)?.ok_or_else(|| {
        Exit::Usage.because("no configuration: give --config FILE, or set MCP_HIL_WIFI_SSID and MCP_HIL_WIFI_PASSWORD, MCP_HIL_HOSTNAME or MCP_HIL_TOKEN")
    })?;
    let held = acquire(&args.choice, args.board.as_deref(), "config").await?;
    let task = Task::Configure {
        sector: Secret(configuration.sector()),
    };
    let done = job(&held.board, task, &args.line, false).await?;
    output::print(false, &parts(&held.board, &done));
    restart(&held.board).await?;
    output::print(false, "  reset\n");
    Ok(Exit::Passed)
}

/// Starts what is in a board's flash.
pub(crate) async fn restart(board: &Entry) -> Result<(), Exit> {
    let board = board.clone();
    let restarted = blocking(move || {
        board
            .power
            .restart(&choose::site(&board), Start::Run, board.console_baud)
    })
    .await?;
    restarted.map(drop).map_err(|failure| failed(&failure))
}

/// Does a job, with a progress bar on a terminal, and remembers the rate that held.
pub(crate) async fn job(board: &Entry, task: Task, line: &Line, force: bool) -> Result<Done, Exit> {
    let memories = Memories::of_user();
    let job = Job {
        site: choose::site(board),
        power: board.power.clone(),
        chip: board.chip.map(|chip| chip.to_string()),
        bauds: choose::bauds(board, line.baud, &memories),
        force,
        task,
    };
    let program = std::env::current_exe().map_err(|error| {
        Exit::Infrastructure.because(&format!("this program's own path is not known: {error}"))
    })?;
    let mut shown = Shown::new(&board.name);
    let ended = flash::run(&program, &job, line.deadline, |event| shown.event(event)).await;
    shown.bar.finish_and_clear();
    match ended {
        Ok(done) => {
            if line.baud.is_none() && board.flash_baud.is_none() && done.baud > 0 {
                memories.change(&choose::memory_key(board), |memory| {
                    memory.flash_baud = Some(done.baud)
                });
            }
            Ok(done)
        }
        Err(FlashError::Failed(failure)) => {
            // the next time all rates are tried again
            memories.change(&choose::memory_key(board), |memory| memory.flash_baud = None);
            Err(failed(&failure))
        }
        Err(FlashError::Refused(reason)) => Err(Exit::Usage.because(&escape(&reason))),
    }
}

/// What is shown while a job runs. The bar draws nothing where standard error is no terminal.
struct Shown {
    bar: ProgressBar,
    board: String,
}

impl Shown {
    fn new(board: &str) -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}  {msg:15} [{bar:30}] {percent:>3}%  {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(board.to_owned());
        Self {
            bar,
            board: board.to_owned(),
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Part { name, .. } => self.bar.set_message(name.clone()),
            Event::Progress { done, total } => {
                self.bar.set_length(*total as u64);
                self.bar.set_position(*done as u64);
            }
            Event::Slower { baud, why } => {
                let text = format!(
                    "{}: {baud} baud does not hold ({}); slower\n",
                    self.board,
                    escape_line(why)
                );
                self.bar.suspend(|| output::print(true, &text));
            }
            _ => {}
        }
    }
}

fn head(board: &Entry, done: &Done) -> String {
    let revision = done
        .identity
        .revision
        .as_deref()
        .map(|revision| format!(" v{revision}"))
        .unwrap_or_default();
    format!(
        "{}  {}{revision}  {}  {}",
        board.name,
        done.identity.chip,
        done.identity.mac,
        board.port.display()
    )
}

fn parts(board: &Entry, done: &Done) -> String {
    let mut text = head(board, done) + "\n";
    let width = done.parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    for part in &done.parts {
        let what = match part.unchanged {
            true => "unchanged, not written".to_owned(),
            false => format!("written and verified in {:.1} s", part.time.as_secs_f64()),
        };
        let _ = writeln!(
            text,
            "  {:width$}  {:#08x}  {:>7} bytes  {what}",
            part.name, part.address, part.bytes
        );
    }
    let seconds = done.time.as_secs_f64();
    if !done.parts.is_empty() && done.parts.iter().all(|part| part.unchanged) {
        let _ = writeln!(
            text,
            "  nothing was written: all of it was in flash already (--force writes it again); {seconds:.1} s"
        );
    } else {
        let _ = writeln!(text, "  done in {seconds:.1} s at {} baud", done.baud);
    }
    text
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
