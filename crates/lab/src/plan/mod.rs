//! What a run is to do: the operations, who starts them and when, and what makes the run fail. A
//! plan is plain data. The one-liners `bench` and `siege` make small ones, a scenario's file larger
//! ones; the engine runs any of them.

mod audit;
mod channel;
mod check;
mod check_steps;
mod data;
mod entries;
mod items;
mod json_path;
mod load;
mod mix;
mod observe;
mod operation;
mod pacing;
mod selector;
mod template;
mod transport;
mod validity;
mod zipf;

pub use audit::{Audit, Keeps, List, Number, Pages, Promise};
pub use channel::{ChannelKind, ChannelStep, OpenStep, ReceiveStep, SendStep};
pub use check::PlanError;
pub(crate) use check_steps::check_field;
pub use data::{DataError, DataFile, Order, Rows};
pub(crate) use entries::HOOK_WORKERS;
pub use entries::{ContentKind, Entries, MadeKind, Size};
pub use items::{Class, Items, KeyLengths, Values};
pub(crate) use json_path::JsonStep;
pub use json_path::{JsonPath, JsonPathError};
pub use load::{Arrivals, Load, Phases, Stage};
pub(crate) use mix::Position;
pub use mix::{Mix, MixError};
pub use observe::{Endpoint, Observe, Process};
pub use operation::{
    AtomPlace, Body, Check, Extract, ExtractFrom, HttpStep, Keys, MemcachedCommand, MemcachedStep,
    Operation, Part, Resources, Step, TimeToLive, Turn, Variable,
};
pub use pacing::{Distribution, Pacing};
pub(crate) use selector::{Chain, Combinator, Match, Test};
pub use selector::{Selector, SelectorError};
pub use template::{Coding, Piece, Template};
pub use transport::{Bandwidth, Protocol, Transport, Trust};
pub use validity::{LIMITS, Limit, LimitError, Validity};
pub use zipf::Zipf;

use crate::target::{Origin, Target};
use std::time::Duration;

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is called in reports and in the archive.
    pub name: String,
    /// Fixes everything that is drawn: the same seed gives each user the same operations with the
    /// same numbers in them.
    pub seed: u64,
    /// Threads that the users are spread over.
    pub threads: usize,
    /// Who starts operations, and when.
    pub load: Load,
    /// How long, and which part is measured.
    pub phases: Phases,
    /// The servers that steps name.
    pub origins: Vec<Origin>,
    /// How requests travel to them.
    pub transport: Transport,
    /// What users do.
    pub operations: Vec<Operation>,
    /// Which operation comes next.
    pub mix: Mix,
    /// What goes on beside the mix, at a rate of its own and measured apart.
    pub background: Vec<Background>,
    /// What `{key}` and `{other}` are drawn from.
    pub keys: Keys,
    /// What is in the caches.
    pub items: Items,
    /// What made entries and media are like.
    pub entries: Entries,
    /// What each user remembers, beside cookies and validators.
    pub variables: Vec<Variable>,
    /// What templates are filled in from.
    pub data: Vec<DataFile>,
    /// Whether users forget their cookies before every operation, so that the server sees a new
    /// session in each. The connection is kept.
    pub new_session: bool,
    /// Operations after which a user of the closed model goes.
    pub repetitions: Option<u64>,
    /// Longest time of a request, connecting included.
    pub request_timeout: Duration,
    /// Longest wait for what is in flight when the run ends. What is not answered then is an error
    /// of class timeout.
    pub drain: Duration,
    /// What makes the run FAILED.
    pub gates: Vec<Gate>,
    /// What makes it INVALID.
    pub validity: Validity,
    /// A process whose CPU time is read before and after the measured interval.
    pub server_pid: Option<u32>,
    /// What is read once a second beside the load.
    pub observe: Observe,
    /// What is looked for afterwards.
    pub audit: Audit,
}

/// An operation at an even rate of its own, by one user of its own.
#[derive(Clone, Debug)]
pub struct Background {
    /// Which, of the plan's operations. It has no share in the mix.
    pub operation: usize,
    /// How often a second.
    pub rate: f64,
}

/// A bound that a run must keep.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// A percentile of the response times of an operation (none: of all together) in ms.
    Latency {
        /// Which operation.
        operation: Option<usize>,
        /// From 0 to 1.
        quantile: f64,
        /// At most so many ms.
        at_most_ms: f64,
    },
    /// The share of operations that failed, from 0 to 1.
    Errors {
        /// At most.
        at_most: f64,
    },
    /// Operations a second.
    Rate {
        /// At least.
        at_least: f64,
    },
    /// The share of each operation differs from the mix by at most so many percentage points.
    Mix {
        /// At most.
        at_most_points: f64,
    },
    /// The mean cycle time differs from the targeted one by at most this share of it.
    Cycle {
        /// At most.
        at_most: f64,
    },
}

impl Plan {
    /// 10 users on one thread send GET to `target` for 10 s, after 1 s of ramp-up.
    pub fn hit(target: Target) -> Self {
        let step = HttpStep::new("GET", Template::of_hit(target.path().as_bytes()));
        let steps = vec![Step::Http(Box::new(step))];
        let operation = Operation { name: "hit".to_owned(), steps, pacing: Pacing::None };
        let measured = Duration::from_secs(10);
        Self {
            name: target.to_string(),
            seed: 1,
            threads: 1,
            load: Load::Closed { users: vec![Stage::flat(10.0, measured)] },
            phases: Phases {
                ramp_up: Duration::from_secs(1),
                measured,
                ramp_down: Duration::ZERO,
                count: None,
            },
            origins: vec![target.origin()],
            transport: Transport::default(),
            operations: vec![operation],
            mix: Mix::Flat(vec![1.0]),
            background: Vec::new(),
            keys: Keys { count: 10_000, zipf: 0.0 },
            items: Items::default(),
            entries: Entries::default(),
            variables: Vec::new(),
            data: Vec::new(),
            new_session: false,
            repetitions: None,
            request_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            gates: Vec::new(),
            validity: Validity::default(),
            server_pid: None,
            observe: Observe::default(),
            audit: Audit::default(),
        }
    }

    /// Checks that it can be run.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        check::check(self)
    }
}
