//! A collection of the repository behind the face: what memcached is held to holds here, but where
//! `docs/memcached.md` says otherwise; and documents are what other faces see of it.

use crate::conversation::{Conversation, Peer};
use crate::conversations;
use crate::server::{PATIENCE, Stream};
use memcached::{Closed, Collection, Face, FaceOptions, Place, StartError};
use parking_lot::Mutex;
use repository::limits::MEMORY_BYTES_MIN;
use repository::{
    CollectionName, Key, MediaType, Options, Overwrite, Repository, Settings, Timestamp,
};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

struct Durable {
    face: Option<Face>,
    repository: Arc<Repository>,
    name: CollectionName,
    /// What clients are told instead of an answer.
    closed: Arc<Mutex<Option<String>>>,
    _folder: TempDir,
}

fn open(folder: &Path) -> Arc<Repository> {
    let options = Options {
        folder: folder.join("data"),
        memory_bytes: MEMORY_BYTES_MIN,
        clock: Arc::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            Timestamp(since.as_millis() as u64)
        }),
    };
    Repository::open(options).unwrap().0
}

impl Durable {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = open(folder.path());
        let name = CollectionName::new("notes").unwrap();
        let closed = Arc::new(Mutex::new(None));
        let asked = Arc::clone(&closed);
        let collection = Collection {
            repository: Arc::clone(&repository),
            name: name.clone(),
            value_bytes_max: 1 << 20,
            closed: Arc::new(move || asked.lock().clone()),
        };
        let place: Place = "127.0.0.1:0".parse().unwrap();
        let options = FaceOptions { threads: 2, ..FaceOptions::new(place) };
        let face = Some(Face::start_on(&options, collection).unwrap());
        Self { face, repository, name, closed, _folder: folder }
    }

    fn stream(&self) -> TcpStream {
        let [Place::Address(address)] = self.face.as_ref().unwrap().places() else { panic!() };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn answers(&self, bytes: &[u8]) -> String {
        let mut stream = self.stream();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        answers
    }

    /// A document's media type, text and version.
    fn document(&self, key: &str) -> Option<(String, String, u64)> {
        let mut tx = self.repository.begin().unwrap();
        let found = tx.get(&self.name, &Key::new(key).unwrap()).unwrap()?;
        let text = String::from_utf8(found.body.to_vec()).unwrap();
        Some((found.media_type.as_str().to_owned(), text, found.version.0))
    }

    fn put(&self, key: &str, media_type: MediaType, body: &str) {
        let key = Key::new(key).unwrap();
        let put = self
            .repository
            .run(|tx| tx.put(&self.name, &key, media_type.clone(), body.to_owned().into(), None));
        put.unwrap();
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        drop(self.face.take());
        self.repository.close().unwrap();
    }
}

#[test]
fn a_collection_answers_as_memcached_does_but_where_the_table_says_otherwise() {
    let own = conversations("tests/face/durable_conversations");
    let names: BTreeSet<_> = own.iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    let shared = conversations("../wire/tests/memcached/conversations");
    let same = shared.into_iter().filter(|file| !names.contains(file.file_name().unwrap()));
    let durable = Durable::start();
    let mut held = 0;
    for file in same.chain(own) {
        Conversation::read(&file).hold(&mut || {
            let stream: Box<dyn Stream> = Box::new(durable.stream());
            Peer::of(stream)
        });
        held += 1;
    }
    assert_eq!(held, 11, "each is held once");
}

#[test]
fn what_is_stored_is_a_document() {
    let durable = Durable::start();
    let answers = durable.answers(b"set a 5 0 2\r\nhi\r\ngets a\r\n");
    let (media_type, text, version) = durable.document("a").unwrap();
    assert_eq!((media_type.as_str(), text.as_str()), ("application/octet-stream;flags=5", "hi"));
    assert_eq!(answers, format!("STORED\r\nVALUE a 5 2 {version}\r\nhi\r\nEND\r\n"));
    // What others store is read as it is, and JSON stays JSON.
    durable.put("n", MediaType::Json, "9");
    let answers = durable.answers(b"get n\r\nincr n 1\r\ndecr n 5\r\nget n\r\n");
    assert_eq!(answers, "VALUE n 0 1\r\n9\r\nEND\r\n10\r\n5\r\nVALUE n 0 1\r\n5\r\nEND\r\n");
    assert_eq!(durable.document("n").unwrap().0, "application/json");
    let answers = durable.answers(b"ma n D18446744073709551610 v\r\ndelete a\r\ndelete a\r\n");
    assert!(answers.starts_with("CLIENT_ERROR cannot increment"), "{answers}");
    assert!(answers.ends_with("DELETED\r\nNOT_FOUND\r\n"), "{answers}");
    assert_eq!(durable.document("a"), None);
}

#[test]
fn counters_of_many_lose_nothing() {
    const CLIENTS: u64 = 8;
    const ROUNDS: u64 = 100;
    let durable = Durable::start();
    assert_eq!(durable.answers(b"set n 0 0 1\r\n0\r\n"), "STORED\r\n");
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let asked = b"incr n 1\r\n".repeat(ROUNDS as usize);
                assert_eq!(durable.answers(&asked).lines().count() as u64, ROUNDS);
            });
        }
    });
    let all = CLIENTS * ROUNDS;
    assert_eq!(durable.document("n").unwrap().1, all.to_string());
}

#[test]
fn all_is_removed_in_steps() {
    let durable = Durable::start();
    let many: String = (0..2_500).map(|i| format!("set k{i} 0 0 1 noreply\r\nx\r\n")).collect();
    let answers =
        durable.answers(format!("{many}get k2499\r\nflush_all\r\nget k0 k2499\r\n").as_bytes());
    assert_eq!(answers, "VALUE k2499 0 1\r\nx\r\nEND\r\nOK\r\nEND\r\n");
}

#[test]
fn conditions_that_a_collection_wants_are_asked_for() {
    let durable = Durable::start();
    let settings = Settings { overwrite: Overwrite::Conditional, ..Settings::default() };
    durable.repository.configure(&durable.name, &settings).unwrap();
    let answers =
        durable.answers(b"set a 0 0 1\r\nx\r\nset a 0 0 1\r\ny\r\ndelete a\r\nincr a 1\r\n");
    let lines: Vec<&str> = answers.lines().collect();
    assert_eq!(lines[0], "STORED");
    assert!(lines[1].starts_with("SERVER_ERROR the collection notes wants a condition"));
    assert!(lines[2].starts_with("SERVER_ERROR the collection notes wants a condition"));
    let version = durable.document("a").unwrap().2;
    let swap = format!("cas a 0 0 1 {version}\r\nz\r\nget a\r\n");
    assert_eq!(durable.answers(swap.as_bytes()), "STORED\r\nVALUE a 0 1\r\nz\r\nEND\r\n");
}

#[test]
fn a_collection_that_is_closed_tells_why() {
    let durable = Durable::start();
    *durable.closed.lock() = Some("not now".to_owned());
    let answers = durable.answers(b"set a 0 0 1\r\nx\r\nget a\r\nmg a v\r\nflush_all\r\nmn\r\n");
    let no = "SERVER_ERROR not now\r\n";
    assert_eq!(answers, format!("{no}{no}{no}{no}MN\r\n"));
    *durable.closed.lock() = None;
    assert_eq!(durable.answers(b"get a\r\n"), "END\r\n");
}

#[test]
fn collections_of_sarsen_itself_are_not_served() {
    let durable = Durable::start();
    let closed: Closed = Arc::new(|| None);
    let collection = Collection {
        repository: Arc::clone(&durable.repository),
        name: CollectionName::new("_sessions").unwrap(),
        value_bytes_max: 1,
        closed,
    };
    let options = FaceOptions::new("127.0.0.1:0".parse().unwrap());
    let started = Face::start_on(&options, collection);
    assert!(matches!(started, Err(StartError::System { .. })));
}
