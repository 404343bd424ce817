//! `mcp-hil reference`.

use crate::args::Reference;
use crate::exit::Exit;
use crate::output;
use mcp_hil_reference::{Options, Server, serve_http, serve_stdio};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;

pub async fn run(args: Reference) -> Exit {
    let server = Server::new(Options {
        page_size: args.page_size,
        features: args.feature.into_iter().collect(),
        ..Options::default()
    });
    let served = if args.stdio {
        serve_stdio(tokio::io::stdin(), tokio::io::stdout(), &server).await
    } else {
        http(server, args.port).await
    };
    match served {
        Ok(()) => Exit::Passed,
        Err(error) => Exit::Infrastructure.because(&format!("the reference server stopped: {error}")),
    }
}

async fn http(server: Server, port: u16) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    output::print(false, &format!("serving http://{}/mcp\n", listener.local_addr()?));
    serve_http(listener, Arc::new(server), std::future::pending()).await
}
