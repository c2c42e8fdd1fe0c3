//! An application on a real repository in a folder of its own, with a clock that tests set.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use bytes::Bytes;
use cache::{Cache, Settings};
use gem::{App, Failure, FailureKind, LoadError, Pool, PoolOptions, Reply, Request};
use repository::{
    CollectionName, Document, IndexState, Key, MediaType, Options, Repository, Timestamp,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const START_MS: u64 = 1_700_000_000_000;

/// Longer than anything takes that comes at all.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What a request came to.
pub type Outcome = Result<Reply, Failure>;

/// An application's folder.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// Why the application made of `files` does not load, without the folder's path.
pub fn load_error(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let error = load(folder.path()).err().expect("the application must be refused");
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

pub fn load(folder: &Path) -> Result<App, LoadError> {
    App::load(folder)
}

/// A running application.
pub struct Site {
    pub pool: Arc<Pool>,
    pub repository: Arc<Repository>,
    pub clock: Arc<AtomicU64>,
    pub cache: Arc<Cache>,
    _folders: (TempDir, TempDir),
}

/// How `site_with` differs from `site`.
pub struct Setup {
    pub workers: usize,
    pub queue: usize,
    pub cpu_limit: Duration,
    pub heap_limit: usize,
    /// Added to `sarsen.toml`.
    pub settings: &'static str,
    pub errors: Option<Arc<gem::ErrorLog>>,
}

impl Default for Setup {
    fn default() -> Self {
        let (cpu_limit, heap_limit) = (Duration::from_secs(20), 32 << 20);
        Self { workers: 1, queue: 64, cpu_limit, heap_limit, settings: "", errors: None }
    }
}

/// An application of one module with these routes, on one worker.
pub fn site(routes: &str) -> Site {
    site_with(routes, Setup::default())
}

pub fn site_with(routes: &str, setup: Setup) -> Site {
    let app = format!(
        "import * as sarsen from \"sarsen\"; \
         const {{ App, HttpError, html, raw, redirect, reply }} = sarsen;\n\
         const app = new App();\n{routes}\nexport default app;\n"
    );
    let folder = folder(&[("app.js", &app)]);
    let settings = format!("name = \"test\"\n{}", setup.settings);
    fs::write(folder.path().join("sarsen.toml"), settings).unwrap();
    start(folder, setup)
}

pub fn start(folder: TempDir, setup: Setup) -> Site {
    let app = load(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let data = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(START_MS));
    let hand = clock.clone();
    let options = Options {
        folder: data.path().to_owned(),
        memory_bytes: 64 << 20,
        clock: Arc::new(move || match hand.load(Ordering::SeqCst) {
            // For workers alone: the repository's own threads must not panic.
            0 if std::thread::current().name().is_some_and(|name| name.starts_with("gem")) => {
                panic!("the clock has stopped")
            }
            now => Timestamp(now.max(START_MS)),
        }),
    };
    let (repository, _) = Repository::open(options).unwrap();
    let cache = Arc::new(Cache::new(&Settings::new(16 << 20, 1)).unwrap());
    let options = PoolOptions {
        workers: setup.workers,
        queue: setup.queue,
        cpu_limit: setup.cpu_limit,
        heap_limit: setup.heap_limit,
        errors: setup.errors,
        cache: Some(Arc::clone(&cache)),
    };
    let pool = Pool::start(app, repository.clone(), options).unwrap();
    Site { pool: Arc::new(pool), repository, clock, cache, _folders: (folder, data) }
}

pub fn request(method: &str, target: &str) -> Request {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: vec![],
        body: Bytes::new(),
    }
}

impl Site {
    pub fn send(&self, request: Request) -> Outcome {
        let (sender, outcome) = mpsc::channel();
        let respond = Box::new(move |result| sender.send(result).unwrap());
        self.pool.submit(request, respond).map_err(|_| "the queue is full").unwrap();
        outcome.recv_timeout(PATIENCE).expect("every request has an outcome")
    }

    /// The reply to GET.
    pub fn get(&self, target: &str) -> Reply {
        self.send(request("GET", target)).unwrap_or_else(|failure| panic!("{target}: {failure}"))
    }

    /// The body of the reply to GET, which must succeed.
    pub fn text(&self, target: &str) -> String {
        let reply = self.get(target);
        assert!(reply.status < 300, "{target}: {} {}", reply.status, text(&reply));
        text(&reply)
    }

    pub fn post(&self, target: &str) -> Reply {
        self.send(request("POST", target)).unwrap_or_else(|failure| panic!("{target}: {failure}"))
    }

    /// The message of the handler's failure.
    pub fn failure(&self, target: &str) -> String {
        match self.send(request("GET", target)) {
            Err(Failure { kind: FailureKind::Handler | FailureKind::ReplyLimit, fault }) => {
                fault.message
            }
            other => panic!("{target}: expected the handler to fail, got {other:?}"),
        }
    }

    /// The stored text of a JSON document.
    pub fn stored(&self, collection: &str, key: &str) -> Option<String> {
        let document = self.document(collection, key)?;
        assert_eq!(document.media_type, MediaType::Json);
        Some(String::from_utf8(document.body.to_vec()).unwrap())
    }

    pub fn document(&self, collection: &str, key: &str) -> Option<Arc<Document>> {
        let (collection, key) = names(collection, key);
        self.repository.begin().unwrap().get(&collection, &key).unwrap()
    }

    /// Stores a document as another face would.
    pub fn store_as(
        &self,
        place: (&str, &str),
        media_type: MediaType,
        body: &str,
        expires: Option<u64>,
    ) {
        store_as(&self.repository, place, media_type, (body, expires));
    }

    pub fn store_json(&self, collection: &str, key: &str, body: &str) {
        store(&self.repository, (collection, key), body);
    }

    /// Waits until it is so: what other threads do.
    pub fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let (load, tasks) = (self.pool.load(), self.pool.task_figures());
            assert!(begun.elapsed() < PATIENCE, "waited for {what}: {load:?}, {tasks:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until all indexes are ready.
    pub fn wait_built(&self) {
        let is_ready = |index: &repository::IndexStatus| index.state == IndexState::Ready;
        self.wait("indexes", |site| site.repository.indexes().iter().all(is_ready));
    }

    pub fn pass(&self, milliseconds: u64) {
        self.clock.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Ends it although a gem does not end, for which dropping it would wait.
    pub fn abandon(self) {
        let Self { pool, repository, _folders, .. } = self;
        std::mem::forget((pool, repository));
    }

    /// Bytes in the tranlog and the newest commit: what must not move if nothing is written.
    pub fn written(&self) -> (u64, u64) {
        let visible = self.repository.stats().visible;
        self.repository.wait_durable(visible).unwrap();
        let stats = self.repository.stats();
        (stats.tranlog_bytes, stats.visible.0)
    }
}

/// Stores a JSON document as another face would.
pub fn store(repository: &Arc<Repository>, place: (&str, &str), body: &str) {
    store_as(repository, place, MediaType::Json, (body, None));
}

fn store_as(
    repository: &Arc<Repository>,
    place: (&str, &str),
    media_type: MediaType,
    (body, expires): (&str, Option<u64>),
) {
    let (collection, key) = names(place.0, place.1);
    let mut transaction = repository.begin().unwrap();
    let body = Bytes::copy_from_slice(body.as_bytes());
    transaction.put(&collection, &key, media_type, body, expires.map(Timestamp)).unwrap();
    let outcome = transaction.commit().unwrap();
    assert!(matches!(outcome, repository::Outcome::Committed(_)), "{outcome:?}");
}

/// Called with level and text of what the applications on this test's worker write to the log.
pub type Listener = Box<dyn FnMut(log::Level, &str) + Send>;

static LISTENER: Mutex<Option<Listener>> = Mutex::new(None);

/// Hears what applications write by `console`. One test at a time: it waits for the one before.
pub fn on_log(listener: Listener) -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Set already by the test before.
    let _ = log::set_logger(&Hearing);
    log::set_max_level(log::LevelFilter::Trace);
    *LISTENER.lock().unwrap() = Some(listener);
    turn
}

struct Hearing;

impl log::Log for Hearing {
    fn enabled(&self, metadata: &log::Metadata) -> bool {
        metadata.target() == "app"
    }

    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata())
            && let Some(listener) = &mut *LISTENER.lock().unwrap()
        {
            listener(record.level(), &record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn names(collection: &str, key: &str) -> (CollectionName, Key) {
    (CollectionName::new(collection).unwrap(), Key::new(key).unwrap())
}

pub fn text(reply: &Reply) -> String {
    String::from_utf8(reply.body.to_vec()).unwrap()
}

pub fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
}
