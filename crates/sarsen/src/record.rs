//! A run of the lab from a plan to its report: shown while it goes on, and archived where that is
//! asked for.

use crate::bench::exit_of;
use crate::exit::Exit;
use crate::live;
use lab::archive::{self, About, ArchiveError, Build};
use lab::engine::RunError;
use lab::plan::Plan;
use lab::report::Report;
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The run could not be carried out. If it is archived, then as INVALID with this reason.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It could not be archived, and was not carried out therefore.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl RecordError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Run(error) => exit_of(error),
            Self::Archive(_) => Exit::Failure,
        }
    }
}

/// Carries out a plan; `about`: and archives it, and says on stderr where, or why not.
pub fn carry_out(plan: &Plan, quiet: bool, about: Option<&About>) -> Result<Report, RecordError> {
    let Some(about) = about else {
        let findings = live::carry_out(plan, quiet, Vec::new())?;
        return Ok(Report::new(plan, &findings));
    };
    // What cannot be run is no run.
    plan.check().map_err(RunError::Plan)?;
    let recorded = archive::record(plan, about, |recorder| {
        let findings = live::carry_out(plan, quiet, vec![recorder])?;
        Ok::<_, RunError>(Report::new(plan, &findings))
    })?;
    match &recorded.kept {
        Ok(folder) if !quiet => eprintln!("archived in {}", folder.display()),
        Ok(_) => {}
        Err(error) => {
            let left = about.runs.join(format!("{}.running", recorded.id));
            eprintln!("sarsen: {error}; what there is of the run is in {}", left.display());
        }
    }
    Ok(recorded.result?)
}

/// This program.
pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("SARSEN_COMMIT").map(str::to_owned),
        changed: option_env!("SARSEN_CHANGED").map(|changed| changed == "true"),
    }
}

/// The command line that it was called by.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
