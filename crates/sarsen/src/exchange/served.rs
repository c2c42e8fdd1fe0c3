//! Exports and imports for commands that ask the server: from the repository to the stream, and
//! from the stream into the repository.

use super::kept::CutExport;
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

/// Sends an export: of the present, or what is missing of one that was cut off.
pub fn export(
    (repository, cut): (&Repository, &CutExport),
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, ServedError> {
    let (scope, from) = message::export(arguments).ok_or_else(|| form(arguments))?;
    let kept = from.as_ref().and_then(|from| cut.take(from.commit));
    let snapshot = kept.map_or_else(|| repository.snapshot(), Ok)?;
    let mut out = exchange.output();
    let exported = lines::export(&snapshot, &scope, from.as_ref(), &mut out, &mut |at| {
        exchange.progress(|| message::of_exporting(at, None))
    });
    match exported {
        Ok(exported) => Ok(message::of_exporting(&exported, Some(snapshot.commit()))),
        Err(error) => {
            if matches!(error, ExportError::Write(_)) {
                cut.keep(snapshot);
            }
            Err(error.into())
        }
    }
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
