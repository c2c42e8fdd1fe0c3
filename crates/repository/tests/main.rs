//! The repository from outside, each test with a folder of its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod blobs;
mod collections;
mod damage;
mod ended;
mod exchange;
mod expired;
mod expiry;
mod harness;
mod history;
mod index_building;
mod index_model;
mod indexes;
mod kept;
mod limits;
mod memory;
mod ranges;
mod recovery;
mod schemas;
mod settings;
mod snapshots;
mod transactions;
mod verify;
mod views;
