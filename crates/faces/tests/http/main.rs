//! HTTP as clients meet it: a real server on a real repository, spoken to byte by byte.

#![allow(clippy::unwrap_used)]

mod app;
mod conditional;
mod connections;
mod documents;
mod drain;
mod limits;
mod malformed;
mod site;
