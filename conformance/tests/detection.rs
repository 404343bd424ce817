//! Each fault of `conformance/faults` turns a check red that names the broken clause, and no legal variant turns any red.
//!
//! `cargo test -p mcp-hil-conformance --test detection -- NAME` tries those whose name holds NAME. Over standard streams the
//! server is this program itself.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mcp_hil_conformance::checks;
use mcp_hil_conformance::run::{Options, run};
use mcp_hil_conformance::verdict::{Report, Verdict};
use mcp_hil_faults::{Fault, Proxy, Transport, faults, find, relay, variants};
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::{Command, Endpoint, Target};
use mcp_hil_reference::{Options as ServerOptions, Server, serve_http, serve_stdio};
use std::future::pending;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::io::{split, stdin, stdout};
use tokio::net::TcpListener;

/// First argument of this program where it is a server over standard streams.
const SERVE: &str = "serve-broken";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, serve, fault, count] = arguments.as_slice()
        && serve == SERVE
    {
        return block_on(serve_broken(fault, Path::new(count)));
    }
    let mut trials = Vec::new();
    for fault in faults() {
        for revision in fault.revisions {
            for via in [Transport::Http, Transport::Stdio] {
                if fault.transport.includes(via) {
                    let name = format!("{}/{revision}/{via}/{}", fault.area, fault.name);
                    trials.push(Trial::ignorable_test(name, move || {
                        is_seen(fault, *revision, via)
                    }));
                }
            }
        }
    }
    for variant in variants() {
        for via in [Transport::Http, Transport::Stdio] {
            if variant.transport.includes(via) {
                let name = format!("legal/{via}/{}", variant.name);
                trials.push(Trial::ignorable_test(name, move || is_passed(variant, via)));
            }
        }
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    if conclusion.num_passed + conclusion.num_failed == 0 && conclusion.num_filtered_out > 0 {
        eprintln!("nothing was tried");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// What the reference server must be for a fault; none where it can't be that.
fn server_for(fault: &Fault) -> Option<ServerOptions> {
    fault.needs.is_empty().then(ServerOptions::default)
}

/// The reference server behind a fault, over standard streams; leaves behind how often the fault changed something.
async fn serve_broken(fault: &str, count: &Path) -> ExitCode {
    let Some(fault) = find(fault) else {
        return ExitCode::from(2);
    };
    let Some(options) = server_for(fault) else {
        return ExitCode::from(2);
    };
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (server_out, server_in) = split(ours);
    let (from, to) = split(theirs);
    let server = Server::new(options);
    let relayed = relay(fault, stdin(), stdout(), server_in, server_out);
    let (served, relayed) = tokio::join!(serve_stdio(from, to, &server), relayed);
    let _ = served;
    let (Ok(changed), Ok(mut file)) = (
        relayed,
        std::fs::OpenOptions::new().create(true).append(true).open(count),
    ) else {
        return ExitCode::FAILURE;
    };
    let _ = writeln!(file, "{changed}");
    ExitCode::SUCCESS
}

/// Grades the broken server; gives the report, and how often the fault changed something.
async fn grade(
    fault: &'static Fault,
    options: &Options,
    server: ServerOptions,
    via: Transport,
) -> io::Result<(Report, u64)> {
    let report = |result: Result<Report, _>| {
        result.map_err(|error: mcp_hil_conformance::run::RunError| io::Error::other(error.to_string()))
    };
    if via == Transport::Stdio {
        let count = scratch(fault.name);
        let command = Command {
            program: std::env::current_exe()?.display().to_string(),
            arguments: vec![SERVE.into(), fault.name.into(), count.display().to_string()],
        };
        let graded = run(fault.name, &Target::Stdio(command), options, |_| {}).await;
        let counts = std::fs::read_to_string(&count).unwrap_or_default();
        let _ = std::fs::remove_file(&count);
        // servers that were killed left no count
        let changed = counts.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
        return Ok((report(graded)?, changed));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let served = serve_http(listener, Arc::new(Server::new(server)), pending());
    let graded = async {
        let proxy = Proxy::start(address, fault).await?;
        let url = format!("http://{}/mcp", proxy.address());
        let endpoint = Endpoint::parse(&url).map_err(io::Error::other)?;
        let graded = run(fault.name, &Target::Http(endpoint), options, |_| {}).await;
        Ok((report(graded)?, proxy.changed()))
    };
    tokio::select! {
        graded = graded => graded,
        served = served => Err(io::Error::other(format!("the server stopped: {served:?}"))),
    }
}

fn scratch(name: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{next}-{name}", std::process::id()))
}

fn is_seen(fault: &'static Fault, revision: Revision, via: Transport) -> Result<Completion, Failed> {
    let Some(server) = server_for(fault) else {
        return Ok(Completion::ignored_with(format!(
            "the reference has no {}",
            fault.needs.join(", ")
        )));
    };
    let naming: Vec<_> = checks::all()
        .filter(|check| check.revisions.contains(&revision) && check.rows.contains(&fault.clause))
        .collect();
    if naming.is_empty() {
        return Err(format!("no check names {}", fault.clause).into());
    }
    // what looks back needs all that the others say
    let only = if naming.iter().any(|check| check.looks_back) {
        Vec::new()
    } else {
        naming.iter().map(|check| check.id(revision)).collect()
    };
    let options = Options {
        revisions: vec![revision],
        only,
        ..Options::default()
    };
    let (report, changed) = block_on(grade(fault, &options, server, via))?;
    let red = report
        .results
        .iter()
        .filter(|judged| matches!(judged.verdict, Verdict::Fail | Verdict::Warn))
        .flat_map(|judged| &judged.findings)
        .any(|finding| finding.row == fault.clause);
    if red && (changed > 0 || via == Transport::Stdio) {
        return Ok(Completion::Completed);
    }
    let mut text = format!(
        "{} ({}): changed {changed} times, not seen by\n",
        fault.about, fault.clause
    );
    for judged in report
        .results
        .iter()
        .filter(|judged| judged.rows.contains(&fault.clause))
    {
        text += &format!(
            "  {} {:?} {:?} {:?}\n",
            judged.id,
            judged.verdict,
            judged.reason,
            judged
                .findings
                .iter()
                .map(|finding| (finding.row, &finding.what))
                .collect::<Vec<_>>()
        );
    }
    Err(text.into())
}

fn is_passed(variant: &'static Fault, via: Transport) -> Result<Completion, Failed> {
    let Some(server) = server_for(variant) else {
        return Ok(Completion::ignored_with(format!(
            "the reference has no {}",
            variant.needs.join(", ")
        )));
    };
    let options = Options {
        revisions: variant.revisions.to_vec(),
        ..Options::default()
    };
    let (report, changed) = block_on(grade(variant, &options, server, via))?;
    let bad: Vec<String> = report
        .results
        .iter()
        .filter(|judged| !matches!(judged.verdict, Verdict::Pass | Verdict::Skip))
        .map(|judged| {
            format!(
                "{} {:?} {:?} {:?}",
                judged.id,
                judged.verdict,
                judged.reason,
                judged.findings.first().map(|finding| &finding.what)
            )
        })
        .collect();
    if !bad.is_empty() {
        return Err(bad.join("\n").into());
    }
    if changed == 0 && via == Transport::Http {
        return Err("the variant changed nothing".into());
    }
    Ok(Completion::Completed)
}
