//! Who must come before whom: by data, by real time, by commit numbers.

use super::versions::{Versions, Write};
use super::{Anomaly, Kind, Order};
use crate::checker::graph::{Graph, Kinds};
use crate::checker::history::{End, History, Operation, Transaction, Version};
use std::collections::BTreeMap;

/// One committed transaction saw one version of a key of others.
#[derive(Debug)]
pub(super) struct Seen {
    reader: usize,
    key: String,
    /// How many installed versions of the key come before the next one that the reader did not see;
    /// `None` if the place of what it saw is not known.
    place: Option<usize>,
    /// Who wrote it; `None` for the nothing before the first version.
    writer: Option<usize>,
    /// Whether nothing was there.
    is_absence: bool,
    /// Whether the key was read as part of a range.
    by_scan: bool,
}

/// What a read is about.
struct Read<'a> {
    key: &'a str,
    saw: Option<Version>,
    by_scan: bool,
}

/// What committed transactions saw of others. What is wrong with a read in itself goes to
/// `anomalies`, for those that aborted, too.
pub(super) fn seen(
    history: &History,
    versions: &Versions,
    anomalies: &mut Vec<Anomaly>,
) -> Vec<Seen> {
    let mut all = Vec::new();
    for (reader, transaction) in history.transactions.iter().enumerate() {
        let mut own: BTreeMap<&str, Option<Version>> = BTreeMap::new();
        for operation in &transaction.operations {
            if let Operation::Write { key, version, deletes } = operation {
                own.insert(key, (!deletes).then_some(*version));
            }
            for read in reads(operation, versions, &own) {
                match judge(history, versions, reader, &read, &own) {
                    Ok(Some(seen)) => all.push(seen),
                    Ok(None) => {}
                    Err((kind, story)) => {
                        let story = format!("{} {story}", transaction.name);
                        anomalies.push(Anomaly { kind, against: Order::Any, story });
                    }
                }
            }
        }
    }
    all
}

/// The reads of single keys that `operation` amounts to: a scan reads all that are in its range,
/// those that are not there included.
fn reads<'a>(
    operation: &'a Operation,
    versions: &'a Versions,
    own: &BTreeMap<&'a str, Option<Version>>,
) -> Vec<Read<'a>> {
    match operation {
        Operation::Write { .. } => Vec::new(),
        Operation::Read { key, saw } => vec![Read { key, saw: *saw, by_scan: false }],
        Operation::Scan { span, saw } => {
            let known = versions.keys().map(|(key, _)| key.as_str()).chain(own.keys().copied());
            let mut all: BTreeMap<&str, Option<Version>> =
                known.filter(|key| span.contains(key)).map(|key| (key, None)).collect();
            all.extend(saw.iter().map(|(key, version)| (key.as_str(), Some(*version))));
            all.into_iter().map(|(key, saw)| Read { key, saw, by_scan: true }).collect()
        }
    }
}

/// What a read says about the order, or what is wrong with it in itself.
fn judge(
    history: &History,
    versions: &Versions,
    reader: usize,
    read: &Read<'_>,
    own: &BTreeMap<&str, Option<Version>>,
) -> Result<Option<Seen>, (Kind, String)> {
    let Read { key, saw, by_scan } = *read;
    if let Some(&expected) = own.get(key) {
        if saw == expected {
            return Ok(None);
        }
        let story = format!("saw {saw:?} of {key} after its own write of {expected:?}");
        return Err((Kind::OwnWrite, story));
    }
    let transaction = &history.transactions[reader];
    let seen = |place, writer| {
        let key = key.to_owned();
        Seen { reader, key, place, writer, is_absence: saw.is_none(), by_scan }
    };
    let installed = versions.installed(key);
    let Some(version) = saw else {
        let place = nothing_before(installed, transaction);
        let writer = place.checked_sub(1).map(|last| installed[last].transaction);
        return Ok(is_in_graph(transaction).then(|| seen(Some(place), writer)));
    };
    let Some(write) = versions.writer(key, version).filter(|write| !write.deletes) else {
        return Err((Kind::NeverWritten, format!("saw {version:?} of {key}")));
    };
    let writer = &history.transactions[write.transaction];
    let of = format!("saw {version:?} of {key} by {}", writer.name);
    if writer.end == End::Aborted {
        return Err((Kind::AbortedRead, format!("{of}, which aborted")));
    }
    if !write.is_last {
        return Err((Kind::IntermediateRead, format!("{of}, which replaced it itself")));
    }
    let place = installed.iter().position(|installed| installed.version == version);
    Ok(is_in_graph(transaction).then(|| seen(place.map(|p| p + 1), Some(write.transaction))))
}

/// Only what took effect must fit into the order.
fn is_in_graph(transaction: &Transaction) -> bool {
    !matches!(transaction.end, End::Aborted | End::Unknown(None))
}

/// The place after the last version in the reader's view that is "nothing there"; 0 for the nothing
/// before the first version.
fn nothing_before(installed: &[Write], reader: &Transaction) -> usize {
    let may_be = |write: &Write| write.deletes && write.number.is_some_and(|n| n <= reader.view);
    installed.iter().rposition(may_be).map_or(0, |last| last + 1)
}

/// Adds the dependencies between what was written and seen (Adya 1999, §4.4).
pub(super) fn add_data(graph: &mut Graph, versions: &Versions, all: &[Seen]) {
    for (key, writes) in versions.keys() {
        for pair in writes.windows(2) {
            graph.add(pair[0].transaction, pair[1].transaction, Kinds::WW, key);
        }
    }
    for seen in all {
        if let Some(writer) = seen.writer {
            graph.add(writer, seen.reader, Kinds::WR, &seen.key);
        }
        let installed = versions.installed(&seen.key);
        let mut later = seen.place.into_iter().flat_map(|place| &installed[place..]);
        // Deleting what is not there changes nothing for who saw that it was not there.
        if let Some(next) = later.find(|write| !(seen.is_absence && write.deletes)) {
            // What a range holds changes when a key comes or goes, not when its document changes.
            let changes_range = seen.by_scan && (seen.is_absence || next.deletes);
            let kind = if changes_range { Kinds::RW_PREDICATE } else { Kinds::RW };
            graph.add(seen.reader, next.transaction, kind, &seen.key);
        }
    }
}

/// Adds that who had ended when another began comes first. Only the latest of those that had ended
/// get an edge; the others come before them.
pub(super) fn add_real_time(graph: &mut Graph, history: &History) {
    let mut instants = Vec::new();
    for (node, transaction) in history.transactions.iter().enumerate() {
        if is_in_graph(transaction) {
            instants.push((transaction.began, false, node));
            // Nobody has waited for an end that is not known.
            if !matches!(transaction.end, End::Unknown(_)) {
                instants.push((transaction.ended, true, node));
            }
        }
    }
    instants.sort_unstable();
    let mut latest: Vec<usize> = Vec::new();
    for (_, is_end, node) in instants {
        if is_end {
            let began = history.transactions[node].began;
            latest.retain(|&other| history.transactions[other].ended >= began);
            latest.push(node);
        } else {
            latest.iter().for_each(|&other| graph.add(other, node, Kinds::REAL_TIME, ""));
        }
    }
}

/// Adds the order of commit numbers. Who wrote nothing comes right after the last commit of its
/// view, in no order with others of the same view.
pub(super) fn add_commits(graph: &mut Graph, history: &History) {
    let mut committed = BTreeMap::new();
    for (node, transaction) in history.transactions.iter().enumerate() {
        if let End::Committed(number) | End::Unknown(Some(number)) = transaction.end {
            if let Some((_, &before)) = committed.range(..number).next_back() {
                graph.add(before, node, Kinds::COMMITS, "");
            }
            if let Some((_, &after)) = committed.range(number + 1..).next() {
                graph.add(node, after, Kinds::COMMITS, "");
            }
            committed.insert(number, node);
        }
    }
    for (node, transaction) in history.transactions.iter().enumerate() {
        let (End::Unchanged, view) = (transaction.end, transaction.view) else { continue };
        if let Some((_, &before)) = committed.range(..=view).next_back() {
            graph.add(before, node, Kinds::COMMITS, "");
        }
        if let Some((_, &after)) = committed.range(view + 1..).next() {
            graph.add(node, after, Kinds::COMMITS, "");
        }
    }
}
