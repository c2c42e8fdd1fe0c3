//! Exports and imports for commands that ask the server: from the repository to the stream, and
//! from the stream into the repository.

use super::message;
use crate::admin::Exchange;
use repository::Repository;
use repository::SnapshotError;
use repository::exchange::{self as lines, Event, ExportError, ImportError};
use serde_json::Value;
use std::io::BufReader;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum ServedError {
    /// The arguments are none.
    #[error("expected the arguments of an export or import, got {0}")]
    Form(String),
    /// There is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The export ended early.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The import ended early.
    #[error(transparent)]
    Import(#[from] ImportError),
}

fn form(arguments: &Value) -> ServedError {
    ServedError::Form(arguments.to_string().chars().take(200).collect())
}

/// Sends an export.
pub fn export(
    repository: &Repository,
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, ServedError> {
    let (scope, from) = message::export(arguments).ok_or_else(|| form(arguments))?;
    let snapshot = repository.snapshot()?;
    let mut out = exchange.output();
    let exported = lines::export(&snapshot, &scope, from.as_ref(), &mut out, &mut |at| {
        exchange.progress(|| message::of_exporting(at, None))
    })?;
    Ok(message::of_exporting(&exported, Some(snapshot.commit())))
}

/// Takes an import. Lines that are passed over are sent back, as they are to be shown.
pub fn import(
    repository: &Repository,
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, ServedError> {
    let options = message::import(arguments).ok_or_else(|| form(arguments))?;
    let mut from = BufReader::new(exchange.input());
    let imported = lines::import(repository, &mut from, &options, &mut |event| match event {
        Event::Progress(at) => exchange.progress(|| message::of_imported(at)),
        event => exchange.data(super::import::bad_line(event).as_bytes()),
    })?;
    Ok(message::of_imported(&imported))
}
