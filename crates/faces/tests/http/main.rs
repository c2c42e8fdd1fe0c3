//! HTTP as clients meet it: a real server on a real repository, spoken to byte by byte.

#![allow(clippy::unwrap_used)]

mod access;
mod access_log;
mod app;
mod blobs;
mod collections;
mod conditional;
mod connections;
mod cors;
mod documents;
mod drain;
mod errors;
mod feed;
mod files;
mod forwarded;
mod frames;
mod framing;
mod guarded;
mod health;
mod hosts;
mod http2;
mod http2_abuse;
mod idempotency;

mod limits;
mod malformed;
mod metrics;
mod negotiated;
mod numbers;
mod openapi;
mod past;
mod patch;
mod patience;
mod prefer;
mod queries;
mod refused;
mod services;
mod site;
mod slow;
mod smuggling;
mod stalled;
mod tls;
mod tools;
mod tx;
