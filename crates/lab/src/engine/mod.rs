//! Carries out a plan: reaches the servers, starts the generator's threads, adds up what they
//! measure second by second, and reads what is to be observed at the right moments. It judges
//! nothing; that is `verdict`.

mod alarm;
mod budget;
mod conductor;
mod desk;
mod fill;
mod prepared;
mod schedule;
mod step;
mod timetable;
mod user;
mod watch;
mod worker;

pub(crate) use alarm::Alarm;
pub use conductor::{Findings, RunError, ServerCpu, run};
pub(crate) use fill::{Fill, push_decimal};
pub use timetable::Phase;
pub(crate) use timetable::Timetable;
pub use watch::{All, Watch};
