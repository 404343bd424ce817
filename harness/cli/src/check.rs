//! `mcp-hil check`.

use crate::allowed;
use crate::args::Check;
use crate::exit::Exit;
use crate::known::Known;
use crate::output;
use crate::reports::Sinks;
use crate::targets::{self, Options};
use indicatif::ProgressBar;
use mcp_hil_conformance::baseline::{self, Baseline};
use mcp_hil_conformance::only::Only;
use mcp_hil_conformance::run::{self, RunError};
use mcp_hil_conformance::verdict::Verdict;
use mcp_hil_conformance::{checks, report as shown, text};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::discover::interfaces;
use mcp_hil_harness::repeat::quote;
use mcp_hil_harness::report::{self, Report};
use mcp_hil_harness::target::Target;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

pub async fn run(args: Check) -> Exit {
    if args.list {
        return list();
    }
    let name = args.target.unwrap_or_default();
    let mut known = match Known::read(
        args.profile.as_deref(),
        args.baseline.as_deref(),
        args.update_baseline,
    ) {
        Ok(known) => known,
        Err(reason) => return Exit::Usage.because(&reason),
    };
    let only = match Only::parse(&args.only) {
        Ok(only) => only,
        Err(error) => return Exit::Usage.because(&format!("--only {error}")),
    };
    let sinks = match Sinks::open(&args.reports) {
        Ok(sinks) => sinks,
        Err(reason) => return Exit::Usage.because(&reason),
    };
    let options = Options {
        firmware: args.firmware,
        deadline_factor: args.deadline_factor,
        access: args.access.options(),
        ..Options::default()
    };
    let open = match targets::open(&name, &options).await {
        Ok(open) => open,
        Err(error) => return sinks.unjudged("check", &name, error.code(), &error.to_string()),
    };
    let [subject] = open.subjects.as_slice() else {
        return Exit::Usage.because("check grades one server at a time; name one board");
    };
    let options = run::Options {
        revisions: args.revision,
        only,
        allow_tools: args.allow_tool,
        interface: args.mdns.or_else(|| of_link(&name, &subject.target)),
        seed: args.seed.unwrap_or_else(seed),
        jobs: args.jobs,
        deadline_factor: args.deadline_factor,
        time_limit: args.time_limit,
    };
    let limits = Limits::scaled(options.deadline_factor);
    let allowed = allowed::wrong(&subject.target, limits, &options.revisions, &options.allow_tools);
    // a list that takes so long is for the checks to judge
    if let Ok(Some(reason)) = timeout(args.time_limit, allowed).await {
        return Exit::Usage.because(&reason);
    }
    let to_stderr = sinks.take_stdout();
    let style = output::style(args.color, to_stderr);
    let progress = if std::io::stderr().is_terminal() && !args.verbose {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    progress.enable_steady_tick(Duration::from_millis(100));
    let (mut done, mut broken) = (0, 0);
    let graded = run::run(&name, &subject.target, &options, |judged| {
        done += 1;
        broken += usize::from(matches!(judged.verdict, Verdict::Fail | Verdict::Warn));
        progress.set_message(format!("{done} checks, {broken} with findings: {}", judged.id));
        if args.verbose {
            output::print(to_stderr, &text::judged(judged, style, true));
        }
    })
    .await;
    progress.finish_and_clear();
    let mut report = match graded {
        Ok(graded) => shown::report(&graded),
        Err(error) => {
            let exit = match error {
                RunError::Unreachable(_) => Exit::Infrastructure,
                RunError::NoRevision(_) => Exit::NothingRan,
            };
            return sinks.unjudged("check", &name, exit, &error.to_string());
        }
    };
    if let (Some(path), true) = (&args.baseline, args.update_baseline) {
        let text = baseline::update(&report, &known.baseline);
        if let Err(error) = std::fs::write(path, &text) {
            return Exit::Usage.because(&format!("{} can't be written: {error}", path.display()));
        }
        known.baseline = match Baseline::parse(&text) {
            Ok(written) => written,
            Err(error) => {
                return Exit::Infrastructure.because(&format!("the baseline was not written well: {error}"));
            }
        };
    }
    let gone = known.apply(&mut report);
    let next = next(
        &name,
        args.verbose,
        &report,
        &args.reports.html,
        args.baseline.as_deref(),
    );
    output::print(to_stderr, &report::brief(&report, style, &next));
    for line in gone {
        output::print(to_stderr, &format!("profile: {}\n", report::escape_line(&line)));
    }
    drop(open);
    sinks.finish(&report, args.strict)
}

/// The interface on which mDNS is checked unasked: that of a board named by mDNS, or of a virtual board.
fn of_link(name: &str, target: &Target) -> Option<String> {
    let board = name.strip_prefix("mdns:");
    if let Some((_, named)) = board.and_then(|board| board.rsplit_once('%')) {
        return Some(named.to_owned());
    }
    let Target::Http(endpoint) = target else {
        return None;
    };
    let is_near = board.is_some() || name == "virtual" || name.starts_with("virtual:");
    let address = endpoint.host.parse().ok().filter(|_| is_near)?;
    let all = interfaces::list().ok()?;
    interfaces::towards(&all, address).map(|interface| interface.name.clone())
}

/// What to do now, line by line.
fn next(
    target: &str,
    is_verbose: bool,
    report: &Report,
    html: &Option<std::path::PathBuf>,
    baseline: Option<&Path>,
) -> Vec<String> {
    let mut next = Vec::new();
    let target = quote(target);
    if let Some(first) = report.found().first() {
        if !is_verbose {
            next.push(format!(
                "Bytes and a line that repeats it:  mcp-hil check {target} --only {} -v",
                first.id
            ));
        }
        if html.is_none() {
            next.push(format!(
                "Everything, to click through:      mcp-hil check {target} --html report.html"
            ));
        }
        if baseline.is_none() {
            next.push(format!("Accept what is known:              mcp-hil check {target} --baseline known.toml --update-baseline"));
        }
    }
    if let Some(html) = html.as_ref().filter(|html| *html != Path::new("-")) {
        next.push(format!("Everything, to click through:      {}", html.display()));
    }
    next
}

/// A seed that differs from run to run; it is printed.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos())
}

fn list() -> Exit {
    for check in checks::all() {
        let revisions: Vec<_> = check.revisions.iter().map(|revision| revision.as_str()).collect();
        output::print(false, &format!("{}  ({})\n", check.name, revisions.join(", ")));
        for row in check.rows {
            output::print(false, &format!("  {row}\n"));
        }
    }
    Exit::Passed
}
