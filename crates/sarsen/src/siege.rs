//! `sarsen siege`: reads what siege reads, has the lab load the server by it, and prints siege's
//! lines. Like siege it ends with 0 after a run, whatever came back.

use crate::cli::{Repetitions, SiegeArguments};
use crate::exit::Exit;
use crate::record::{self, RecordError};
use lab::limits::{
    DURATION_MAX, REQUEST_BODIES_BYTES_MAX, REQUEST_BODY_BYTES_MAX, SIEGE_FILE_BYTES_MAX,
};
use lab::siege::urls::{self, Content, Entry, Mistake};
use lab::siege::{self, Siege};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum SiegeError {
    /// The URL of the command line cannot be used.
    #[error("{0}")]
    Url(String),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file of URLs has mistakes.
    #[error("{}: {}", path.display(), told(mistakes))]
    Urls {
        /// Which file.
        path: PathBuf,
        /// All of them.
        mistakes: Vec<Mistake>,
    },
    /// The bodies are too many or too large.
    #[error("the bodies of all URLs together have at most {REQUEST_BODIES_BYTES_MAX} bytes")]
    Bodies,
    /// There is no reply to the one request of `-g`.
    #[error("{0}")]
    Get(String),
    /// The run itself.
    #[error(transparent)]
    Run(#[from] RecordError),
}

fn told(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n  ")
}

impl SiegeError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Run(error) => error.exit(),
            Self::Get(_) => Exit::Unreachable,
            Self::Url(_) | Self::File { .. } | Self::Urls { .. } | Self::Bodies => Exit::Usage,
        }
    }
}

/// Of a request, if nothing is said: siege's own.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs to the end; gives what goes to stdout.
pub fn run(arguments: &SiegeArguments) -> Result<String, SiegeError> {
    let entries = entries(arguments)?;
    let requests = with_bodies(entries)?;
    let siege = siege(arguments, requests);
    if arguments.get {
        return siege::show(&siege).map_err(SiegeError::Get);
    }
    if arguments.repetitions.is_some() && arguments.time.is_some() && !arguments.common.quiet {
        eprintln!("sarsen: both a time and repetitions are given; as in siege the time counts");
    }
    let report = record::carry_out(&siege.plan(), arguments.common.quiet, None)?;
    Ok(match (arguments.common.json, arguments.common.quiet) {
        (true, _) => format!("{}\n", siege::json(&report)),
        (false, true) => String::new(),
        (false, false) => siege::lines(&report),
    })
}

fn siege(arguments: &SiegeArguments, requests: Vec<(Entry, Vec<u8>)>) -> Siege {
    let repetitions = match (arguments.repetitions, arguments.time) {
        (_, Some(_)) | (None, None) => None,
        (Some(Repetitions::Number(number)), None) => Some(number),
        (Some(Repetitions::Once), None) => Some(requests.len() as u64),
    };
    let mut headers = arguments.headers.clone();
    let is_given = |headers: &[(String, String)], name: &str| {
        headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    let agent = concat!("sarsen-siege/", env!("CARGO_PKG_VERSION"));
    let agent = arguments.agent.as_deref().unwrap_or(agent);
    for (name, value) in [("User-Agent", agent), ("Accept", "*/*")] {
        if !is_given(&headers, name) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    // Whether connections are kept is said by this field in siege, too.
    let (connection, headers): (Vec<_>, Vec<_>) =
        headers.into_iter().partition(|(name, _)| name.eq_ignore_ascii_case("connection"));
    Siege {
        repetitions,
        requests,
        users: arguments.users,
        time: arguments.time.unwrap_or(DURATION_MAX),
        delay: if arguments.benchmark { Default::default() } else { arguments.delay },
        internet: arguments.internet,
        staggered: arguments.repetitions != Some(Repetitions::Once),
        headers,
        content_type: arguments.content_type.clone(),
        follow: arguments.follow,
        parser: arguments.parser,
        keep_alive: connection.iter().any(|(_, value)| value.eq_ignore_ascii_case("keep-alive")),
        threads: arguments.common.threads.unwrap_or(1),
        seed: arguments.common.seed.unwrap_or(1),
        timeout: arguments.common.timeout.unwrap_or(TIMEOUT),
    }
}

fn entries(arguments: &SiegeArguments) -> Result<Vec<Entry>, SiegeError> {
    let Some(path) = &arguments.file else {
        return urls::read_one(&arguments.url).map(|entry| vec![entry]).map_err(SiegeError::Url);
    };
    let bytes = read(path, SIEGE_FILE_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&bytes);
    let of_environment = |name: &str| std::env::var(name).ok();
    let mistaken = |mistakes| SiegeError::Urls { path: path.clone(), mistakes };
    urls::read(&text, &of_environment).map_err(mistaken)
}

fn with_bodies(entries: Vec<Entry>) -> Result<Vec<(Entry, Vec<u8>)>, SiegeError> {
    let mut requests = Vec::with_capacity(entries.len());
    let mut all = 0;
    for entry in entries {
        let body = match &entry.body {
            Content::None => Vec::new(),
            Content::Text(text) => text.clone().into_bytes(),
            Content::File(path) => read(Path::new(path), REQUEST_BODY_BYTES_MAX)?,
        };
        all += body.len();
        if all > REQUEST_BODIES_BYTES_MAX {
            return Err(SiegeError::Bodies);
        }
        requests.push((entry, body));
    }
    Ok(requests)
}

/// One byte more than is taken at most: enough to be refused, however large the file is.
fn read(path: &Path, max: usize) -> Result<Vec<u8>, SiegeError> {
    let mut bytes = Vec::new();
    let opened =
        File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes));
    opened.map_err(|source| SiegeError::File { path: path.to_owned(), source })?;
    Ok(bytes)
}
