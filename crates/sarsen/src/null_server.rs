//! `sarsen null-server`: serves until it is killed.

use crate::cli::NullServerArguments;
use lab::null::{NullServer, Options};
use std::io::{self, Write};
use thiserror::Error;

/// Why it does not serve.
#[derive(Debug, Error)]
#[error("cannot listen on {listen}: {source}")]
pub struct NullServerError {
    listen: std::net::SocketAddr,
    source: io::Error,
}

/// Says where it listens, and serves for ever.
pub fn run(arguments: &NullServerArguments) -> Result<(), NullServerError> {
    let NullServerArguments { listen, latency, stall, body } = *arguments;
    let refused = |source| NullServerError { listen, source };
    let options = Options { law: latency, body_bytes: body, stall };
    let server = NullServer::bind(listen, options).map_err(refused)?;
    let address = server.local_addr().map_err(refused)?;
    writeln!(io::stdout(), "url          http://{address}/").map_err(refused)?;
    server.serve().map_err(refused)
}
