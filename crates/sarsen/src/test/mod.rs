//! `sarsen test`: runs an application's own tests, each on a server of its own that is thrown away.
//! What tests may do is in the gem crate; what is said of them is in `report`.

mod client;
mod diff;
mod files;
mod heard;
mod report;
mod site;

use crate::assemble::AssembleError;
use crate::cli::TestArguments;
use crate::exit::Exit;
use gem::testing::{TestFailure, TestFile};
use gem::{App, LoadError};
use report::Report;
use site::Site;
use std::io;
use std::thread;
use std::time::Instant;
use thiserror::Error;

/// Why tests were not run.
#[derive(Debug, Error)]
pub enum TestError {
    /// The application, or a file of tests, does not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The server cannot be put together.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The files cannot be listed, or a thread or a folder cannot be made.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There are none.
    #[error("there are no tests in {0}: expected files such as test/app.test.js")]
    None(String),
    /// None has the filter in its title or file.
    #[error("no test has \"{0}\" in its title or the name of its file")]
    NoneLike(String),
}

impl TestError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Load(_) | Self::Assemble(AssembleError::Application(_)) => Exit::Application,
            _ => Exit::Failure,
        }
    }
}

/// How one test went.
struct Ran {
    title: String,
    result: Result<(), TestFailure>,
    milliseconds: u128,
    /// What the application and the server wrote to the log meanwhile.
    heard: Vec<String>,
}

/// Runs the tests. What is said goes to stdout as they run.
pub fn run(arguments: &TestArguments) -> Result<Exit, TestError> {
    heard::listen();
    // First, so that a mistake in it is said once and not by each test.
    App::load(&arguments.app)?;
    let files = files::find(&arguments.app)?;
    if files.is_empty() {
        return Err(TestError::None(arguments.app.display().to_string()));
    }
    let mut report = Report::new(arguments);
    for file in &files {
        // The engine stays on one thread, which has the stack that it needs.
        let ran = thread::scope(|scope| {
            thread::Builder::new()
                .name("gem-test".to_owned())
                .stack_size(gem::limits::THREAD_STACK_BYTES)
                .spawn_scoped(scope, || run_file(arguments, file, &mut report))?
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a test's thread panicked").into()))
        });
        ran?;
    }
    if report.is_empty() {
        return Err(TestError::NoneLike(arguments.filter.clone().unwrap_or_default()));
    }
    Ok(report.finish()?)
}

fn run_file(
    arguments: &TestArguments,
    file: &str,
    report: &mut Report<'_>,
) -> Result<(), TestError> {
    let mut loaded = TestFile::load(&arguments.app, file)?;
    let titles = loaded.titles().to_vec();
    let is_asked_for = |title: &str| {
        let filter = arguments.filter.as_deref().unwrap_or_default().to_lowercase();
        title.to_lowercase().contains(&filter) || file.to_lowercase().contains(&filter)
    };
    for (number, title) in titles.iter().enumerate().filter(|(_, title)| is_asked_for(title)) {
        let site = Site::start(arguments)?;
        heard::take();
        let begun = Instant::now();
        let (result, kept) = loaded.run(number, site.stage(arguments), arguments.timeout);
        let milliseconds = begun.elapsed().as_millis();
        let heard = heard::take();
        site.end();
        report.add(file, Ran { title: title.clone(), result, milliseconds, heard })?;
        loaded = match kept {
            Some(loaded) => loaded,
            None => TestFile::load(&arguments.app, file)?,
        };
    }
    Ok(())
}
