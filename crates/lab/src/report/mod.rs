//! What a run found, with the reasons to doubt it. It is given as text for people and as JSON
//! for programs; both say the same.

mod json;
mod text;

use crate::bench::{Harvest, Phases, Plan};
use crate::limits::GENERATOR_CPU_SHARE_MAX;
use crate::tally::Tally;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// What a run found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The URL.
    pub target: String,
    /// The method of the requests.
    pub method: String,
    /// How many users there were.
    pub users: usize,
    /// Whether each hit was a new session.
    pub new_session: bool,
    /// How long the ramp-up was.
    pub ramp_up_time: Duration,
    /// How long the measured interval was: what was planned, or less if the planned number of
    /// requests was reached earlier.
    pub duration: Duration,
    /// Requests sent and finished in the measured interval. All figures without another name
    /// are about these.
    pub measured: Tally,
    /// Requests sent before it.
    pub ramp_up: Tally,
    /// Requests sent in it and finished after it.
    pub drain: Tally,
    /// Connections opened, ramp-up included. The time to open one is in no latency.
    pub connections: u64,
    /// CPU time the generator used in the measured interval; nothing if it cannot be read.
    pub generator_cpu: Option<Duration>,
    /// CPU time the server used in the measured interval.
    pub server_cpu: Option<Duration>,
    /// Why the figures may not say what they seem to; none if the run is valid.
    pub reasons: Vec<String>,
}

/// CPU time of the server in the measured interval.
pub(crate) enum ServerCpu {
    NotAsked,
    Used(Duration),
    /// It could be read at first, and then not.
    Lost(String),
}

impl Report {
    pub(crate) fn new(
        plan: &Plan,
        begin: Instant,
        harvests: Vec<Harvest>,
        server_cpu: ServerCpu,
    ) -> Self {
        let mut phases = Phases::new();
        harvests.iter().for_each(|harvest| phases.merge(&harvest.phases));
        let closed = harvests.iter().map(|harvest| harvest.closed).max().unwrap_or(begin);
        let mut reasons = doubts(&phases);
        let generator_cpu = generator_cpu(&harvests, &mut reasons);
        let server_cpu = match server_cpu {
            ServerCpu::NotAsked => None,
            ServerCpu::Used(used) => Some(used),
            ServerCpu::Lost(error) => {
                reasons.push(format!("the server's CPU time could not be read: {error}"));
                None
            }
        };
        Self {
            target: plan.target.to_string(),
            method: plan.request.method.clone(),
            users: plan.users,
            new_session: plan.new_session,
            ramp_up_time: plan.ramp_up,
            duration: closed.saturating_duration_since(begin),
            measured: phases.measured,
            ramp_up: phases.ramp_up,
            drain: phases.drain,
            connections: harvests.iter().map(|harvest| harvest.connections).sum(),
            generator_cpu,
            server_cpu,
            reasons,
        }
    }

    /// Whether the figures can be taken for what they seem to be.
    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Errors of the whole run: ramp-up, measured interval and drain.
    pub fn errors_in_all(&self) -> u64 {
        [&self.ramp_up, &self.measured, &self.drain]
            .map(|tally| tally.errors().total())
            .iter()
            .sum()
    }

    /// Successful requests per second of the measured interval.
    pub fn requests_per_second(&self) -> f64 {
        match self.duration.as_secs_f64() {
            0.0 => 0.0,
            seconds => self.measured.successes() as f64 / seconds,
        }
    }

    /// CPU time the generator used per request, in µs.
    pub fn generator_us_per_request(&self) -> Option<f64> {
        self.us_per_request(self.generator_cpu?)
    }

    /// CPU time the server used per request, in µs.
    pub fn server_us_per_request(&self) -> Option<f64> {
        self.us_per_request(self.server_cpu?)
    }

    fn us_per_request(&self, used: Duration) -> Option<f64> {
        let requests = self.measured.requests();
        (requests > 0).then(|| used.as_secs_f64() * 1e6 / requests as f64)
    }

    /// An aligned table for people, ending with a newline.
    pub fn to_text(&self) -> String {
        text::render(self)
    }

    /// One object. Latencies are in ms, CPU times in µs; a percentile of too few samples is null.
    pub fn to_json(&self) -> Value {
        json::render(self)
    }
}

/// Why the figures of the measured interval may mislead.
fn doubts(phases: &Phases) -> Vec<String> {
    let mut reasons = Vec::new();
    if phases.measured.successes() == 0 {
        let reason = "no request succeeded in the measured interval; measure for longer";
        reasons.push(reason.to_owned());
    }
    // A stall that outlasts the interval would otherwise be in no percentile. Twice, because the
    // slowest of all requests is now and then among the last by chance.
    let slowest = phases.measured.latency().max_ms();
    let in_flight = phases.drain.latency().max_ms();
    if let (Some(slowest), Some(in_flight)) = (slowest, in_flight)
        && in_flight > 2.0 * slowest
    {
        reasons.push(format!(
            "a request in flight at the end took {in_flight:.3} ms, more than twice as long as any \
             measured one; measure for longer"
        ));
    }
    if phases.drain.errors().total() > 0 {
        reasons.push(format!(
            "requests in flight at the end failed and are in no figure: {}; measure for longer",
            phases.drain.errors()
        ));
    }
    reasons
}

/// The CPU time of all generator threads, and a doubt if one of them was nearly always busy.
fn generator_cpu(harvests: &[Harvest], reasons: &mut Vec<String>) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut largest_share = 0.0f64;
    for harvest in harvests {
        match &harvest.cpu {
            Ok(cpu) => {
                total += cpu.used;
                let share = cpu.used.as_secs_f64() / cpu.elapsed.as_secs_f64();
                largest_share = largest_share.max(share);
            }
            Err(error) => {
                reasons.push(format!("the generator's CPU time could not be read: {error}"));
                return None;
            }
        }
    }
    if largest_share > GENERATOR_CPU_SHARE_MAX {
        reasons.push(format!(
            "the generator may be the bottleneck: one of its threads used {:.0} % of a core; use \
             more threads",
            largest_share * 100.0
        ));
    }
    Some(total)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::ThreadCpu;
    use crate::http1::{Failure, Reply};

    /// A run of 2 s: 600 successes of 1 ms, one 404 and one timeout, 10 bytes each.
    fn harvest(begin: Instant) -> Harvest {
        let mut phases = Phases::new();
        let ok = Ok(Reply { status: 200, keep_alive: true });
        for _ in 0..600 {
            phases.measured.record(&ok, Duration::from_millis(1));
        }
        let missing = Ok(Reply { status: 404, keep_alive: true });
        phases.measured.record(&missing, Duration::from_millis(1));
        phases.measured.record(&Err(Failure::Timeout), Duration::from_secs(10));
        phases.measured.receive(6010);
        let used = Duration::from_micros(602 * 50);
        Harvest {
            phases,
            connections: 3,
            closed: begin + Duration::from_secs(2),
            cpu: Ok(ThreadCpu { used, elapsed: Duration::from_secs(2) }),
        }
    }

    pub(crate) fn report(change: impl FnOnce(&mut Harvest), server_cpu: ServerCpu) -> Report {
        let plan = Plan::new("http://localhost:8080/counter".parse().unwrap());
        let begin = Instant::now();
        let mut harvest = harvest(begin);
        change(&mut harvest);
        Report::new(&plan, begin, vec![harvest], server_cpu)
    }

    #[test]
    fn rates_are_per_second_and_costs_per_request() {
        let used = ServerCpu::Used(Duration::from_micros(602 * 20));
        let report = report(|_| {}, used);
        assert_eq!(report.requests_per_second(), 300.0);
        let close = |got: Option<f64>, us: f64| (got.unwrap() - us).abs() < 1e-6;
        assert!(close(report.generator_us_per_request(), 50.0));
        assert!(close(report.server_us_per_request(), 20.0));
        assert_eq!(report.errors_in_all(), 2);
        assert!(report.is_valid(), "{:?}", report.reasons);
    }

    #[test]
    fn threads_add_up() {
        let plan = Plan::new("http://localhost/".parse().unwrap());
        let begin = Instant::now();
        let harvests = vec![harvest(begin), harvest(begin)];
        let report = Report::new(&plan, begin, harvests, ServerCpu::NotAsked);
        assert_eq!(report.measured.requests(), 1204);
        assert_eq!((report.requests_per_second(), report.connections), (600.0, 6));
        assert_eq!(report.generator_cpu, Some(Duration::from_micros(1204 * 50)));
    }

    fn only_reason(report: &Report) -> &str {
        assert_eq!(report.reasons.len(), 1, "{:?}", report.reasons);
        assert!(!report.is_valid());
        &report.reasons[0]
    }

    #[test]
    fn doubts_a_busy_generator() {
        let busy = |harvest: &mut Harvest| {
            let used = Duration::from_millis(1850);
            harvest.cpu = Ok(ThreadCpu { used, elapsed: Duration::from_secs(2) });
        };
        let report = report(busy, ServerCpu::NotAsked);
        assert!(only_reason(&report).contains("the generator may be the bottleneck"));
    }

    #[test]
    fn doubts_what_the_end_cut_off() {
        let ok = Ok(Reply { status: 200, keep_alive: true });
        let slow = |harvest: &mut Harvest| {
            harvest.phases.drain.record(&ok, Duration::from_millis(50));
        };
        let slow = report(slow, ServerCpu::NotAsked);
        assert!(only_reason(&slow).contains("in flight at the end took 50."));
        let failed = |harvest: &mut Harvest| {
            harvest.phases.drain.record(&Err(Failure::Timeout), Duration::ZERO);
        };
        let failed = report(failed, ServerCpu::NotAsked);
        assert!(only_reason(&failed).contains("in flight at the end failed"));
        assert_eq!(failed.errors_in_all(), 3);
    }

    #[test]
    fn doubts_a_run_that_measured_nothing() {
        let nothing = report(|h| h.phases.measured = Tally::new(), ServerCpu::NotAsked);
        assert!(only_reason(&nothing).contains("no request succeeded"));
        assert_eq!(nothing.requests_per_second(), 0.0);
        assert_eq!(nothing.generator_us_per_request(), None);
    }

    #[test]
    fn says_when_cpu_time_is_missing() {
        let lost = report(|_| {}, ServerCpu::Lost("gone".to_owned()));
        assert!(only_reason(&lost).ends_with("could not be read: gone"));
        assert_eq!(lost.server_us_per_request(), None);
        let unread =
            report(|h| h.cpu = Err(std::io::ErrorKind::NotFound.into()), ServerCpu::NotAsked);
        assert!(only_reason(&unread).contains("the generator's CPU time"));
        assert_eq!(unread.generator_us_per_request(), None);
    }
}
