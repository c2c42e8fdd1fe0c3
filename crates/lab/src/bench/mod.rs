//! A closed-loop run: a number of users, each sending its next request when the last is
//! answered. [`Plan`] says what to do and [`run()`] does it. Open arrivals are not here.

mod budget;
mod generator;
mod plan;
mod run;
mod timetable;
mod user;

#[cfg(test)]
pub(crate) use generator::ThreadCpu;
pub(crate) use generator::{Harvest, Phases};
pub use plan::{Plan, PlanError, Request};
pub use run::{BenchError, run};
pub use timetable::Phase;
pub(crate) use timetable::Timetable;
