//! What `sarsen top` is told: totals since the server started, and what is so now.

use faces::Watcher;
use gem::{HandlerFigures, Pool};
use repository::{DurationCounts, Repository};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Where the figures come from.
pub struct Sources {
    /// The repository.
    pub repository: Arc<Repository>,
    /// The gems, if there is an application.
    pub pool: Option<Arc<Pool>>,
    /// The faces.
    pub watcher: Watcher,
    /// When the server started.
    pub begun: Instant,
}

impl Sources {
    /// Everything, now. Durations are counts by bucket; their bounds are `repository`'s.
    pub fn read(&self) -> Value {
        let server = self.watcher.read();
        let stats = self.repository.stats();
        let measures = self.repository.measures();
        let load = self.pool.as_ref().map(|pool| pool.load());
        let handlers = self.pool.as_ref().map(|pool| pool.handlers()).unwrap_or_default();
        json!({
            "up_ms": u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "requests": counts(&server.requests),
            "requests_failed": server.failed,
            "connections": server.connections,
            "resident_bytes": server.resident_bytes,
            "cpu_ms": server.cpu_seconds.map(|seconds| (seconds * 1e3) as u64),
            "commits": stats.commits,
            "conflicts": stats.conflicts,
            "serial_lane": stats.serial_lane,
            "visible": stats.visible.0,
            "durable": stats.durable.0,
            "syncs": counts(&measures.syncs),
            "memory_bytes": stats.memory_bytes,
            "memory_bytes_max": stats.memory_bytes_max,
            "gems": load.map(|load| json!({
                "workers": load.workers,
                "alive": load.alive,
                "busy": load.busy,
                "lost": load.lost,
                "queued": load.queued,
                "queue_max": load.queue_max,
                "waiting": load.waiting,
            })),
            "handlers": handlers.iter().map(handler).collect::<Vec<_>>(),
        })
    }
}

fn counts(counts: &DurationCounts) -> Value {
    json!({ "buckets": counts.buckets, "total_ns": counts.total_ns })
}

fn handler(figures: &HandlerFigures) -> Value {
    json!({
        "name": figures.name,
        "failed": figures.failed,
        "conflicts": figures.conflicts,
        "reads": figures.reads,
        "writes": figures.writes,
        "cpu_us": figures.cpu_ns / 1_000,
        "took": counts(&figures.took),
        "queued": counts(&figures.queued),
    })
}
