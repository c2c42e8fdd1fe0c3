//! One run: a world, a seed and a number of steps, and the report of what was found.

use crate::log_world::LogWorld;
use crate::trace::{Finding, Trace};
use crate::world;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The log alone.
    Log,
    /// The whole repository.
    Repository,
    /// The same, while it is backed up.
    Backups,
}

impl World {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Log, Self::Repository, Self::Backups];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|world| world.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Repository => "repository",
            Self::Backups => "backups",
        }
    }
}

/// Runs a seed. `Err` is the report: the last steps, what is wrong, and how to repeat it.
pub fn run(world: World, seed: u64, steps: u64) -> Result<(), String> {
    match world {
        World::Log => {
            let mut log = LogWorld::new(seed);
            let ended = caught(|| log.run(steps));
            ended.map_err(|finding| report(world, (seed, steps), &log.ground.trace, &finding))
        }
        World::Repository | World::Backups => {
            let mut repository = match world {
                World::Backups => world::World::backed_up(seed),
                _ => world::World::new(seed),
            };
            let ended = caught(|| repository.run(steps));
            ended
                .map_err(|finding| report(world, (seed, steps), &repository.ground.trace, &finding))
        }
    }
}

/// A panic is a finding like any other.
fn caught(run: impl FnOnce() -> Result<(), Finding>) -> Result<(), Finding> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Finding(format!("it panicked: {}", text.unwrap_or_default())))
    })
}

fn report(world: World, (seed, steps): (u64, u64), trace: &Trace, finding: &Finding) -> String {
    let name = world.name();
    format!(
        "{trace}seed {seed} of the {name}: {}\n\
         repeat: cargo run -p sim -- --world {name} --seed {seed} --steps {steps}",
        finding.0
    )
}
