//! The one-liner: the same request again and again. It makes the plan of `sarsen bench`, has it
//! carried out and reports.

use crate::engine::{self, RunError, Watch};
use crate::measure::Interval;
use crate::plan::{
    Arrivals, Body, Gate, Keys, Load, Phases, Plan, Stage, Step, Template, Transport,
};
use crate::progress::Tick;
use crate::report::Report;
use crate::target::Target;
use std::time::Duration;

/// What is sent, by how many or how often, and for how long.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Where the requests go.
    pub target: Target,
    /// What is sent.
    pub request: Request,
    /// How it travels.
    pub transport: Transport,
    /// Users, each with a cookie jar, and with a connection unless they share it; in the open model
    /// the most at the same time.
    pub users: usize,
    /// Requests a second, whatever the server does; none: each user sends its next request when the
    /// last is answered.
    pub rate: Option<f64>,
    /// How they are spread.
    pub arrivals: Arrivals,
    /// In place of that one rate or, without one, number of users: from what to what it moves, in
    /// parts of the measured interval that are of the same length.
    pub levels: Vec<(f64, f64)>,
    /// Threads the users are spread over.
    pub threads: usize,
    /// Time before the measured interval, in which the users start one after another.
    pub ramp_up: Duration,
    /// The measured interval.
    pub duration: Duration,
    /// Requests after which the measured interval ends early. Ramp-up is not counted.
    pub count: Option<u64>,
    /// Whether users forget their cookies before every hit, so that the server sees a new session
    /// in each. The connection is kept.
    pub new_session: bool,
    /// `{key}` becomes a number from 0 to `keys` - 1, each as likely as the other.
    pub keys: u64,
    /// Fixes the numbers each user draws: the same seed gives the same requests.
    pub seed: u64,
    /// Longest time of a hit, connecting included.
    pub request_timeout: Duration,
    /// Longest wait for the requests in flight when the measured interval ends. What is not
    /// answered then is an error of class timeout.
    pub drain: Duration,
    /// A process whose CPU time is read before and after the measured interval.
    pub server_pid: Option<u32>,
    /// What makes the run FAILED.
    pub gates: Vec<Gate>,
}

/// The request of every hit. In the target's path, in values of headers and in the body, `{key}`
/// becomes a number drawn for the hit, in decimal, `{other}` another one (the same if there is no
/// other), and `{nonce}` 16 hexadecimal digits that differ in every hit: a server may see that a
/// document put again unchanged needs no write.
#[derive(Clone, Debug)]
pub struct Request {
    /// "GET", "PUT", ... Case matters.
    pub method: String,
    /// Fields besides `Host`, which may be among them and then replaces the target's.
    pub headers: Vec<(String, String)>,
    /// The body. Its length is stated unless it is empty and the method expects none.
    pub body: Vec<u8>,
}

impl Hit {
    /// 10 users on one thread send GET for 10 s, after 1 s of ramp-up.
    pub fn new(target: Target) -> Self {
        let request = Request { method: "GET".to_owned(), headers: Vec::new(), body: Vec::new() };
        Self {
            target,
            request,
            transport: Transport::default(),
            users: 10,
            rate: None,
            arrivals: Arrivals::Poisson,
            levels: Vec::new(),
            threads: 1,
            ramp_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            count: None,
            new_session: false,
            keys: 10_000,
            seed: 1,
            request_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            server_pid: None,
            gates: Vec::new(),
        }
    }

    /// The plan of it.
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::hit(self.target.clone());
        if let [Step::Http(step)] = plan.operations[0].steps.as_mut_slice() {
            step.method.clone_from(&self.request.method);
            let template = |text: &str| Template::of_hit(text.as_bytes());
            let headers = self.request.headers.iter();
            step.headers = headers.map(|(name, value)| (name.clone(), template(value))).collect();
            step.body = match self.request.body.as_slice() {
                [] => Body::Empty,
                body => Body::Template(Template::of_hit(body)),
            };
        }
        plan.load = match self.rate {
            None => Load::Closed { users: self.stages(self.users as f64) },
            Some(rate) => Load::Open {
                rate: self.stages(rate),
                arrivals: self.arrivals,
                in_flight_max: self.users,
            },
        };
        plan.phases = Phases {
            ramp_up: self.ramp_up,
            measured: self.duration,
            ramp_down: Duration::ZERO,
            count: self.count,
        };
        Plan {
            transport: self.transport.clone(),
            threads: self.threads,
            new_session: self.new_session,
            keys: Keys { count: self.keys, zipf: 0.0 },
            seed: self.seed,
            request_timeout: self.request_timeout,
            drain: self.drain,
            server_pid: self.server_pid,
            gates: self.gates.clone(),
            ..plan
        }
    }

    fn stages(&self, level: f64) -> Vec<Stage> {
        if self.levels.is_empty() {
            return vec![Stage::flat(level, self.duration)];
        }
        let duration = self.duration / u32::try_from(self.levels.len()).unwrap_or(u32::MAX);
        self.levels.iter().map(|(from, to)| Stage { from: *from, to: *to, duration }).collect()
    }

    /// Runs it to its end and reports. Takes the ramp-up, the duration and at most the drain.
    /// `watch` is called about once per second.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(&self, watch: impl FnMut(&Tick)) -> Result<Report, RunError> {
        let plan = self.plan();
        let findings = engine::run(&plan, &mut OnlyTicks(watch))?;
        Ok(Report::new(&plan, &findings))
    }
}

struct OnlyTicks<W>(W);

impl<W: FnMut(&Tick)> Watch for OnlyTicks<W> {
    fn tick(&mut self, tick: &Tick) {
        (self.0)(tick);
    }

    fn second(&mut self, _: &Interval) {}
}
