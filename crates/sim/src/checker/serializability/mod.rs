//! Is there one order of all committed transactions that explains everything they saw?
//!
//! The method is that of Adya (*Weak Consistency*, PhD thesis, MIT 1999) as Elle made it practical
//! (Kingsbury and Alvaro, *Elle: Inferring Isolation Anomalies from Experimental Observations*,
//! VLDB 2020): each write makes a version of its own, so what a transaction saw tells whom it
//! depends on. An order exists if and only if those dependencies have no cycle. A cycle is reported
//! with Adya's name for it, which is also the one in Kleppmann's *Hermitage*.
//!
//! Versions of a key are ordered by the commit numbers of their writers. That order is not taken on
//! trust: who read a version and replaced it comes after its writer, and a number that says
//! otherwise closes a cycle with that read.
//!
//! Where several versions of a key are "nothing there", a read that found nothing is taken to have
//! seen the last of them in the reader's view: that explains the read as well as any other.

mod dependencies;
#[cfg(test)]
mod tests;
mod versions;

use super::graph::{Edge, Graph, Kinds};
use super::history::{End, History};
use std::collections::BTreeMap;
use std::fmt;

/// What the order must respect beside the dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Nothing: serializability as such.
    Any,
    /// Real time, too: what ended before another began comes first (strict serializability).
    RealTime,
    /// It must be the order of commit numbers, which real time must agree with.
    Commits,
}

/// The names of what can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read gave what nobody wrote.
    NeverWritten,
    /// Two commits have the same number.
    SharedNumber,
    /// The commit numbers contradict real time, though no data tells.
    WrongNumber,
    /// A transaction did not see its own write.
    OwnWrite,
    /// G1a: what an aborted transaction wrote was read.
    AbortedRead,
    /// G1b: a version was read that its own transaction had replaced.
    IntermediateRead,
    /// G0: writes of two transactions are interleaved.
    DirtyWrite,
    /// G1c: each of some transactions saw what the next wrote.
    CircularInformation,
    /// P4: two transactions read the same version and both replaced it.
    LostUpdate,
    /// G-single: one transaction saw both the state before and the state after another. OTV and
    /// PMP of Hermitage are of this kind.
    ReadSkew,
    /// G2-item: each of some transactions replaced what another had read.
    WriteSkew,
    /// G2: as G2-item, by adding to or taking from a range that another had read.
    Phantom,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverWritten => "a read of what nobody wrote",
            Self::SharedNumber => "a commit number that two share",
            Self::WrongNumber => "a commit number that real time contradicts",
            Self::OwnWrite => "an own write that was not seen",
            Self::AbortedRead => "G1a (aborted read)",
            Self::IntermediateRead => "G1b (intermediate read)",
            Self::DirtyWrite => "G0 (dirty write)",
            Self::CircularInformation => "G1c (circular information flow)",
            Self::LostUpdate => "P4 (lost update)",
            Self::ReadSkew => "G-single (read skew)",
            Self::WriteSkew => "G2-item (write skew)",
            Self::Phantom => "G2 (anti-dependency cycle over a range)",
        })
    }
}

/// One thing that is wrong with a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Its name.
    pub kind: Kind,
    /// What had to be respected for it to show: `Any` if it is wrong in itself.
    pub against: Order,
    /// Who did what.
    pub story: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let against = match self.against {
            Order::Any => "",
            Order::RealTime => " in real time",
            Order::Commits => " in the order of commits",
        };
        write!(f, "{}{against}: {}", self.kind, self.story)
    }
}

/// Everything that is wrong with `history`; of each group of transactions that depend on each
/// other in a circle, the gravest and smallest cycle. Empty if the history is serializable in the
/// way that `order` asks for.
pub fn check(history: &History, order: Order) -> Vec<Anomaly> {
    let versions = versions::Versions::of(history);
    let mut anomalies = shared_numbers(history);
    let seen = dependencies::seen(history, &versions, &mut anomalies);
    let mut graph = Graph::new(history.transactions.len());
    dependencies::add_data(&mut graph, &versions, &seen);
    if order >= Order::RealTime {
        dependencies::add_real_time(&mut graph, history);
    }
    if order >= Order::Commits {
        dependencies::add_commits(&mut graph, history);
    }
    let components = graph.components();
    anomalies.extend(components.iter().filter_map(|nodes| gravest(history, &graph, nodes)));
    anomalies
}

fn shared_numbers(history: &History) -> Vec<Anomaly> {
    let mut first = BTreeMap::new();
    let mut anomalies = Vec::new();
    for transaction in &history.transactions {
        let (End::Committed(number) | End::Unknown(Some(number))) = transaction.end else {
            continue;
        };
        if let Some(other) = first.insert(number, &transaction.name) {
            let story = format!("{other} and {} are both commit {number}", transaction.name);
            anomalies.push(Anomaly { kind: Kind::SharedNumber, against: Order::Any, story });
        }
    }
    anomalies
}

/// The gravest kind of cycle among `nodes`, and the smallest one of that kind. Adya's kinds are
/// told apart by how many anti-dependencies a cycle has; each kind is looked for by an edge that it
/// must have and those that it may have, after the graver ones have been excluded.
fn gravest(history: &History, graph: &Graph, nodes: &[usize]) -> Option<Anomaly> {
    let (ww, wr) = (Kinds::WW, Kinds::WR);
    let (rw, predicate) = (Kinds::RW, Kinds::RW_PREDICATE);
    let kinds = [
        (Kind::DirtyWrite, ww, ww),
        (Kind::CircularInformation, wr, ww | wr),
        (Kind::ReadSkew, rw | predicate, ww | wr),
        (Kind::WriteSkew, rw, ww | wr | rw),
        (Kind::Phantom, predicate, ww | wr | rw | predicate),
    ];
    let orders = [
        (Order::Any, None),
        (Order::RealTime, Some(Kinds::REAL_TIME)),
        (Order::Commits, Some(Kinds::REAL_TIME | Kinds::COMMITS)),
    ];
    for (against, order) in orders {
        for (kind, first, rest) in kinds {
            let rest = order.map_or(rest, |order| rest | order);
            if let Some(cycle) = graph.smallest_cycle(nodes, first, rest) {
                let kind = if is_lost_update(kind, &cycle) { Kind::LostUpdate } else { kind };
                return Some(Anomaly { kind, against, story: tell(history, &cycle) });
            }
        }
    }
    let cycle = graph.smallest_cycle(nodes, Kinds::REAL_TIME, Kinds::ALL)?;
    let (kind, against) = (Kind::WrongNumber, Order::Commits);
    Some(Anomaly { kind, against, story: tell(history, &cycle) })
}

/// Two that replaced each other's version of one key, which one of them had read.
fn is_lost_update(kind: Kind, cycle: &[Edge]) -> bool {
    let has = |kind| cycle.iter().any(|edge| edge.kind == kind);
    let is_one_key = cycle.iter().all(|edge| edge.key == cycle[0].key);
    kind == Kind::ReadSkew && is_one_key && has(Kinds::RW) && has(Kinds::WW) && !has(Kinds::WR)
}

fn tell(history: &History, cycle: &[Edge]) -> String {
    let name = |node: usize| history.transactions[node].name.as_str();
    let steps = cycle.iter().map(|edge| {
        let (from, to, key) = (name(edge.from), name(edge.to), &edge.key);
        match edge.kind {
            Kinds::WW => format!("{to} replaced {key} of {from}"),
            Kinds::WR => format!("{to} saw {key} of {from}"),
            Kinds::RW => format!("{to} replaced {key} that {from} had seen"),
            Kinds::RW_PREDICATE => format!("{to} put or deleted {key} in a range of {from}"),
            Kinds::REAL_TIME => format!("{to} began after {from} had ended"),
            _ => format!("{to} has a later number than {from}"),
        }
    });
    steps.collect::<Vec<_>>().join("; ")
}
