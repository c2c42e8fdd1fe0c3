//! What two looks at a server came to: rates and percentiles of the time between them.

use repository::DURATION_BOUNDS_US;
use serde_json::{Value, json};

/// A look, and the one before.
pub struct Look {
    now: Value,
    before: Value,
}

/// One handler's line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub name: String,
    pub requests_per_s: f64,
    /// Of the time between the looks, how much of one processor.
    pub cpu_percent: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub queued_p99_us: f64,
    pub failed: u64,
    pub conflicts: u64,
    pub reads: u64,
    pub writes: u64,
}

impl Look {
    /// Without a look before, everything is since the server's start.
    pub fn new(now: Value, before: Option<Value>) -> Self {
        // Another server has taken the place of the one before.
        let before = before.filter(|before| number(before, "up_ms") < number(&now, "up_ms"));
        Self { before: before.unwrap_or(Value::Null), now }
    }

    /// The time between the looks.
    pub fn seconds(&self) -> f64 {
        self.since("up_ms") as f64 / 1e3
    }

    fn since(&self, name: &str) -> u64 {
        number(&self.now, name).saturating_sub(number(&self.before, name))
    }

    /// What is so now.
    pub fn now(&self, name: &str) -> u64 {
        number(&self.now, name)
    }

    /// What is so now of the gems; `None` if there is no application.
    pub fn gems(&self, name: &str) -> Option<u64> {
        self.now["gems"].as_object().map(|_| number(&self.now["gems"], name))
    }

    /// How many a second.
    pub fn rate(&self, name: &str) -> f64 {
        per_second(self.since(name), self.seconds())
    }

    /// Requests a second, and the median and the 99th percentile of their time, in microseconds.
    pub fn requests(&self) -> (f64, f64, f64) {
        let buckets = buckets(&self.now["requests"], &self.before["requests"]);
        let rate = per_second(buckets.iter().sum(), self.seconds());
        (rate, quantile(&buckets, 0.5), quantile(&buckets, 0.99))
    }

    /// The 99th percentile of writes to the tranlog, in microseconds.
    pub fn sync_p99_us(&self) -> f64 {
        quantile(&buckets(&self.now["syncs"], &self.before["syncs"]), 0.99)
    }

    /// The handlers that were at work.
    pub fn handlers(&self) -> Vec<Line> {
        let before = |name: &str| {
            let all = self.before["handlers"].as_array();
            all.and_then(|all| all.iter().find(|one| one["name"] == name)).unwrap_or(&Value::Null)
        };
        let all = self.now["handlers"].as_array();
        all.into_iter()
            .flatten()
            .map(|now| {
                let name = now["name"].as_str().unwrap_or_default();
                self.line(name, now, before(name))
            })
            .filter(|line| line.requests_per_s > 0.0)
            .collect()
    }

    fn line(&self, name: &str, now: &Value, before: &Value) -> Line {
        let since = |name| number(now, name).saturating_sub(number(before, name));
        let took = buckets(&now["took"], &before["took"]);
        let queued = buckets(&now["queued"], &before["queued"]);
        Line {
            name: name.to_owned(),
            requests_per_s: per_second(took.iter().sum(), self.seconds()),
            cpu_percent: per_second(since("cpu_us"), self.seconds()) / 1e4,
            p50_us: quantile(&took, 0.5),
            p99_us: quantile(&took, 0.99),
            queued_p99_us: quantile(&queued, 0.99),
            failed: since("failed"),
            conflicts: since("conflicts"),
            reads: since("reads"),
            writes: since("writes"),
        }
    }

    /// As JSON: totals since the start, what is so now, and the rates and percentiles.
    pub fn to_json(&self) -> Value {
        let (rate, p50_us, p99_us) = self.requests();
        let mut json = self.now.clone();
        json["rates"] = json!({
            "seconds": self.seconds(),
            "requests_per_s": rate,
            "requests_p50_us": p50_us,
            "requests_p99_us": p99_us,
            "commits_per_s": self.rate("commits"),
            "conflicts_per_s": self.rate("conflicts"),
            "handlers": self.handlers().iter().map(|line| json!({
                "name": line.name,
                "requests_per_s": line.requests_per_s,
                "cpu_percent": line.cpu_percent,
                "p50_us": line.p50_us,
                "p99_us": line.p99_us,
                "queued_p99_us": line.queued_p99_us,
            })).collect::<Vec<_>>(),
        });
        json
    }
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_default()
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// What was counted between the looks.
fn buckets(now: &Value, before: &Value) -> Vec<u64> {
    let all = |of: &Value| -> Vec<u64> {
        let list = of["buckets"].as_array();
        list.into_iter().flatten().map(|count| count.as_u64().unwrap_or_default()).collect()
    };
    let before = all(before);
    let old = |at: usize| before.get(at).copied().unwrap_or_default();
    all(now).iter().enumerate().map(|(at, count)| count.saturating_sub(old(at))).collect()
}

/// The duration below which that part of the counted ones lies, in microseconds: between the bounds
/// of a bucket they are taken to lie evenly. What is beyond the last bound counts as that.
fn quantile(buckets: &[u64], part: f64) -> f64 {
    let wanted = buckets.iter().sum::<u64>() as f64 * part;
    let (mut below, mut lower) = (0.0, 0.0);
    for (at, count) in buckets.iter().enumerate() {
        let upper = DURATION_BOUNDS_US.get(at).map_or(lower, |bound| *bound as f64);
        let count = *count as f64;
        if count > 0.0 && below + count >= wanted {
            return lower + (upper - lower) * (wanted - below) / count;
        }
        (below, lower) = (below + count, upper);
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(up_ms: u64, requests: u64, cpu_us: u64) -> Value {
        let took = json!({ "buckets": [0, requests, 0], "total_ns": 0 });
        json!({
            "up_ms": up_ms, "commits": 10 * up_ms, "requests": took,
            "handlers": [{ "name": "GET /", "cpu_us": cpu_us, "took": took, "queued": took }],
        })
    }

    #[test]
    fn rates_are_those_of_the_time_between() {
        let look = Look::new(told(3_000, 500, 900_000), Some(told(1_000, 100, 400_000)));
        assert_eq!(look.seconds(), 2.0);
        assert_eq!(look.rate("commits"), 10_000.0);
        assert_eq!(look.requests(), (200.0, 37.5, 49.75));
        let [line] = &look.handlers()[..] else { panic!("one handler") };
        assert_eq!((line.requests_per_s, line.cpu_percent), (200.0, 25.0));
    }

    #[test]
    fn a_server_that_was_started_anew_is_looked_at_from_its_start() {
        let look = Look::new(told(1_000, 100, 0), Some(told(9_000, 5_000, 0)));
        assert_eq!((look.seconds(), look.requests().0), (1.0, 100.0));
        assert_eq!(Look::new(told(1_000, 0, 0), None).requests(), (0.0, 0.0, 0.0));
        assert!(Look::new(told(1_000, 0, 0), None).handlers().is_empty());
    }
}
