//! What of Sarsen's own page of metrics is of interest beside a load, by name (docs/metrics.md).

use super::exposition::Exposition;
use super::source::Gauged;

/// Whether a page is Sarsen's.
pub(super) fn is_one(page: &Exposition<'_>) -> bool {
    page.sum("sarsen_build_info").is_some()
}

/// The samples whose sums over their labels are columns, and those columns.
pub(super) fn columns() -> Vec<(&'static str, Gauged)> {
    let count = |name| Gauged::counter(name, "per_second", "");
    let seconds = |name| Gauged::counter(name, "cores", "seconds");
    let bytes = |name| Gauged::counter(name, "bytes_per_second", "bytes");
    let state = |name| Gauged::gauge(name, "");
    vec![
        ("sarsen_http_request_duration_seconds_count", count("requests")),
        ("sarsen_commits_total", count("commits")),
        ("sarsen_conflicts_total", count("conflicts")),
        ("sarsen_transactions_aborted_total", count("aborted")),
        ("sarsen_serial_lane_total", count("serial_lane")),
        ("sarsen_tranlog_sync_duration_seconds_count", count("syncs")),
        ("sarsen_tranlog_sync_duration_seconds_sum", seconds("sync_time")),
        ("sarsen_tranlog_bytes_total", bytes("tranlog")),
        ("sarsen_tranlog_writes_total", count("tranlog_writes")),
        ("sarsen_checkpoint_duration_seconds_count", count("checkpoints")),
        ("sarsen_checkpoint_duration_seconds_sum", seconds("checkpoint_time")),
        ("sarsen_tables_bytes", Gauged::gauge("tables", "bytes")),
        ("sarsen_memory_bytes", Gauged::gauge("memory", "bytes")),
        ("sarsen_engine_reads_total", count("engine_reads")),
        ("sarsen_documents_reaped_total", count("documents_reaped")),
        ("sarsen_views_open", state("views_open")),
        ("sarsen_connections_open", state("connections_open")),
        ("sarsen_connections_turned_away_total", count("connections_turned_away")),
        ("sarsen_queue_length", state("queue_length")),
        ("sarsen_gems_alive", state("gems_alive")),
        ("sarsen_gems_busy", state("gems_busy")),
        ("sarsen_gems_lost_total", count("gems_lost")),
        ("sarsen_errors_total", count("errors")),
        ("sarsen_handler_duration_seconds_count", count("handler_runs")),
        ("sarsen_handler_duration_seconds_sum", seconds("handler_time")),
        ("sarsen_handler_queue_duration_seconds_sum", seconds("handler_queue_time")),
        ("sarsen_handler_conflicts_total", count("handler_conflicts")),
        ("sarsen_task_runs_total", count("task_runs")),
        ("sarsen_task_failures_total", count("task_failures")),
    ]
}
