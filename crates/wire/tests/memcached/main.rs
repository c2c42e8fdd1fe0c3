//! The codecs against memcached itself: conversations with expected answers, and many that are made
//! up, whose answers a model built on the codecs must give byte for byte.
//!
//! With `MEMCACHED=HOST:PORT` the conversations are held with that server instead of one that the
//! test starts.

#![allow(clippy::unwrap_used, reason = "tests")]

mod conversation;
mod made_up;
mod model;
mod server;

use conversation::{Conversation, Peer};
use model::Model;
use server::Server;
use std::path::{Path, PathBuf};

fn conversations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memcached/conversations");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn memcached_answers_as_expected() {
    let server = Server::of_environment().unwrap_or_else(Server::start);
    for file in conversations() {
        Conversation::read(&file).hold(&mut || Peer::connect(&server));
    }
}

#[test]
fn the_model_answers_as_expected() {
    for file in conversations() {
        let model = Model::shared();
        Conversation::read(&file).hold(&mut || Peer::Model(model.clone(), model::Link::default()));
    }
}

#[test]
fn the_model_answers_as_memcached_does() {
    let server = Server::start();
    made_up::compare(&server, 3000, true);
}
