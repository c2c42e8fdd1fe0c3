//! The metrics, as a text of OpenMetrics 1.0: everything that is counted, put together when it is
//! asked for. Takes locks and reads `/proc`: not on a reactor's thread.

use crate::limits;
use crate::observe::Observer;
use crate::observe::exposition::{Exposition, Sort, canonical};
use crate::observe::meter::{Kind, Meter, Method, Visit};
use crate::observe::others;
use crate::observe::process::Process;
use repository::{BlobStats, DurationCounts, Measures, Stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// OpenMetrics 1.0, "Overall Structure".
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything, now.
pub(crate) fn text(observer: &Observer) -> String {
    let mut page = Exposition::default();
    page.family("sarsen_build", Sort::Facts, "", "The program that runs.");
    page.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut page, &observer.meters);
    page.counter(
        "sarsen_http_requests_abandoned",
        "",
        "Requests whose client went before there was a reply.",
        sum(observer, |meter| &meter.abandoned),
    );
    connections(&mut page, observer);
    let stats = observer.repository.stats();
    let measures = observer.repository.measures();
    commits(&mut page, &stats, &measures);
    tranlog(&mut page, &stats, &measures);
    memory(&mut page, observer, &stats, &measures);
    blobs(&mut page, &observer.repository.blob_stats());
    space(&mut page, &stats);
    archive(&mut page, observer);
    queues(&mut page, observer);
    feed(&mut page, observer);
    access(&mut page, observer);
    failures(&mut page, observer);
    handlers(&mut page, observer);
    tasks(&mut page, observer);
    if let Some(figures) = &observer.others {
        others::write(&mut page, figures);
    }
    process(&mut page, &Process::read());
    page.finish()
}

/// By what was asked for and by the first digit of the status. What never came is left out.
fn requests(page: &mut Exposition, meters: &[Arc<Meter>]) {
    page.family(
        "sarsen_http_request_duration_seconds",
        Sort::Histogram,
        "seconds",
        "From a request's head to its reply, which may still have to be sent.",
    );
    for kind in Kind::ALL {
        for method in Method::ALL {
            for (class, status) in (1..).zip(["1xx", "2xx", "3xx", "4xx", "5xx"]) {
                let mut counts = DurationCounts::default();
                meters.iter().for_each(|m| counts.add(&m.counts(Visit { kind, method }, class)));
                if counts.count() > 0 {
                    let operation = format!("{}.{}", kind.name(), method.name());
                    page.histogram(&[("operation", &operation), ("status", status)], &counts);
                }
            }
        }
    }
}

fn connections(page: &mut Exposition, observer: &Observer) {
    let connections = &observer.connections;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    page.gauge("sarsen_connections_open", "", "Open connections.", connections.count_open());
    let accepted = load(&connections.accepted);
    page.counter("sarsen_connections_accepted", "", "Connections that were accepted.", accepted);
    page.counter(
        "sarsen_connections_turned_away",
        "",
        "Connections that were closed at once: as many were open as may be, or as one client may \
         have.",
        load(&connections.turned_away),
    );
}

fn commits(page: &mut Exposition, stats: &Stats, measures: &Measures) {
    page.counter("sarsen_commits", "", "Transactions that changed something.", stats.commits);
    page.counter(
        "sarsen_conflicts",
        "",
        "Tries that lost to a conflict and were made again.",
        stats.conflicts,
    );
    page.counter(
        "sarsen_transactions_aborted",
        "",
        "Transactions that gave up by themselves: a document was not there, a condition was false.",
        measures.aborted,
    );
    let lane = stats.serial_lane;
    page.counter("sarsen_serial_lane", "", "Transactions that entered the serial lane.", lane);
    page.gauge("sarsen_commit_visible", "", "The newest commit that views see.", stats.visible);
    page.gauge("sarsen_commit_durable", "", "The newest durable commit.", stats.durable);
    page.gauge("sarsen_views_open", "", "Open views.", stats.views);
    page.counter(
        "sarsen_views_refused",
        "",
        "Views refused because they held back versions for too long.",
        stats.refused_views,
    );
    page.counter("sarsen_documents_reaped", "", "Expired documents removed.", stats.reaped);
    page.gauge(
        "sarsen_collections_ending",
        "",
        "Collections that were emptied or dropped and still have documents on disk.",
        stats.ending,
    );
}

fn tranlog(page: &mut Exposition, stats: &Stats, measures: &Measures) {
    page.family(
        "sarsen_tranlog_sync_duration_seconds",
        Sort::Histogram,
        "seconds",
        "Writes to the tranlog that ended on disk, and syncs of it.",
    );
    page.histogram(&[], &measures.syncs);
    let (bytes, writes) = (stats.tranlog_bytes, stats.tranlog_batches);
    page.counter("sarsen_tranlog_bytes", "bytes", "Appended to the tranlog, padding too.", bytes);
    page.counter("sarsen_tranlog_writes", "", "Frames written to the tranlog.", writes);
    page.family(
        "sarsen_checkpoint_duration_seconds",
        Sort::Histogram,
        "seconds",
        "Checkpoints that were written.",
    );
    page.histogram(&[], &measures.checkpoints);
    page.gauge(
        "sarsen_commit_checkpoint",
        "",
        "The commit that the storage engine holds.",
        stats.checkpoint,
    );
    page.gauge("sarsen_tables_bytes", "bytes", "The engine's tables on disk.", stats.engine_bytes);
}

fn memory(page: &mut Exposition, observer: &Observer, stats: &Stats, measures: &Measures) {
    page.family("sarsen_memory_bytes", Sort::Gauge, "bytes", "Memory in use, by use.");
    page.sample("", &[("use", "documents")], stats.memory_bytes);
    page.sample("", &[("use", "bodies")], sum(observer, |meter| &meter.body_bytes));
    page.sample("", &[("use", "replies")], sum(observer, |meter| &meter.reply_bytes));
    page.family("sarsen_memory_max_bytes", Sort::Gauge, "bytes", "As much as may be, by use.");
    page.sample("", &[("use", "documents")], stats.memory_bytes_max);
    let bodies = limits::BODY_MEMORY_BYTES_MAX * observer.meters.len();
    page.sample("", &[("use", "bodies")], bodies);
    let replies = limits::REPLY_MEMORY_BYTES_MAX * observer.meters.len();
    page.sample("", &[("use", "replies")], replies);
    page.counter(
        "sarsen_engine_reads",
        "",
        "Documents looked for in the storage engine, because memory did not have them.",
        measures.engine_reads,
    );
}

fn blobs(page: &mut Exposition, stats: &BlobStats) {
    let gauges = [
        ("sarsen_blobs", "", "Blobs on disk.", stats.count),
        ("sarsen_blobs_bytes", "bytes", "Bytes of their content.", stats.bytes),
        ("sarsen_blobs_writing", "", "Blobs that are being written.", stats.writing),
        ("sarsen_blobs_pinned", "", "Blobs that are read, or about to be named.", stats.pinned),
        ("sarsen_blobs_unnamed", "", "Blobs that may have to be removed.", stats.unnamed),
    ];
    for (name, unit, help, value) in gauges {
        page.gauge(name, unit, help, value);
    }
    let counters = [
        ("sarsen_blobs_written", "", "Blobs written.", stats.written),
        ("sarsen_blobs_written_bytes", "bytes", "Bytes of them.", stats.written_bytes),
        ("sarsen_blobs_known", "", "Blobs written that were there already.", stats.known),
        ("sarsen_blobs_reclaimed", "", "Blobs removed, which nobody named.", stats.reclaimed),
        ("sarsen_blobs_reclaimed_bytes", "bytes", "Bytes of them.", stats.reclaimed_bytes),
        ("sarsen_blobs_damaged", "", "Reads of blobs that found damage.", stats.damaged),
    ];
    for (name, unit, help, value) in counters {
        page.counter(name, unit, help, value);
    }
}

/// What cannot be told is left out.
fn space(page: &mut Exposition, stats: &Stats) {
    if stats.free_bytes < u64::MAX {
        let help = "Free on the disk of the data folder.";
        page.gauge("sarsen_disk_free_bytes", "bytes", help, stats.free_bytes);
    }
    page.gauge(
        "sarsen_disk_reserve_bytes",
        "bytes",
        "As much as is to stay free there: with less, writes are refused.",
        stats.reserve_bytes,
    );
    page.counter(
        "sarsen_writes_refused_for_space",
        "",
        "Transactions refused because the disk was nearly full.",
        stats.refused_for_space,
    );
}

/// Nothing, where there is no archive.
fn archive(page: &mut Exposition, observer: &Observer) {
    let Some(archive) = observer.repository.archive() else { return };
    let help = "The last commit in the archive.";
    page.gauge("sarsen_archive_commit", "", help, archive.archived.0);
    let help = "1 while the archive cannot be written.";
    page.gauge("sarsen_archive_failing", "", help, u64::from(archive.failure.is_some()));
}

fn queues(page: &mut Exposition, observer: &Observer) {
    let load = observer.pool.as_ref().map(|pool| pool.load());
    let off_thread = sum(observer, |meter| &meter.off_thread);
    page.family("sarsen_queue_length", Sort::Gauge, "", "What is under way or waits, by queue.");
    page.sample("", &[("queue", "blocking")], off_thread);
    if let Some(load) = load {
        page.sample("", &[("queue", "gems")], load.queued);
    }
    page.family("sarsen_queue_max", Sort::Gauge, "", "As many as are served or may wait at once.");
    let threads = limits::BLOCKING_THREADS_MAX * observer.meters.len();
    page.sample("", &[("queue", "blocking")], threads);
    if let Some(load) = load {
        page.sample("", &[("queue", "gems")], load.queue_max);
        page.gauge("sarsen_gems_alive", "", "Gems whose threads run.", load.alive);
        page.gauge("sarsen_gems_busy", "", "Gems that serve something.", load.busy);
        page.counter("sarsen_gems_lost", "", "Gems that could not be interrupted.", load.lost);
    }
}

fn feed(page: &mut Exposition, observer: &Observer) {
    let feeds = &observer.feeds;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    page.gauge("sarsen_feed_readers", "", "Streams of the feed that are open.", feeds.readers());
    let max = limits::FEED_READERS_MAX;
    page.gauge("sarsen_feed_readers_max", "", "As many as may be open.", max);
    let (events, bytes, gone) = (&feeds.figures.events, &feeds.figures.bytes, &feeds.figures.gone);
    page.counter("sarsen_feed_events", "", "Commits told, to each who reads.", load(events));
    page.counter("sarsen_feed_bytes", "bytes", "Sent to those who read the feed.", load(bytes));
    let help = "Readers that asked for, or fell behind, what is not kept any more.";
    page.counter("sarsen_feed_gone", "", help, load(gone));
    let retained = observer.repository.retained();
    let help = "After this commit the log can be read.";
    page.gauge("sarsen_log_retained_after", "", help, retained.after);
    let help = "Segments of the log that are kept and not needed for recovery.";
    page.gauge("sarsen_log_retained_bytes", "bytes", help, retained.bytes);
}

fn access(page: &mut Exposition, observer: &Observer) {
    let (tokens, refused) = observer.access.figures();
    page.gauge("sarsen_tokens", "", "Tokens that are configured.", tokens);
    page.counter("sarsen_tokens_refused", "", "Requests whose token was refused.", refused);
    page.counter(
        "sarsen_access_log_dropped",
        "",
        "Lines that the access log left out, because they came faster than they were written.",
        observer.log_drops.load(Ordering::Relaxed),
    );
}

fn failures(page: &mut Exposition, observer: &Observer) {
    let Some(kept) = observer.pool.as_ref().and_then(|pool| pool.errors()) else { return };
    let given = kept.given;
    page.counter("sarsen_errors", "", "Requests that failed in the application.", given);
    page.counter(
        "sarsen_errors_dropped",
        "",
        "Those of which nothing was kept: they came faster than they could be written down.",
        kept.dropped,
    );
}

/// Those that took the most CPU time; the others are many, and `sarsen top` has them all.
fn handlers(page: &mut Exposition, observer: &Observer) {
    let Some(pool) = &observer.pool else { return };
    let mut handlers = pool.handlers();
    handlers.sort_by_key(|handler| std::cmp::Reverse(handler.cpu_ns));
    handlers.truncate(limits::HANDLERS_TOLD_MAX);
    page.family(
        "sarsen_handler_duration_seconds",
        Sort::Histogram,
        "seconds",
        "Time in a gem, all runs of a request together, of those with the most CPU time.",
    );
    for one in &handlers {
        page.histogram(&[("handler", &one.name)], &one.took);
    }
    page.family(
        "sarsen_handler_queue_duration_seconds",
        Sort::Histogram,
        "seconds",
        "Time for which their requests waited for a gem.",
    );
    for one in &handlers {
        page.histogram(&[("handler", &one.name)], &one.queued);
    }
    type Figure = fn(&gem::HandlerFigures) -> u64;
    let families: [(&str, &str, Figure); 4] = [
        ("sarsen_handler_failures", "Their requests that failed.", |one| one.failed),
        ("sarsen_handler_conflicts", "Their runs that lost to a conflict.", |one| one.conflicts),
        ("sarsen_handler_reads", "Documents and ranges that they read.", |one| one.reads),
        ("sarsen_handler_writes", "Documents that they wrote.", |one| one.writes),
    ];
    for (name, help, figure) in families {
        page.family(name, Sort::Counter, "", help);
        for one in &handlers {
            page.sample("_total", &[("handler", &one.name)], figure(one));
        }
    }
    page.family("sarsen_handler_cpu_seconds", Sort::Counter, "seconds", "CPU time of gems.");
    for one in &handlers {
        let seconds = canonical(one.cpu_ns as f64 / 1e9);
        page.sample("_total", &[("handler", &one.name)], seconds);
    }
}

/// Only with an application, as what concerns gems.
fn tasks(page: &mut Exposition, observer: &Observer) {
    let Some(tasks) = observer.pool.as_ref().map(|pool| pool.task_figures()) else { return };
    page.family("sarsen_tasks", Sort::Gauge, "", "Tasks that are kept, by state.");
    // Those that run are among those that are kept because they have not ended.
    let waiting = tasks.waiting.saturating_sub(tasks.running);
    for (state, count) in [("waiting", waiting), ("running", tasks.running), ("dead", tasks.dead)] {
        page.sample("", &[("state", state)], count);
    }
    page.counter("sarsen_task_runs", "", "Runs of tasks that ended well.", tasks.runs);
    page.counter("sarsen_task_failures", "", "Runs of tasks that failed.", tasks.failures);
    page.gauge(
        "sarsen_task_lag_seconds",
        "seconds",
        "For how long the task that has waited longest has been due.",
        canonical(tasks.lag_ms as f64 / 1e3),
    );
}

fn process(page: &mut Exposition, process: &Process) {
    if let Some(seconds) = process.cpu_seconds {
        let help = "CPU time of the process, user and system.";
        page.counter("process_cpu_seconds", "seconds", help, canonical(seconds));
    }
    if let Some(bytes) = process.resident_bytes {
        page.gauge("process_resident_memory_bytes", "bytes", "Resident memory.", bytes);
    }
    if let Some(threads) = process.threads {
        page.gauge("process_threads", "", "Threads.", threads);
    }
    if let Some(open) = process.open_descriptors {
        page.gauge("process_open_fds", "", "Open file descriptors.", open);
    }
    if let Some(max) = process.descriptors_max {
        page.gauge("process_max_fds", "", "As many as may be open.", max);
    }
}

fn sum(observer: &Observer, gauge: impl Fn(&Meter) -> &AtomicUsize) -> usize {
    observer.meters.iter().map(|meter| gauge(meter).load(Ordering::Relaxed)).sum()
}
