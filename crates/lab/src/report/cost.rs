//! What operations cost, as figures and as rows for people: computed from what was observed over
//! the measured interval. It reads nothing itself.

use crate::observe::{Figure, Summary};
use serde_json::{Map, Value, json};

/// What one operation of the measured interval cost a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The process.
    pub name: String,
    /// CPU of user and system.
    pub cpu_us: Option<f64>,
    /// Context switches, voluntary and not.
    pub switches: Option<f64>,
    /// From storage.
    pub read_bytes: Option<f64>,
    /// To storage.
    pub written_bytes: Option<f64>,
    /// The most memory that was resident in any second, in bytes. Not for each operation.
    pub rss_max_bytes: Option<f64>,
    /// Users for each core that was used; of the closed model.
    pub users_per_core: Option<f64>,
}

impl Cost {
    /// Of every process among `observed`.
    pub(super) fn all(observed: &[Summary], operations: u64, users: Option<usize>) -> Vec<Self> {
        let is_process = |one: &&Summary| one.figure("rss").is_some();
        observed.iter().filter(is_process).map(|one| Self::of(one, operations, users)).collect()
    }

    fn of(one: &Summary, operations: u64, users: Option<usize>) -> Self {
        let each =
            |total: Option<f64>| total.filter(|_| operations > 0).map(|t| t / operations as f64);
        let sum = |a: &str, b: &str| Some(one.total(a)? + one.total(b)?);
        let mean = |name: &str| one.figure(name).and_then(|figure| figure.mean);
        let cores = mean("cpu_user").zip(mean("cpu_system")).map(|(user, system)| user + system);
        let cores = cores.filter(|cores| *cores > 0.0);
        Self {
            name: one.name.clone(),
            cpu_us: each(sum("cpu_user", "cpu_system")).map(|seconds| seconds * 1e6),
            switches: each(sum("voluntary_switches", "involuntary_switches")),
            read_bytes: each(one.total("read")),
            written_bytes: each(one.total("written")),
            rss_max_bytes: one.figure("rss").and_then(|figure| figure.max),
            users_per_core: users.zip(cores).map(|(users, cores)| users as f64 / cores),
        }
    }

    /// One line.
    pub(super) fn to_line(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |value: Option<f64>, text: fn(f64) -> String| {
            parts.extend(value.map(text));
        };
        part(self.cpu_us, |us| format!("{us:.1} µs CPU"));
        part(self.switches, |switches| format!("{switches:.2} context switches"));
        part(self.written_bytes, |bytes| format!("{bytes:.0} bytes written"));
        part(self.read_bytes.filter(|bytes| *bytes > 0.0), |bytes| {
            format!("{bytes:.0} bytes read")
        });
        part(self.rss_max_bytes, |bytes| format!("at most {:.1} MiB", bytes / f64::from(1 << 20)));
        part(self.users_per_core, |users| format!("{users:.1} users per core"));
        if parts.is_empty() { "nothing could be read".to_owned() } else { parts.join(", ") }
    }

    fn to_json(&self) -> Value {
        json!({
            "cpu_us_per_operation": self.cpu_us,
            "context_switches_per_operation": self.switches,
            "read_bytes_per_operation": self.read_bytes,
            "written_bytes_per_operation": self.written_bytes,
            "rss_max_bytes": self.rss_max_bytes,
            "users_per_core": self.users_per_core,
        })
    }
}

/// Syncs, commits and conflicts of an operation, where a page of metrics counts them.
pub(super) fn counted(observed: &[Summary], operations: u64) -> Vec<(&'static str, f64)> {
    let names = ["syncs", "commits", "conflicts"];
    let found = names.into_iter().filter_map(|name| {
        let total = observed.iter().find_map(|one| one.total(name))?;
        (operations > 0).then(|| (name, total / operations as f64))
    });
    found.collect()
}

/// Costs by process, and what was counted.
pub(super) fn to_json(costs: &[Cost], observed: &[Summary], operations: u64) -> Value {
    let mut all: Map<String, Value> =
        costs.iter().map(|cost| (cost.name.clone(), cost.to_json())).collect();
    for (name, each) in counted(observed, operations) {
        all.insert(format!("{name}_per_operation"), each.into());
    }
    Value::Object(all)
}

/// Every figure of what was observed.
pub(super) fn observed_to_json(observed: &[Summary]) -> Value {
    let one = |summary: &Summary| {
        let figure = |figure: &Figure| {
            let name = match figure.unit {
                "" => figure.name.clone(),
                unit => format!("{}_{unit}", figure.name),
            };
            (name, json!({ "mean": figure.mean, "min": figure.min, "max": figure.max }))
        };
        let figures: Map<String, Value> = summary.figures.iter().map(figure).collect();
        (summary.name.clone(), Value::Object(figures))
    };
    Value::Object(observed.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, total: Option<f64>, mean: f64) -> Figure {
        let (name, mean) = (name.to_owned(), Some(mean));
        Figure { name, unit: "", total, total_unit: "", mean, min: mean, max: mean }
    }

    #[test]
    fn costs_are_those_of_one_operation() {
        let figures = vec![
            figure("cpu_user", Some(1.5), 0.15),
            figure("cpu_system", Some(0.5), 0.05),
            figure("rss", None, 1048576.0),
            figure("voluntary_switches", Some(300.0), 30.0),
            figure("involuntary_switches", Some(100.0), 10.0),
            figure("written", Some(4096.0), 409.6),
        ];
        let (name, notes) = ("server".to_owned(), Vec::new());
        let server = Summary { name, seconds: 10, gaps: 0, figures, notes };
        let page = Summary {
            name: "metrics".into(),
            figures: vec![figure("syncs", Some(250.0), 25.0)],
            ..server.clone()
        };
        let observed = [server, page];
        let costs = Cost::all(&observed, 1000, Some(10));
        assert_eq!(costs.len(), 1);
        let cost = &costs[0];
        assert_eq!((cost.cpu_us, cost.switches), (Some(2000.0), Some(0.4)));
        assert_eq!((cost.written_bytes, cost.read_bytes), (Some(4.096), None));
        assert_eq!(cost.users_per_core, Some(50.0));
        assert_eq!(counted(&observed, 1000), [("syncs", 0.25)]);
        let expected = "2000.0 µs CPU, 0.40 context switches, 4 bytes written, at most 1.0 MiB, \
            50.0 users per core";
        assert_eq!(cost.to_line(), expected);
        let json = to_json(&costs, &observed, 1000);
        assert_eq!(json["server"]["cpu_us_per_operation"], 2000.0);
        assert_eq!(json["syncs_per_operation"], 0.25);
        assert_eq!(Cost::all(&observed, 0, None)[0].cpu_us, None);
    }
}
