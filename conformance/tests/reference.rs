//! The suite on the reference server: nothing fails, nothing warns.

use mcp_hil_conformance::run::{Options, run};
use mcp_hil_conformance::verdict::Verdict;
use mcp_hil_harness::target::{Endpoint, Target};
use mcp_hil_reference::{Options as ServerOptions, Server, serve_http};
use std::sync::Arc;

#[tokio::test]
async fn the_reference_keeps_every_clause() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Arc::new(Server::new(ServerOptions::default()));
    let target = Target::Http(Endpoint::parse(&url).unwrap());
    let options = Options::default();
    let graded = run("reference", &target, &options, |_| {});
    let report = tokio::select! {
        report = graded => report.unwrap(),
        served = serve_http(listener, server, std::future::pending()) => panic!("the server stopped: {served:?}"),
    };
    let bad: Vec<_> = report
        .results
        .iter()
        .filter(|judged| !matches!(judged.verdict, Verdict::Pass | Verdict::Skip))
        .map(|judged| {
            format!(
                "{} {:?} {:?}",
                judged.id,
                judged.reason,
                judged.findings.first().map(|f| &f.what)
            )
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(report.count(Verdict::Pass) > 0);
}
