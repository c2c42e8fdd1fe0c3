//! The memcached face on real sockets: conversations that memcached itself is held to
//! (crates/wire/tests/memcached), and what concerns connections rather than commands.

#![allow(clippy::unwrap_used, reason = "tests")]

mod connections;
mod durable;
mod server;
mod split;

// What memcached is held to holds here.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../wire/tests/memcached/conversation.rs"]
mod conversation;
#[path = "../../../wire/tests/memcached/made_up.rs"]
mod made_up;
#[path = "../../../wire/tests/memcached/model.rs"]
mod model;

#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../wire/tests/memcached/server.rs"]
mod real;

use conversation::{Conversation, Peer};
use server::Server;
use std::path::{Path, PathBuf};

fn conversations(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn the_face_answers_as_memcached_does() {
    let server = Server::start();
    for file in conversations("../wire/tests/memcached/conversations") {
        Conversation::read(&file).hold(&mut || Peer::connect(&server));
    }
}

#[test]
fn the_face_answers_made_up_streams_as_the_model_does() {
    // One shard counts its unique numbers as memcached does.
    let server = Server::with_one_shard();
    made_up::compare(&server, 3000, false);
}
