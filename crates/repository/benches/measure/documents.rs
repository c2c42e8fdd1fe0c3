//! The documents that are worked on, and a repository of them.

use super::window::Window;
use bytes::Bytes;
use repository::{
    CollectionName, Key, MediaType, Options, Recovery, Repository, RunError, Timestamp,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// About what `body` gives, in bytes.
pub const BODY_BYTES: u64 = 300;

/// Where in a body a change is made: a digit of its number.
pub const CHANGED_BYTE: usize = 20;

/// Documents that one transaction of `fill` creates.
const FILL_BATCH: u64 = 100;

pub fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

/// The key of document `i`. Neighbours in the order of creation are not neighbours in the order of
/// keys, which would flatter the storage engine: multiplying by an odd number gives each `i`
/// another key, in no visible order.
pub fn key(i: u64) -> Key {
    Key::new(&format!("{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).unwrap()
}

/// The body of document `i`: JSON of about 300 bytes, with something to index.
pub fn body(i: u64) -> Bytes {
    let (owner, price) = (i % 10_000, i.wrapping_mul(7_919) % 1_000_000);
    let start = format!(
        "{{\"number\":{},\"owner\":\"o{owner:05}\",\"price\":{price},\"text\":\"",
        100_000_000_000 + i % 1_000_000_000
    );
    let text = "x".repeat(BODY_BYTES as usize - 2 - start.len());
    format!("{start}{text}\"}}").into()
}

/// A body with another number.
pub fn changed(body: &Bytes, digit: u64) -> Bytes {
    let mut body = body.to_vec();
    body[CHANGED_BYTE] = b'0' + (digit % 10) as u8;
    body.into()
}

pub fn now() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
}

pub fn open(folder: &Path, memory_bytes: u64) -> (Arc<Repository>, Recovery) {
    let options = Options { folder: folder.to_owned(), memory_bytes, clock: Arc::new(now) };
    Repository::open(options).unwrap()
}

/// Creates so many documents, many in a transaction.
pub fn fill(repository: &Repository, collection: &CollectionName, documents: u64) {
    let mut window = Window::new(repository, 64);
    let mut first = 0;
    while first < documents {
        let batch = first..documents.min(first + FILL_BATCH);
        let (ran, _) = run(repository, |transaction| {
            for i in batch.clone() {
                transaction.put(collection, &key(i), MediaType::Json, body(i), None).unwrap();
            }
        });
        window.admit(ran.wait_for);
        first = batch.end;
    }
    window.drain();
}

/// Runs a body until it commits. Where the repository is overloaded, a caller waits for a
/// millisecond and tries again; says how often.
pub fn run<T>(
    repository: &Repository,
    mut body: impl FnMut(&mut repository::Transaction) -> T,
) -> (repository::Ran<T>, u64) {
    use repository::CommitError::Overloaded;
    let mut refused = 0;
    loop {
        let ran =
            repository.run(|transaction| Ok::<T, std::convert::Infallible>(body(transaction)));
        match ran {
            Ok(ran) => return (ran, refused),
            Err(RunError::Commit(Overloaded(_))) => {
                refused += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}
