//! `sarsen run`: finds the scenario, has it carried out with what comes before and after it, and
//! prints the report. `grid` carries it out many times, `search` until the highest rate is found.

mod grid;
mod search;

use crate::bench::{Finished, exit_of, exit_with};
use crate::cli::RunArguments;
use crate::exit::Exit;
use crate::live;
use crate::record::{self, RecordError};
use lab::archive::{self, About, Spec};
use lab::engine::RunError;
use lab::grid::GridError;
use lab::limits::SCENARIO_BYTES_MAX;
use lab::nearest;
use lab::plan::Load;
use lab::report::Report;
use lab::scenario::{Hook, Mistakes, Scenario, Source, shipped};
use lab::target::TargetError;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// There is no such file, and no scenario of that name.
    #[error(
        "there is no file \"{got}\", and no scenario of that name ships{}; those that do: {}",
        nearest::hint(nearest),
        names().join(", ")
    )]
    Unknown {
        /// What came.
        got: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The scenario has mistakes.
    #[error("the scenario cannot be run\n{0}")]
    Mistakes(#[from] Mistakes),
    /// What comes before the run, or after it, did not succeed.
    #[error(
        "{phase} `{name}`: {why}; {done} of {times} were done, in their order; to go on from \
         there: --setup-from {done}"
    )]
    Hook {
        /// "setup" or "teardown".
        phase: &'static str,
        /// The operation.
        name: String,
        /// How many there are.
        times: u64,
        /// All before this one were done.
        done: u64,
        /// What went wrong.
        why: String,
    },
    /// What comes around the run could not be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run itself.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A URL of metrics cannot be used.
    #[error("--metrics: {0}")]
    Metrics(#[from] TargetError),
    /// The grid cannot be.
    #[error("--grid: {0}")]
    Grid(#[from] GridError),
    /// The server went away while the highest rate was searched for.
    #[error("--max-rate: {0}")]
    Search(String),
}

impl ScenarioError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Unknown { .. } | Self::Read { .. } | Self::Mistakes(_) => Exit::Usage,
            Self::Metrics(_) | Self::Grid(_) => Exit::Usage,
            Self::Hook { .. } | Self::Search(_) => Exit::Failure,
            Self::Run(error) => exit_of(error),
            Self::Record(error) => error.exit(),
        }
    }
}

fn names() -> Vec<&'static str> {
    shipped().iter().map(|scenario| scenario.name).collect()
}

/// Runs to the end.
pub fn run(arguments: &RunArguments) -> Result<Finished, ScenarioError> {
    let file = match &arguments.replay {
        Some(log) => ScenarioFile::of_log(log, &arguments.scenario),
        None => ScenarioFile::find(&arguments.scenario)?,
    };
    if arguments.show {
        return Ok(Finished { text: file.text, exit: Exit::Success });
    }
    match (&arguments.max_rate, arguments.grid.as_slice()) {
        (Some(gate), _) => search::run(arguments, &file, gate),
        (None, []) => once(arguments, &file),
        (None, axes) => grid::run(arguments, &file, axes),
    }
}

fn once(arguments: &RunArguments, file: &ScenarioFile) -> Result<Finished, ScenarioError> {
    let scenario = Scenario::read(file.source(), &arguments.overrides()?)?;
    let outline = scenario.to_text();
    if arguments.check {
        return Ok(Finished { text: outline, exit: Exit::Success });
    }
    if !arguments.common.quiet {
        eprintln!("{outline}");
    }
    let attempt = Attempt { arguments, file, words: record::command_line() };
    attempt.set_up(&scenario)?;
    let report = attempt.measure(&scenario)?;
    attempt.tear_down(&scenario)?;
    let text = match arguments.common.json {
        true => format!("{}\n", report.to_json()),
        false => report.to_text(),
    };
    Ok(Finished { text, exit: exit_with(&report) })
}

/// One run of a scenario, with what comes before and after it.
pub struct Attempt<'a> {
    /// How it is carried out.
    pub arguments: &'a RunArguments,
    /// The scenario.
    pub file: &'a ScenarioFile,
    /// The command line that makes the same run, for the archive.
    pub words: Vec<String>,
}

impl Attempt<'_> {
    /// What comes before it.
    pub fn set_up(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let how = (self.arguments.setup_from, self.arguments.common.quiet);
        scenario.setup.iter().try_for_each(|hook| carry_out("setup", hook, how))
    }

    /// The run itself, archived.
    pub fn measure(&self, scenario: &Scenario) -> Result<Report, ScenarioError> {
        let Self { arguments, file, words } = self;
        let about = About {
            runs: arguments.common.runs.clone().unwrap_or_else(archive::folder),
            spec: Spec::Toml(file.text.clone()),
            data: scenario.files.clone(),
            arguments: words.clone(),
            build: record::build(),
            host: !arguments.common.no_host,
            id: arguments.id.clone(),
        };
        Ok(record::carry_out(&scenario.plan, arguments.common.quiet, Some(&about))?)
    }

    /// What comes after it.
    pub fn tear_down(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let how = (0, self.arguments.common.quiet);
        scenario.teardown.iter().try_for_each(|hook| carry_out("teardown", hook, how))
    }
}

/// The command line without what makes many runs of it, and with `more`.
pub fn words_of_one(more: Vec<String>) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = record::command_line().into_iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--grid" | "--max-rate" => drop(rest.next()),
            _ if word.starts_with("--grid=") || word.starts_with("--max-rate=") => {}
            _ => words.push(word),
        }
    }
    words.extend(more);
    words
}

/// A scenario's text, and where it comes from.
pub struct ScenarioFile {
    /// As mistakes name it.
    name: String,
    /// What is in it.
    pub text: String,
    /// Where it is; none: it ships.
    folder: Option<PathBuf>,
}

impl ScenarioFile {
    /// The scenario that replays an access log to a server.
    fn of_log(log: &Path, url: &str) -> Self {
        // A brace is one, and names no variable. TOML has JSON's escapes.
        let quoted = |text: &str| Value::from(text.replace('{', "\\{")).to_string();
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        let (url, file) = (quoted(url), quoted(&log.to_string_lossy()));
        let name = quoted(&format!("replay of {name}"));
        let text = format!(
            "name = {name}\n\n[servers]\nserver = {url}\n\n[load]\nreplay = {{ log = {file} }}\n\
             warm_up = \"0s\"\n\n[operation.request]\nlogged = true\n"
        );
        Self { name: "--replay".to_owned(), text, folder: Some(PathBuf::new()) }
    }

    /// The file of that path, or else the one of that name that ships.
    pub fn find(named: &str) -> Result<Self, ScenarioError> {
        let path = Path::new(named);
        if path.exists() {
            let read = |source| ScenarioError::Read { path: path.to_owned(), source };
            let text = read_file(path).map_err(read)?;
            let folder = path.parent().map(Path::to_owned);
            return Ok(Self { name: named.to_owned(), text, folder });
        }
        let found = shipped().iter().find(|scenario| scenario.name == named);
        let found = found.ok_or_else(|| ScenarioError::Unknown {
            got: named.to_owned(),
            nearest: nearest::of(named, names()).map(str::to_owned),
        })?;
        let name = format!("{}.toml", found.name);
        Ok(Self { name, text: found.text.to_owned(), folder: None })
    }

    /// What is read.
    pub fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text, folder: self.folder.as_deref() }
    }

    /// The name of the file alone.
    pub fn file_name(&self) -> String {
        let name = Path::new(&self.name).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Where a file that it names is below its folder; the whole path, if it is elsewhere.
    pub fn below(&self, file: &Path) -> PathBuf {
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        file.strip_prefix(folder).unwrap_or(file).to_owned()
    }
}

/// One byte more than the lab takes at most: enough for it to refuse.
fn read_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(SCENARIO_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Does what comes before the run or after it. Nothing is measured by a setup that failed.
fn carry_out(
    phase: &'static str,
    hook: &Hook,
    (from, quiet): (u64, bool),
) -> Result<(), ScenarioError> {
    let mut hook = hook.clone();
    if let Load::Numbered { first, times, .. } = &mut hook.plan.load {
        if from >= *times {
            return Ok(());
        }
        (*first, *times) = (from, *times - from);
    }
    let findings = live::carry_out(&hook.plan, quiet, Vec::new())?;
    let done = findings.numbered_done;
    let report = Report::new(&hook.plan, &findings);
    let errors = report.measured.errors();
    if errors.total() == 0 && done == hook.times {
        return Ok(());
    }
    let why = match errors.total() {
        0 => "it was ended before its time".to_owned(),
        _ => format!("not all succeeded: {errors}"),
    };
    let Hook { name, times, .. } = hook;
    Err(ScenarioError::Hook { phase, name, times, done, why })
}
