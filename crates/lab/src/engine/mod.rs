//! Carries out a plan: reaches the servers, starts the generator's threads, adds up what they
//! measure second by second, and reads what is to be observed at the right moments. It judges
//! nothing; that is `verdict`.

mod alarm;
mod browser;
mod budget;
mod channel;
mod checks;
mod conductor;
mod desk;
pub(crate) mod extract;
mod fill;
mod lane;
mod memcached;
mod mind;
mod multipart;
mod numbered;
mod open;
mod pledges;
mod prepared;
pub(crate) mod reference;
mod schedule;
mod step;
mod timetable;
mod together;
mod user;
mod validators;
mod variables;
mod watch;
mod worker;
mod written;

pub(crate) use alarm::Alarm;
pub use conductor::{Findings, RunError, ServerCpu, run};
pub(crate) use reference::resolve;
pub use timetable::Phase;
pub(crate) use timetable::Timetable;
pub use watch::{All, Watch};
