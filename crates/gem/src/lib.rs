//! Gems: worker threads that run an application's JavaScript beside the repository.
//!
//! This crate knows applications, their handlers and the budget each request has. It knows no
//! sockets and no async runtime: a face hands over a [`Request`] with a function to call with the
//! [`Reply`], and waits for the durable number itself.

mod app;
mod aside;
mod base64;
mod body;
mod budget;
mod cached;
mod collections;
mod content_type;
mod cookie;
mod csrf;
mod current;
mod declarations;
mod engine;
mod errand;
mod errors;
mod exchange;
mod expiry;
mod failed;
mod figures;
mod files;
pub mod fuzzing;
mod handlers;
mod imports;
pub mod limits;
mod modules;
mod multipart;
mod natives;
mod pool;
mod queue;
mod random;
mod rejections;
mod reply;
mod route;
mod seat;
mod services;
mod session;
mod settings;
mod share;
mod sources;
mod tasks;
pub mod testing;
mod thrown;
mod turn;
mod typescript;
mod urlencoded;
mod watchdog;
mod worker;
mod workforce;

pub use app::App;
pub use current::AppReader;
pub use declarations::DECLARATIONS;
pub use errand::{CallError, Caller, Errand, Host, Served, Step};
pub use errors::{Failure, FailureKind, Fault, LoadError};
pub use exchange::{Reply, Request, Respond};
pub use failed::{
    CodeFrame, ErrorLog, ErrorLogFigures, ErrorsRead, Kept, Report, read as read_errors,
};
pub use figures::HandlerFigures;
pub use files::{Coding, File, Files, Found};
pub use pool::{Pool, PoolLoad, PoolOptions};
pub use services::{Method, Service, Services};
pub use tasks::{Cancelled, Ledger, List, Listed, Retried, TaskError, TaskFigures, TaskList, Was};
