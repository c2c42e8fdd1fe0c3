//! The archive: one folder for each run, written while it goes on and never changed afterwards,
//! readable without this program (`docs/archive.md`). It runs nothing and judges nothing.

mod about;
mod csv;
mod draft;
mod environment;
mod error;
mod failures;
mod histograms;
mod id;
mod label;
mod mask;
mod observed;
mod plan_json;
mod recorder;
mod runs;
mod seconds;
mod space;
mod steps_json;
mod summary;
mod sums;
pub(crate) mod utc;

pub use about::{About, Build, Spec};
pub use error::ArchiveError;
pub use id::RunId;
pub use label::Label;
pub use recorder::Recorder;
pub use runs::{Run, Runs, State};

use crate::plan::Plan;
use crate::report::Report;
use std::fmt::Display;
use std::path::PathBuf;

/// The folder of runs where nothing else is said: `SARSEN_RUNS`, or `runs` here.
pub fn folder() -> PathBuf {
    std::env::var_os("SARSEN_RUNS")
        .filter(|folder| !folder.is_empty())
        .unwrap_or("runs".into())
        .into()
}

/// A run that is over.
#[derive(Debug)]
pub struct Recorded<E> {
    /// Its id.
    pub id: RunId,
    /// What was found, or why nothing was. A part of the series that could not be kept makes it
    /// INVALID.
    pub result: Result<Report, E>,
    /// Where it is, or why it is not whole. What there is then is in a folder of that name with
    /// `.running` behind it, which is listed as killed.
    pub kept: Result<PathBuf, ArchiveError>,
}

/// Carries out a run and archives it, whatever becomes of it. What is given to `carry_out` must
/// watch the run.
///
/// # Errors
/// Its folder cannot be made, or the disk is too full. Then nothing was carried out.
pub fn record<E: Display>(
    plan: &Plan,
    about: &About,
    carry_out: impl FnOnce(&mut Recorder) -> Result<Report, E>,
) -> Result<Recorded<E>, ArchiveError> {
    let mut recorder = Recorder::begin(plan, about)?;
    let id = recorder.id().clone();
    let mut result = carry_out(&mut recorder);
    let kept = match &mut result {
        Ok(report) => recorder.finish(report),
        Err(error) => recorder.fail(error),
    };
    if let (Ok(report), Err(error)) = (&mut result, &kept) {
        report.verdict.doubts.push(error.to_string());
    }
    Ok(Recorded { id, result, kept })
}
