//! `[[setup]]` and `[[teardown]]`: what is done before the run and after it, so many times.

use super::operations::Names;
use super::section::Section;
use crate::limits::USERS_MAX;
use crate::plan::{Audit, Entries, HOOK_WORKERS, Load, Mix, Phases, Plan};
use std::time::Duration;

/// An operation that is performed so many times before or after the run.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The operation's name.
    pub name: String,
    /// How many times.
    pub times: u64,
    /// What the engine runs. Its `{iteration}` is the number of the time, from 0.
    pub plan: Plan,
}

/// A hook before the plan is there.
pub(super) struct Asked {
    operation: usize,
    times: u64,
    users: usize,
}

/// How many users do it if nothing is said.
const USERS: u64 = 16;

pub(super) fn read(section: &Section<'_>, key: &'static str, names: &Names) -> Vec<Asked> {
    let Some(value) = section.get(key) else { return Vec::new() };
    let list = value.list().unwrap_or_default();
    let read = list.iter().filter_map(|value| {
        let section = value.section()?;
        let operation = section.need("operation", "the name of an operation");
        let operation = operation.and_then(|operation| names.of(&operation));
        let times = section.whole("times", 1..=u64::MAX);
        let is_told = !section.which(&["times"]).is_empty();
        let users = section.whole("users", 1..=USERS_MAX as u64).unwrap_or(USERS);
        section.close();
        let times = if is_told { times? } else { 1 };
        Some(Asked { operation: operation?, times, users: (users.min(times)) as usize })
    });
    read.collect()
}

/// The operations of hooks alone have no share in the mix.
pub(super) fn operations(asked: &[Asked]) -> impl Iterator<Item = usize> + '_ {
    asked.iter().map(|asked| asked.operation)
}

/// The plans of some, which are numbered from `first` on.
pub(super) fn all(asked: &[Asked], first: usize, run: &Plan) -> Vec<Hook> {
    asked.iter().enumerate().map(|(i, asked)| asked.hook(first + i, run)).collect()
}

impl Asked {
    /// The plan of it: everything of the run but who starts operations, and when. `number` is
    /// another for each hook.
    fn hook(&self, number: usize, run: &Plan) -> Hook {
        let phases = Phases {
            ramp_up: Duration::ZERO,
            measured: crate::limits::DURATION_MAX,
            ramp_down: Duration::ZERO,
            count: None,
        };
        let plan = Plan {
            load: Load::Numbered { first: 0, times: self.times, users: self.users },
            phases,
            mix: Mix::Sequence(vec![self.operation]),
            background: Vec::new(),
            gates: Vec::new(),
            audit: Audit::default(),
            threads: run.threads.min(self.users),
            entries: Entries {
                first_worker: HOOK_WORKERS * (number as u64 + 1),
                ..run.entries.clone()
            },
            ..run.clone()
        };
        Hook { name: run.operations[self.operation].name.clone(), times: self.times, plan }
    }
}
