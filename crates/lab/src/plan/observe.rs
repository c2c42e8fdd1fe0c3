//! What is watched beside the load: processes, this machine, and what servers tell of themselves.

use crate::target::Target;

/// What is read once a second of the run. The generator is always among it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    /// Processes on this machine.
    pub processes: Vec<Process>,
    /// Pages of metrics, as OpenMetrics or Prometheus write them.
    pub endpoints: Vec<Endpoint>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// What its series is called.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Whether the processes that it started, and those that these did, are counted with it.
    pub with_children: bool,
}

/// A page of metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// What its series is called.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// Fields that are sent with the request, a token perhaps.
    pub headers: Vec<(String, String)>,
    /// The metrics that are wanted: a name, which is the sum over its labels, or one with its
    /// labels as they stand on the page. None: of Sarsen those that the lab knows, of others all up
    /// to a bound.
    pub only: Vec<String>,
}
