//! What processes, this machine and servers' own metrics do during a run: read at each whole second
//! of the run's clock, and when the measured interval begins and ends. It judges nothing.

mod endpoint;
mod exposition;
mod host;
mod process;
mod sarsen;
mod source;
mod summary;

pub use exposition::{Exposition, ExpositionError, Sample};
pub use host::link_bytes_per_second;
pub use summary::{Figure, Summary};

use crate::limits::OBSERVED_MAX;
use crate::measure::{Row, SeriesHead};
use crate::plan::{Plan, Process};
use endpoint::EndpointSource;
use host::HostSource;
use process::ProcessSource;
use source::Track;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::time::Instant;

/// The name of the series of the process that the plan calls the server.
pub const SERVER: &str = "server";

/// What observers tell while the run goes on.
pub(crate) enum Event {
    /// A second of one of them.
    Row(Arc<SeriesHead>, Row),
    /// The server's process has ended, seen at this second of the run.
    ServerGone(u64),
}

/// The borders of the measured interval.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Begin,
    End,
}

/// Everybody who observes.
pub(crate) struct Observer {
    /// The last mark that was made.
    marked: Cell<Option<Mark>>,
    events: Receiver<Event>,
    threads: Vec<(Sender<Mark>, JoinHandle<Vec<Summary>>)>,
}

impl Observer {
    /// Begins to observe what `plan` names. Seconds are counted from `start`.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start(plan: &Plan, start: Instant) -> io::Result<Self> {
        // Room for some seconds of everything, so that reading does not wait for who writes it.
        let (sender, events) = sync_channel(16 * OBSERVED_MAX);
        let mut all = vec![local(plan)];
        all.extend(plan.observe.endpoints.iter().map(|endpoint| {
            let source =
                Source::Endpoint(Box::new(EndpointSource::new(endpoint, &plan.transport.trust)));
            vec![Watched::new(&endpoint.name, source)]
        }));
        let mut threads = Vec::with_capacity(all.len());
        for watched in all {
            let (marks, receiver) = channel();
            let attendant = Attendant { watched, start, marks: receiver, events: sender.clone() };
            let builder = std::thread::Builder::new().name("lab-observe".to_owned());
            threads.push((marks, builder.spawn(move || attendant.attend())?));
        }
        Ok(Self { marked: Cell::new(None), events, threads })
    }

    /// The measured interval begins or ends now. Said again it means nothing.
    pub(crate) fn mark(&self, mark: Mark) {
        // Each once, and an end after a beginning.
        if self.marked.get() == Some(mark) || self.marked.get() == Some(Mark::End) {
            return;
        }
        self.marked.set(Some(mark));
        for (marks, _) in &self.threads {
            // One whose thread is gone has said why.
            let _gone = marks.send(mark);
        }
    }

    /// What has been told since the last call.
    pub(crate) fn told(&self) -> impl Iterator<Item = Event> + '_ {
        self.events.try_iter()
    }

    /// Ends it.
    pub(crate) fn finish(self) -> (Vec<Summary>, Vec<Event>) {
        let Self { events, threads, .. } = self;
        let (marks, handles): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        drop(marks);
        // All that comes until the last of them has gone.
        let rest = events.iter().collect();
        let summaries = handles.into_iter().flat_map(|handle| match handle.join() {
            Ok(summaries) => summaries,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        (summaries.collect(), rest)
    }
}

/// What is read of `/proc`, which never keeps anybody waiting.
fn local(plan: &Plan) -> Vec<Watched> {
    let process = |process: &Process| {
        let source = ProcessSource::new(process.pid, process.with_children);
        Watched::new(&process.name, Source::Process(Box::new(source)))
    };
    let named = |name: &str, pid| Process { name: name.to_owned(), pid, with_children: false };
    let mut all = Vec::new();
    if let Some(pid) = plan.server_pid {
        all.push(Watched { is_server: true, ..process(&named(SERVER, pid)) });
    }
    all.extend(plan.observe.processes.iter().map(process));
    all.push(process(&named("generator", std::process::id())));
    all.push(Watched::new("host", Source::Host(HostSource::new())));
    all
}

enum Source {
    Process(Box<ProcessSource>),
    Host(HostSource),
    Endpoint(Box<EndpointSource>),
}

/// A source and what has come of it.
struct Watched {
    name: String,
    source: Source,
    /// Whether its end is the end of the run.
    is_server: bool,
    /// Once its columns are known.
    track: Option<Track>,
    trouble: Trouble,
}

/// What went wrong with a source.
#[derive(Default)]
struct Trouble {
    /// The first thing, and at which second.
    first: Option<(u64, String)>,
    /// In how many seconds something did.
    seconds: u64,
    /// Whether the last reading was one.
    is_on: bool,
}

impl Watched {
    fn new(name: &str, source: Source) -> Self {
        let columns = match &source {
            Source::Process(_) => Some(process::columns()),
            Source::Host(host) => Some(host.columns()),
            Source::Endpoint(_) => None,
        };
        let track = columns.map(|columns| Track::new(name, columns));
        Self { name: name.to_owned(), source, is_server: false, track, trouble: Trouble::default() }
    }

    /// Its values now; none if they cannot be read.
    fn read(&mut self, second: u64) -> Vec<Option<f64>> {
        let values = match &mut self.source {
            Source::Process(process) => process.read().map_err(|error| error.to_string()),
            Source::Host(host) => Ok(host.read()),
            Source::Endpoint(endpoint) => endpoint.read().map_err(|error| error.to_string()),
        };
        self.trouble.is_on = values.is_err();
        values.unwrap_or_else(|why| {
            self.trouble.first.get_or_insert((second, why));
            Vec::new()
        })
    }

    /// A whole second is over. Nothing while its columns are not known.
    fn second(&mut self, second: u64) -> Option<Event> {
        let values = self.read(second);
        self.trouble.seconds += u64::from(self.trouble.is_on);
        if let (None, Source::Endpoint(endpoint), false) =
            (&self.track, &self.source, self.trouble.is_on)
        {
            self.track = Some(Track::new(&self.name, endpoint.columns()));
        }
        let track = self.track.as_mut()?;
        let row = track.row(second, Instant::now(), &values);
        Some(Event::Row(Arc::clone(track.head()), row))
    }

    fn mark(&mut self, mark: Mark, second: u64) {
        let values = self.read(second);
        if let (None, Source::Endpoint(endpoint), false) =
            (&self.track, &self.source, self.trouble.is_on)
        {
            self.track = Some(Track::new(&self.name, endpoint.columns()));
        }
        if let Some(track) = &mut self.track {
            track.mark(mark == Mark::Begin, Instant::now(), &values);
        }
    }

    fn summary(self) -> Summary {
        let mut notes = Vec::new();
        if let Some((second, why)) = self.trouble.first {
            let seconds = self.trouble.seconds;
            notes.push(format!(
                "{}: could not be read in {seconds} seconds, first at second {second}: {why}",
                self.name
            ));
        }
        if let Source::Endpoint(endpoint) = &self.source
            && endpoint.left_out() > 0
        {
            let count = endpoint.left_out();
            notes.push(format!(
                "{}: {count} more metrics are on the page than are kept; name those that you want",
                self.name
            ));
        }
        let track = self.track.unwrap_or_else(|| Track::new(&self.name, Vec::new()));
        track.summary(notes)
    }
}

/// Who reads some sources at the right times.
struct Attendant {
    watched: Vec<Watched>,
    start: Instant,
    marks: Receiver<Mark>,
    events: SyncSender<Event>,
}

impl Attendant {
    /// Until nobody can send a mark any more.
    fn attend(mut self) -> Vec<Summary> {
        let mut second = 0;
        loop {
            let now = Instant::now();
            let at = self.start + Duration::from_secs(second);
            match self.marks.recv_timeout(at.saturating_duration_since(now)) {
                Ok(mark) => self.watched.iter_mut().for_each(|one| one.mark(mark, second)),
                Err(RecvTimeoutError::Timeout) => {
                    self.tell(second);
                    // One who was held up leaves seconds out rather than naming them wrongly.
                    let late = Instant::now().saturating_duration_since(self.start).as_secs();
                    second = (second + 1).max(late);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.watched.into_iter().map(Watched::summary).collect()
    }

    fn tell(&mut self, second: u64) {
        for one in &mut self.watched {
            let row = one.second(second);
            let is_gone = one.is_server && one.trouble.is_on;
            let gone = is_gone.then_some(Event::ServerGone(second));
            for event in row.into_iter().chain(gone) {
                // The run is over and nobody listens.
                let _over = self.events.send(event);
            }
        }
    }
}
