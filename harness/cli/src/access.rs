//! Options by which every command is let in by its target.

use mcp_hil_harness::access;
use std::path::PathBuf;

/// Credentials and certificates.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct Access {
    /// Bearer token; better given by the environment, where no list of processes shows it
    #[arg(long, value_name = "TOKEN", env = "MCP_HIL_BEARER", hide_env_values = true)]
    pub bearer: Option<String>,
    /// Header field for every request; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Certificates to trust in place of the system's, a PEM file; for https
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Certificate chain of this client, a PEM file; for https
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// Its private key, a PEM file
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
}

impl Access {
    /// The same for the library. A variable of the environment that is empty says nothing.
    pub fn options(&self) -> access::Options {
        access::Options {
            bearer: self.bearer.clone().filter(|token| !token.is_empty()),
            headers: self.header.clone(),
            ca: self.ca.clone(),
            client: self.client_cert.clone().zip(self.client_key.clone()),
        }
    }
}
