//! `sarsen stats`: what a repository holds and does. Sizes are read from the folder, the rest is
//! the counters of the server that runs on it; documents are counted only when asked for.

use crate::admin::{AskError, Exchange, Running};
use crate::cli::StatsArguments;
use crate::door::{Door, DoorError};
use crate::exit::Exit;
use repository::{
    DURATION_BOUNDS_US, DurationCounts, IndexState, ReadError, Repository, Snapshot, SnapshotError,
};
use serde_json::{Map, Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is nothing to tell.
#[derive(Debug, Error)]
pub enum StatsError {
    /// The folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// The data folder, or a folder in it.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no way to the repository.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The server did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// It could not be counted.
    #[error(transparent)]
    Count(#[from] CountError),
}

/// Why documents were not counted.
#[derive(Debug, Error)]
pub enum CountError {
    /// There is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// It could not be read to its end.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The command has gone.
    #[error("{0}")]
    Stream(#[from] io::Error),
}

impl StatsError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Folder { .. } => Exit::Repository,
            Self::Door(error) => error.exit(),
            Self::Ask(AskError::Refused(_)) | Self::Count(_) => Exit::Failure,
            Self::Ask(_) => Exit::Unreachable,
        }
    }
}

/// What goes to stdout.
pub fn run(arguments: &StatsArguments) -> Result<String, StatsError> {
    let mut stats = json!({ "bytes": sizes(&arguments.data)? });
    if let Some(running) = Running::find(&arguments.data)? {
        let asked = json!({ "count": arguments.count });
        merge(&mut stats, running.stream("stats", &asked)?.whole()?);
    } else if arguments.count {
        // Counting reads what only an opening finds in the tranlog.
        if let Door::Repository(repository) = Door::find(&arguments.data)? {
            let counted = repository.snapshot().map_err(CountError::from);
            let counted = counted.and_then(|snapshot| count(&snapshot, || Ok(())));
            Door::close(&repository)?;
            stats["collections"] = counted?;
        }
    }
    Ok(match arguments.json {
        true => format!("{stats}\n"),
        false => render(&stats),
    })
}

/// Sends what a server knows.
pub fn serve(
    repository: &Repository,
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, CountError> {
    let mut stats = of_server(repository);
    if arguments["count"] == true {
        let tell = || exchange.progress(|| Value::Null);
        stats["collections"] = count(&repository.snapshot()?, tell)?;
    }
    exchange.data(stats.to_string().as_bytes())?;
    Ok(Value::Null)
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// Bytes of the folder and of what stands in it, by name.
fn sizes(folder: &Path) -> Result<Value, StatsError> {
    let failed = |source| StatsError::Folder { path: folder.to_owned(), source };
    let mut sizes = Map::new();
    let mut all = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let bytes = size(&entry.path()).map_err(failed)?;
        all += bytes;
        if entry.path().is_dir() {
            sizes.insert(entry.file_name().to_string_lossy().into_owned(), bytes.into());
        }
    }
    sizes.insert("folder".to_owned(), all.into());
    Ok(Value::Object(sizes))
}

/// Bytes of a file, or of all files below a folder. What goes meanwhile counts nothing.
fn size(path: &Path) -> io::Result<u64> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    if !found.is_dir() {
        return Ok(found.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

/// Documents and bytes of their bodies by collection.
fn count(
    snapshot: &Snapshot,
    mut tell: impl FnMut() -> io::Result<()>,
) -> Result<Value, CountError> {
    let mut counts = Map::new();
    for collection in snapshot.collections()? {
        let (mut documents, mut bytes, mut after) = (0_u64, 0, None);
        loop {
            let page = snapshot.page(&collection, after.as_ref())?;
            documents += page.documents.len() as u64;
            bytes += page.documents.iter().map(|(_, d)| d.length()).sum::<u64>();
            tell()?;
            if page.is_last {
                break;
            }
            after = page.documents.last().map(|(key, _)| key.clone());
        }
        let count = json!({ "documents": documents, "bytes": bytes });
        counts.insert(collection.name.to_string(), count);
    }
    Ok(Value::Object(counts))
}

fn of_server(repository: &Repository) -> Value {
    let (stats, measures) = (repository.stats(), repository.measures());
    let building = repository.indexes().into_iter().filter_map(|index| match index.state {
        IndexState::Ready => None,
        IndexState::Building { passed } => {
            Some(json!({ "index": index.index, "of": index.collection.as_str(), "passed": passed }))
        }
        IndexState::Failed(why) => Some(json!({
            "index": index.index, "of": index.collection.as_str(), "failed": why.to_string(),
        })),
    });
    let views = repository.views().into_iter().map(|views| {
        json!({ "commit": views.number.0, "count": views.count, "opened": views.opened.rfc3339() })
    });
    let written = disk_written();
    let of_memory = measures.reads.saturating_sub(measures.engine_reads);
    json!({
        "commits": {
            "visible": stats.visible.0, "durable": stats.durable.0, "synced": stats.synced.0,
            "checkpoint": stats.checkpoint.0, "since_start": stats.commits,
            "conflicts": stats.conflicts, "serial_lane": stats.serial_lane,
            "aborted": measures.aborted,
        },
        "memory": { "bytes": stats.memory_bytes, "max_bytes": stats.memory_bytes_max },
        "reads": {
            "documents": measures.reads, "of_engine": measures.engine_reads,
            "hit_ratio": ratio(of_memory, measures.reads),
        },
        "writes": {
            "records_bytes": measures.record_bytes, "tranlog_bytes": stats.tranlog_bytes,
            "tranlog_writes": stats.tranlog_batches, "process_bytes": written,
            "amplification": written.and_then(|written| ratio(written, measures.record_bytes)),
        },
        "syncs": durations(&measures.syncs),
        "checkpoints": durations(&measures.checkpoints),
        "engine": { "bytes": stats.engine_bytes, "rows_about": measures.engine_rows },
        "views": views.collect::<Vec<_>>(),
        "views_refused": stats.refused_views,
        "oldest_snapshot": repository.oldest_snapshot().map(|commit| commit.0),
        "expired_removed": stats.reaped,
        "indexes": building.collect::<Vec<_>>(),
        "space": {
            "free_bytes": stats.free_bytes, "reserve_bytes": stats.reserve_bytes,
            "is_short": stats.is_short_of_space, "refused": stats.refused_for_space,
        },
    })
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1_000.0).round() / 1_000.0)
}

/// What this process has had written to disks, by all of its parts.
fn disk_written() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.trim().parse().ok()
}

/// Upper bounds of what half, and nearly all, took, in microseconds.
fn durations(counts: &DurationCounts) -> Value {
    let count: u64 = counts.buckets.iter().sum();
    let below = |share: f64| {
        let mut left = (count as f64 * share).ceil() as u64;
        let at = counts.buckets.iter().position(|bucket| {
            left = left.saturating_sub(*bucket);
            left == 0
        });
        at.filter(|_| count > 0).and_then(|at| DURATION_BOUNDS_US.get(at).copied())
    };
    json!({
        "count": count, "p50_us": below(0.5), "p99_us": below(0.99), "max_us": below(1.0),
    })
}

/// One fact a line: its name and its value.
fn render(stats: &Value) -> String {
    let mut text = String::new();
    lines("", stats, &mut text);
    text
}

fn lines(name: &str, value: &Value, text: &mut String) {
    let under = |member: &str| match name {
        "" => member.to_owned(),
        name => format!("{name}.{member}"),
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(member, value)| lines(&under(member), value, text));
        }
        Value::Array(values) if values.is_empty() => {}
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                lines(&under(&at.to_string()), value, text);
            }
        }
        Value::Null => {}
        Value::String(value) => text.push_str(&format!("{name:<28} {value}\n")),
        value => text.push_str(&format!("{name:<28} {value}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_lines() {
        let stats = json!({ "a": { "b": 1, "c": null }, "d": [], "e": [{ "f": "x" }] });
        let expected = "a.b                          1\ne.0.f                        x\n";
        assert_eq!(render(&stats), expected);
    }

    #[test]
    fn half_and_nearly_all() {
        let mut counts = DurationCounts::default();
        assert_eq!(durations(&counts)["p50_us"], Value::Null);
        (counts.buckets[2], counts.buckets[5]) = (98, 2);
        let durations = durations(&counts);
        assert_eq!(durations["count"], 100);
        assert_eq!(durations["p50_us"], DURATION_BOUNDS_US[2]);
        assert_eq!(durations["p99_us"], DURATION_BOUNDS_US[5]);
        assert_eq!(ratio(1, 3), Some(0.333));
    }
}
