//! A few figures of a server for whoever watches it from the same process (`sarsen top`): what
//! `metrics` tells to others in full.

use super::Observer;
use super::meter::{Kind, Method, Visit};
use super::process::Process;
use repository::DurationCounts;
use std::sync::Arc;

/// Reads the figures of a server.
#[derive(Clone)]
pub struct Watcher(Arc<Observer>);

/// What was counted since the server started, and what is so now.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerFigures {
    /// Requests of every kind, from their head to their reply.
    pub requests: DurationCounts,
    /// Those whose status was 500 or above.
    pub failed: u64,
    /// Open connections.
    pub connections: usize,
    /// Memory of the process, where the system tells.
    pub resident_bytes: Option<u64>,
    /// CPU time of the process, in seconds.
    pub cpu_seconds: Option<f64>,
}

/// The class of statuses that tell of a failure of the server or the application.
const FAILED: usize = 5;

impl Watcher {
    pub(crate) fn new(observer: &Arc<Observer>) -> Self {
        Self(Arc::clone(observer))
    }

    /// Whether a token is configured, so that clients must show one.
    pub fn has_tokens(&self) -> bool {
        self.0.access.is_configured()
    }

    /// Reads them. Takes locks and reads `/proc`.
    pub fn read(&self) -> ServerFigures {
        let observer = &self.0;
        let (mut requests, mut failed) = (DurationCounts::default(), 0);
        for meter in &observer.meters {
            for kind in Kind::ALL {
                for method in Method::ALL {
                    for class in 1..=FAILED {
                        let counts = meter.counts(Visit { kind, method }, class);
                        requests.add(&counts);
                        failed += if class == FAILED { counts.count() } else { 0 };
                    }
                }
            }
        }
        let process = Process::read();
        ServerFigures {
            requests,
            failed,
            connections: observer.connections.count_open(),
            resident_bytes: process.resident_bytes,
            cpu_seconds: process.cpu_seconds,
        }
    }
}
