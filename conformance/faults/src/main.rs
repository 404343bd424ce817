//! `mcp-hil-faults`: puts a fault before a server, or lists the faults there are.

use clap::Parser;
use mcp_hil_faults::{Fault, Proxy, Transport, faults, find, relay, variants};
use mcp_hil_harness::target::Endpoint;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::{ExitCode, Stdio};
use tokio::net::lookup_host;
use tokio::process::Command;

/// Breaks a good MCP server in one way.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-hil-faults",
    version,
    after_help = "Exit codes: 0 ended well, 2 bad arguments, 3 the server can't be reached or started"
)]
struct Args {
    /// List faults and legal variants: name, transport, revisions, level, clause, what it does, features the reference needs
    #[arg(long)]
    list: bool,
    /// The fault or legal variant to inject
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    fault: Option<String>,
    /// The good server, as http://HOST:PORT/PATH
    #[arg(long, value_name = "URL", required_unless_present_any = ["list", "command"])]
    to: Option<String>,
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value = "0", conflicts_with = "command")]
    port: u16,
    /// A good server over stdio
    #[arg(last = true, conflicts_with = "to")]
    command: Vec<OsString>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        return list();
    }
    let name = args.fault.unwrap_or_default();
    let Some(fault) = find(&name) else {
        eprintln!("mcp-hil-faults: there is no fault {name:?}; --list tells which there are");
        return ExitCode::from(2);
    };
    let via = if args.command.is_empty() {
        Transport::Http
    } else {
        Transport::Stdio
    };
    if !fault.transport.includes(via) {
        eprintln!(
            "mcp-hil-faults: {name} can't be injected over {via}, only over {}",
            fault.transport
        );
        return ExitCode::from(2);
    }
    let ended = match args.to {
        Some(url) => http(&url, args.port, fault).await,
        None => stdio(&args.command, fault).await,
    };
    match ended {
        Ok(changed) => {
            eprintln!("mcp-hil-faults: {name} changed {changed} times");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mcp-hil-faults: {error}");
            ExitCode::from(3)
        }
    }
}

fn list() -> ExitCode {
    let mut out = io::stdout().lock();
    for fault in faults().iter().chain(variants()) {
        let revisions: Vec<_> = fault.revisions.iter().map(|revision| revision.as_str()).collect();
        let level = fault.level.map_or("legal".to_owned(), |level| level.to_string());
        let line = [
            fault.name,
            &fault.transport.to_string(),
            &revisions.join(","),
            &level,
            fault.clause,
            fault.about,
            &fault.needs.join(","),
        ]
        .join("\t");
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

async fn http(url: &str, port: u16, fault: &'static Fault) -> Result<u64, String> {
    let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
    let authority = format!("{}:{}", endpoint.host, endpoint.port);
    let unreachable = |why: String| format!("{authority} can't be found: {why}");
    let mut found = lookup_host(&authority)
        .await
        .map_err(|error| unreachable(error.to_string()))?;
    let upstream = found.next().ok_or_else(|| unreachable("no address".to_owned()))?;
    let proxy = Proxy::start_on(port, upstream, fault)
        .await
        .map_err(|error| format!("port {port} of 127.0.0.1 can't be used: {error}"))?;
    println!("serving http://{}{}", proxy.address(), endpoint.path);
    tokio::signal::ctrl_c()
        .await
        .map_err(|error| format!("can't wait for Ctrl-C: {error}"))?;
    Ok(proxy.changed())
}

async fn stdio(command: &[OsString], fault: &'static Fault) -> Result<u64, String> {
    let shown = command.join(" ".as_ref());
    let failed = |error: io::Error| format!("{} can't be run: {error}", shown.display());
    let (program, rest) = command.split_first().ok_or("no command")?;
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (Some(server_in), Some(server_out)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed(io::Error::other("no pipes")));
    };
    relay(
        fault,
        tokio::io::stdin(),
        tokio::io::stdout(),
        server_in,
        server_out,
    )
    .await
    .map_err(failed)
}
