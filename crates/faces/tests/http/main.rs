//! HTTP as clients meet it: a real server on a real repository, spoken to byte by byte.

#![allow(clippy::unwrap_used)]

mod access;
mod access_log;
mod app;
mod conditional;
mod connections;
mod documents;
mod drain;
mod errors;
mod health;
mod limits;
mod malformed;
mod metrics;
mod openapi;
mod site;
