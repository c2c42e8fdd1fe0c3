//! Applications by way of a pool, each test with a repository of its own. Tests of what belongs to
//! the whole process (its memory, its environment) are programs of their own.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod asides;
mod bodies;
mod cache;
mod canonical;
mod collections;
mod conflicts;
mod console;
mod cookies;
mod csrf;
mod documents_limit;
mod failures;
mod fetch;
mod frozen;
mod limits;
mod loading;
mod lost;
mod merges;
mod middleware;
mod passwords;
mod persistence;
mod persistence_values;
mod reload;
mod replies;
mod results;
mod routes;
mod sandbox;
mod serializable;
mod services;
mod sessions;
mod support;
mod tasks;
mod typescript;
mod worst;
