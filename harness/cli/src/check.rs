//! `mcp-hil check`.

use crate::args::Check;
use crate::exit::Exit;
use crate::output;
use crate::targets::{self, Options};
use mcp_hil_conformance::checks;
use mcp_hil_conformance::run::{self, RunError};
use mcp_hil_conformance::text;
use mcp_hil_conformance::verdict::{Report, Verdict};
use std::time::{SystemTime, UNIX_EPOCH};

pub async fn run(args: Check) -> Exit {
    if args.list {
        return list();
    }
    let name = args.target.unwrap_or_default();
    let options = Options {
        firmware: args.firmware,
        deadline_factor: args.deadline_factor,
        access: args.access.options(),
        ..Options::default()
    };
    let open = match targets::open(&name, &options).await {
        Ok(open) => open,
        Err(error) => return error.exit(),
    };
    let [subject] = open.subjects.as_slice() else {
        return Exit::Usage.because("check grades one server at a time; name one board");
    };
    let options = run::Options {
        revisions: args.revision,
        only: args.only,
        allow_tools: args.allow_tool,
        interface: args.mdns,
        seed: args.seed.unwrap_or_else(seed),
        jobs: args.jobs,
        deadline_factor: args.deadline_factor,
    };
    let style = output::style(args.color, false);
    let graded = run::run(&name, &subject.target, &options, |judged| {
        if args.verbose
            || matches!(
                judged.verdict,
                Verdict::Fail | Verdict::Warn | Verdict::Infrastructure
            )
        {
            output::print(false, &text::judged(judged, style, args.verbose));
        }
    });
    let report = match graded.await {
        Ok(report) => report,
        Err(error @ RunError::Unreachable(_)) => return Exit::Infrastructure.because(&error.to_string()),
        Err(error @ RunError::NoRevision(_)) => return Exit::NothingRan.because(&error.to_string()),
    };
    output::print(false, &text::summary(&report));
    exit(&report, args.strict)
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

/// A failure counts more than trouble with the target, and trouble more than a pass.
fn exit(report: &Report, strict: bool) -> Exit {
    if report.count(Verdict::Fail) > 0 || strict && report.count(Verdict::Warn) > 0 {
        Exit::Failed
    } else if report.count(Verdict::Infrastructure) > 0 {
        Exit::Infrastructure
    } else if report.count(Verdict::Pass) + report.count(Verdict::Warn) > 0 {
        Exit::Passed
    } else {
        Exit::NothingRan.because("no check ran: none is chosen by --only, or all were skipped")
    }
}
