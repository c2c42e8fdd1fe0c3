//! Whether the server can do its work: a list of checks, each with what was seen. The shape of the
//! reply is that of draft-inadarei-api-health-check-06, which health checkers know.

use crate::limits;
use crate::observe::Observer;
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering;

/// The media type of a reply about health.
pub(crate) const MEDIA_TYPE: &str = "application/health+json";

/// One check.
struct Check {
    name: &'static str,
    passes: bool,
    /// What was seen, with its unit.
    seen: (u64, &'static str),
    /// What is wrong, if it does not pass.
    wrong: &'static str,
}

/// Nobody is served worse because these do not pass: they only warn.
const WARNINGS: &[&str] = &["repository:archive"];

/// What all checks came to.
pub(crate) struct Readiness {
    checks: Vec<Check>,
}

impl Readiness {
    /// Checks everything now.
    pub(crate) fn check(observer: &Observer) -> Self {
        let mut checks = vec![draining(observer), poisoned(observer), writer(observer)];
        checks.extend([memory(observer), space(observer)]);
        checks.extend(archive(observer));
        if let Some(pool) = &observer.pool {
            checks.extend(gems(pool.load()));
        }
        Self { checks }
    }

    pub(crate) fn passes(&self) -> bool {
        self.checks.iter().all(|check| check.passes || WARNINGS.contains(&check.name))
    }

    /// As JSON. What was seen is for those who may see it; which check fails is for whoever has to
    /// decide where to send requests.
    pub(crate) fn to_json(&self, with_figures: bool) -> String {
        let word = |passes| if passes { "pass" } else { "fail" };
        let mut checks = Map::new();
        for check in &self.checks {
            let is_warning = !check.passes && WARNINGS.contains(&check.name);
            let status = if is_warning { "warn" } else { word(check.passes) };
            let mut one = json!({ "status": status });
            if with_figures {
                one["observedValue"] = json!(check.seen.0);
                one["observedUnit"] = json!(check.seen.1);
                if !check.passes {
                    one["output"] = json!(check.wrong);
                }
            }
            checks.insert(check.name.to_owned(), Value::Array(vec![one]));
        }
        format!("{}\n", json!({ "status": word(self.passes()), "checks": checks }))
    }
}

fn draining(observer: &Observer) -> Check {
    let is_draining = observer.is_draining.load(Ordering::Relaxed);
    Check {
        name: "server:accepting",
        passes: !is_draining,
        seen: (observer.connections.count_open() as u64, "connections"),
        wrong: "the server is being shut down",
    }
}

fn poisoned(observer: &Observer) -> Check {
    let durable = observer.repository.durable();
    Check {
        name: "repository:commits",
        passes: durable.is_ok(),
        seen: (durable.unwrap_or_else(|poisoned| poisoned.durable).0, "durable commit"),
        wrong: "a write to the tranlog failed; open the repository again",
    }
}

/// The writer lives as long as the repository is not poisoned: its end, by a panic too, poisons.
fn writer(observer: &Observer) -> Check {
    let behind = observer.behind_for();
    Check {
        name: "tranlog:progress",
        passes: behind < limits::DURABLE_STALL_MAX,
        seen: (u64::try_from(behind.as_millis()).unwrap_or(u64::MAX), "ms without progress"),
        wrong: "commits wait for the disk, and none has become durable for too long",
    }
}

fn memory(observer: &Observer) -> Check {
    let stats = observer.repository.stats();
    Check {
        name: "repository:memory",
        passes: stats.memory_bytes <= stats.memory_bytes_max,
        seen: (stats.memory_bytes, "bytes"),
        wrong: "memory is full of documents that are not in the storage engine yet",
    }
}

/// Reads are still served; but whoever decides where writes go has to know.
fn space(observer: &Observer) -> Check {
    let stats = observer.repository.stats();
    Check {
        name: "repository:space",
        passes: !stats.is_short_of_space,
        seen: (stats.free_bytes, "bytes free"),
        wrong: "the disk has less free than its reserve; writes are refused, deletions are not",
    }
}

/// The server goes on without it; but what is not archived may be lost with the disk.
fn archive(observer: &Observer) -> Option<Check> {
    let archive = observer.repository.archive()?;
    Some(Check {
        name: "repository:archive",
        passes: archive.failure.is_none(),
        seen: (archive.archived.0, "commit"),
        wrong: "the archive cannot be written; the log says why",
    })
}

/// A gem that loops is alive: its request ends by its limit. If all of them loop, the queue fills.
fn gems(load: gem::PoolLoad) -> [Check; 3] {
    [
        Check {
            name: "gems:alive",
            passes: load.workers > 0 && load.alive == load.workers,
            seen: (load.alive as u64, "gems"),
            wrong: "not all gems run; the log says why",
        },
        Check {
            name: "gems:lost",
            passes: load.lost_running < load.lost_max,
            seen: (load.lost_running as u64, "lost gems that still run"),
            wrong: "no more gems that cannot be interrupted are replaced; start the server anew",
        },
        Check {
            name: "gems:queue",
            passes: load.queued < load.queue_max,
            seen: (load.queued as u64, "requests"),
            wrong: "every gem is busy and the queue is full",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(workers: usize, alive: usize, queued: usize) -> [bool; 2] {
        let [alive, lost, queue] = gems(figures((workers, alive), queued, 7));
        assert!(lost.passes);
        [alive.passes, queue.passes]
    }

    fn figures((workers, alive): (usize, usize), queued: usize, running: usize) -> gem::PoolLoad {
        gem::PoolLoad {
            queued,
            queue_max: 10,
            waiting: 0,
            workers,
            alive,
            busy: 0,
            lost: 20,
            lost_running: running,
            lost_max: 8,
        }
    }

    #[test]
    fn the_last_gem_that_may_be_lost_fails() {
        let [alive, lost, queue] = gems(figures((2, 2), 0, 8));
        assert!(alive.passes && !lost.passes && queue.passes);
        assert_eq!(lost.seen.0, 8);
    }

    #[test]
    fn dead_gems_and_a_full_queue_fail() {
        assert_eq!(load(2, 2, 9), [true, true]);
        assert_eq!(load(2, 1, 0), [false, true]);
        assert_eq!(load(2, 2, 10), [true, false]);
        assert_eq!(load(0, 0, 0), [false, true], "the pool has stopped");
    }

    #[test]
    fn figures_are_shown_to_those_who_may_see_them() {
        let seen = |passes| Check { name: "a:b", passes, seen: (7, "things"), wrong: "it is" };
        let failed = Readiness { checks: vec![seen(true), Check { name: "c:d", ..seen(false) }] };
        let full: Value = serde_json::from_str(&failed.to_json(true)).unwrap();
        assert_eq!(full["status"], "fail");
        assert_eq!(
            full["checks"]["a:b"][0],
            json!({"status": "pass", "observedValue": 7, "observedUnit": "things"})
        );
        assert_eq!(full["checks"]["c:d"][0]["output"], "it is");
        let terse: Value = serde_json::from_str(&failed.to_json(false)).unwrap();
        assert_eq!(terse["checks"]["c:d"][0], json!({"status": "fail"}));
        assert!(!failed.passes());
    }
}
