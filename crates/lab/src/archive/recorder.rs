//! Writes a run down while it goes on: a row and some histograms each second, in memory that does
//! not grow with its length. It measures nothing and judges nothing.

use super::about::{About, pretty};
use super::csv::Growing;
use super::draft::Draft;
use super::environment;
use super::error::{ArchiveError, reading, writing};
use super::failures::Failures;
use super::histograms::{HistogramLog, distribution, tags};
use super::id::RunId;
use super::observed::Observed;
use super::seconds::Seconds;
use super::{mask, plan_json, space, summary, utc};
use crate::engine::{Phase, Watch};
use crate::limits::RUN_DATA_BYTES_MAX;
use crate::measure::{Interval, Latency, Row, SeriesHead, StatusClass, Tally};
use crate::plan::Plan;
use crate::progress::Tick;
use crate::report::Report;
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Logs of histograms, by phase.
const LOGS: [(Phase, &str); 3] = [
    (Phase::RampUp, "ramp-up.hlog"),
    (Phase::Measured, "measured.hlog"),
    (Phase::Drain, "drain.hlog"),
];

/// Writes down the run that it watches.
pub struct Recorder {
    draft: Draft,
    seconds: Seconds,
    /// The operations' names, as tags of histograms begin.
    tags: Vec<String>,
    /// When the first user starts; until then, when this was made.
    start: SystemTime,
    files: Option<Files>,
    failures: Failures,
    observed: Observed,
    /// What is known of the machine and the program, and at the end of the servers.
    environment: Value,
    /// The first thing that could not be written. After it nothing is.
    trouble: Option<ArchiveError>,
}

/// What grows each second.
struct Files {
    client: Growing,
    operations: Growing,
    logs: [HistogramLog; 3],
}

impl Recorder {
    /// Makes the folder of a run that begins now, with what is known before it.
    ///
    /// # Errors
    /// The folder cannot be written, or its disk is too full.
    pub(super) fn begin(plan: &Plan, about: &About) -> Result<Self, ArchiveError> {
        let now = SystemTime::now();
        fs::create_dir_all(&about.runs).map_err(writing(&about.runs))?;
        space::check(&about.runs, plan)?;
        let draft = match &about.id {
            Some(id) => Draft::create(&about.runs, id.clone())?,
            None => Draft::create_drawn(&about.runs, || RunId::new(now, &plan.name))?,
        };
        let environment = environment::gather(about);
        let prepared = prepare(&draft, plan, (about, &environment));
        if let Err(error) = prepared {
            // Nothing is kept of a run that never began; what is said is why.
            let _what_is_left_is_listed_as_killed = draft.discard();
            return Err(error);
        }
        let tags = tags(plan.operations.iter().map(|operation| operation.name.as_str()));
        let names = plan.operations.iter().map(|operation| operation.name.clone());
        let failures = Failures::new(draft.file("failures.jsonl"), names.collect());
        let observed = Observed::new(&draft.file(""));
        Ok(Self {
            draft,
            seconds: Seconds::new(plan),
            tags,
            start: now,
            files: None,
            failures,
            observed,
            environment,
            trouble: None,
        })
    }

    /// The id of the run.
    pub fn id(&self) -> &RunId {
        &self.draft.id
    }

    /// Adds a file of its own: what was found besides the report.
    pub fn note(&mut self, name: &str, value: &Value) {
        let written = self.draft.write(name, pretty(value).as_bytes());
        self.keep_going(written);
    }

    fn keep_going(&mut self, written: Result<(), ArchiveError>) {
        if let Err(error) = written {
            self.trouble.get_or_insert(error);
        }
    }

    /// Opens what grows, now that it is known when the run begins.
    fn open(&self) -> Result<Files, ArchiveError> {
        let log = |name: &str| HistogramLog::create(&self.draft.file(name), self.start);
        let table =
            |name: &str, head: String| Growing::create(&self.draft.file(name), head.as_bytes());
        Ok(Files {
            client: table("client.csv", self.seconds.client_head())?,
            operations: table("operations.csv", self.seconds.operations_head())?,
            logs: [log(LOGS[0].1)?, log(LOGS[1].1)?, log(LOGS[2].1)?],
        })
    }

    fn write_second(&mut self, interval: &Interval) -> Result<(), ArchiveError> {
        let client = self.seconds.client_row(self.start, interval);
        let operations = self.seconds.operations_rows(interval);
        self.failures.append(interval.second, &interval.samples)?;
        let files = match self.files.take() {
            Some(files) => files,
            None => self.open()?,
        };
        let files = self.files.insert(files);
        files.client.append(&client)?;
        files.operations.append(&operations)?;
        for (log, (phase, _)) in files.logs.iter_mut().zip(LOGS) {
            let tallies = self
                .tags
                .iter()
                .enumerate()
                .filter_map(|(operation, tag)| Some((tag, interval.get(phase, operation)?)));
            let mut tagged: Vec<(String, &Latency)> = Vec::new();
            tallies.for_each(|(tag, tally)| push_tagged(&mut tagged, tag, tally));
            let lag = (phase == Phase::Measured).then_some(("send-lag", &interval.send_lag));
            let tagged = tagged.iter().map(|(tag, latency)| (tag.as_str(), *latency));
            log.append(interval.second, tagged.chain(lag))?;
        }
        Ok(())
    }

    /// Closes a run that has a report. What could not be written makes it INVALID.
    pub(super) fn finish(mut self, report: &mut Report) -> Result<PathBuf, ArchiveError> {
        if let Some(trouble) = &self.trouble {
            report.verdict.doubts.push(format!("{trouble}: the series end there"));
        }
        self.draft.release_reserve()?;
        if self.trouble.is_none() && self.files.is_none() {
            self.files = Some(self.open()?);
        }
        let text = |name: &str, text: String| self.draft.write(name, mask::text(&text).as_bytes());
        text("report.txt", report.to_text())?;
        let mut json = report.to_json();
        self.environment["servers"] = json["servers"].clone();
        self.draft.write("environment.json", pretty(&self.environment).as_bytes())?;
        if let Some(audit) = &report.audit {
            let found = json!({
                "checked": audit.checked,
                "lost": audit.lost,
                "faults": audit.faults,
                "notes": audit.notes,
            });
            self.draft.write("audit.json", pretty(&found).as_bytes())?;
        }
        mask::json(&mut json);
        self.draft.write("report.json", format!("{json}\n").as_bytes())?;
        self.draft.write("service.hgrm", distribution(report.measured.service()).as_bytes())?;
        self.draft.write("response.hgrm", distribution(report.measured.response()).as_bytes())?;
        self.close(summary::of_report(report))
    }

    /// Closes a run that has none.
    pub(super) fn fail(self, error: &dyn Display) -> Result<PathBuf, ArchiveError> {
        self.close(summary::of_failure(error))
    }

    fn close(self, mut verdict: Value) -> Result<PathBuf, ArchiveError> {
        verdict["id"] = self.draft.id.as_str().into();
        verdict["started_utc"] = utc::extended(self.start).into();
        verdict["ended_utc"] = utc::extended(SystemTime::now()).into();
        self.draft.write("verdict.json", pretty(&verdict).as_bytes())?;
        // Files must be closed before they are read-only.
        let Self { draft, files, failures, observed, .. } = self;
        drop((files, failures, observed));
        draft.publish()
    }
}

impl Watch for Recorder {
    fn begin(&mut self, start: SystemTime) {
        self.start = start;
    }

    fn tick(&mut self, _: &Tick) {}

    fn second(&mut self, interval: &Interval) {
        if self.trouble.is_none() {
            let written = self.write_second(interval);
            self.keep_going(written);
        }
    }

    fn observed(&mut self, head: &SeriesHead, row: &Row) {
        if self.trouble.is_none() {
            let written = self.observed.append(head, row);
            self.keep_going(written);
        }
    }

    /// A run that is not written down is not gone on with.
    fn stops(&mut self) -> bool {
        self.trouble.is_some()
    }
}

/// The histograms of an operation, each with its tag.
fn push_tagged<'a>(tagged: &mut Vec<(String, &'a Latency)>, tag: &str, tally: &'a Tally) {
    let mut push = |kind: &str, latency| tagged.push((format!("{tag}:{kind}"), latency));
    push("service", tally.service());
    push("response", tally.response());
    for class in StatusClass::ALL {
        tally.by_status(class).into_iter().for_each(|latency| push(class.name(), latency));
    }
    tally.planned_cycles().into_iter().for_each(|latency| push("cycle-planned", latency));
    tally.actual_cycles().into_iter().for_each(|latency| push("cycle-actual", latency));
    tally.messages().into_iter().for_each(|latency| push("message", latency));
}

/// What is known before a run.
fn prepare(
    draft: &Draft,
    plan: &Plan,
    (about, environment): (&About, &Value),
) -> Result<(), ArchiveError> {
    let (name, text) = about.spec.file();
    draft.write(name, text.as_bytes())?;
    draft.write("plan.json", pretty(&plan_json::of(plan)).as_bytes())?;
    draft.write("environment.json", pretty(environment).as_bytes())?;
    let copied: Result<Vec<Value>, _> = about.data.iter().map(|path| copy(draft, path)).collect();
    let copied = copied?;
    if !copied.is_empty() {
        draft.write("data.json", pretty(&Value::Array(copied)).as_bytes())?;
    }
    Ok(())
}

/// Copies a file of data, or, if it is too large, keeps its sum.
fn copy(draft: &Draft, path: &Path) -> Result<Value, ArchiveError> {
    let bytes = fs::metadata(path).map_err(reading(path))?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_copied = bytes <= RUN_DATA_BYTES_MAX;
    if is_copied {
        let content = fs::read(path).map_err(reading(path))?;
        draft.write(&format!("data/{name}"), &content)?;
    }
    let sum = environment::sha256_of(path).map_err(reading(path))?;
    Ok(json!({ "name": name, "bytes": bytes, "sha256": sum, "copied": is_copied }))
}
