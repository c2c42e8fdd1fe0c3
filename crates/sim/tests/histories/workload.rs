//! What the threads do: transactions of a few steps on a few keys, from a seed, and how each of
//! their tries went.

use crate::record::{Attempt, Ended, Key, Numbers, Part, Record, Seen, Step};
use repository::{
    CollectionName, Direction, Document, IndexRange, IndexState, IndexValue, Isolation, KeyRange,
    MediaType, Merge, Options, Outcome, Repository, Settings, Timestamp, Transaction,
};
use std::convert::Infallible;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const THREADS: u64 = 4;
const TRANSACTIONS_PER_THREAD: u64 = 700;
const STEPS_MAX: u64 = 6;
/// Keys that hold a number, and after them keys that hold a list.
const NUMBERS: u64 = 5;
const KEYS: u64 = NUMBERS + 2;

/// An index of the documents that are numbers.
const SETTINGS: &str = r#"{"indexes":[{"name":"numbers","paths":[{"path":"","kind":"number"}]}]}"#;

/// Whether reads are noted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Get,
    Peek,
}

/// Which keys a thread writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    AnyKey,
    /// Only the key with the thread's number.
    OwnKey,
    /// Any key, but no merge operations.
    NoMerges,
}

#[derive(Clone, Copy)]
pub struct Workload {
    pub seed: u64,
    pub isolation: Isolation,
    pub reads: Reads,
    pub writes: Writes,
}

impl Workload {
    pub fn new(seed: u64) -> Self {
        let (isolation, reads, writes) = (Isolation::Serializable, Reads::Get, Writes::AnyKey);
        Self { seed, isolation, reads, writes }
    }

    /// Runs it on an empty repository, with checkpoints all the while.
    pub fn run(self) -> Record {
        let scene = Scene::new();
        let is_over = AtomicBool::new(false);
        let attempts = std::thread::scope(|scope| {
            let start = |thread| {
                let client = Client { scene: &scene, workload: self, thread };
                scope.spawn(move || client.run())
            };
            let clients: Vec<_> = (0..THREADS).map(start).collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    scene.repository.checkpoint().unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let _over = SetAtEnd(&is_over);
            clients.into_iter().flat_map(|c| c.join().unwrap()).collect()
        });
        Record { attempts, serial_lane: scene.repository.stats().serial_lane }
    }
}

/// Sets a flag at its end, however that comes: who works on until then must not work on for ever.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until all indexes are ready.
pub fn wait_built(repository: &Repository) {
    let begun = Instant::now();
    while repository.indexes().iter().any(|index| index.state != IndexState::Ready) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", repository.indexes());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A repository in a temporary folder, and what the threads share beside it.
pub struct Scene {
    pub repository: Arc<Repository>,
    _folder: TempDir,
    instants: AtomicU64,
    versions: AtomicU64,
}

impl Scene {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: folder.path().to_owned(),
            memory_bytes: 64 << 20,
            clock: Arc::new(|| Timestamp(1_000_000)),
        };
        let (repository, _) = Repository::open(options).unwrap();
        repository.configure(&notes(), &Settings::from_json(SETTINGS).unwrap()).unwrap();
        wait_built(&repository);
        let (instants, versions) = (AtomicU64::new(0), AtomicU64::new(1));
        Self { repository, _folder: folder, instants, versions }
    }

    /// A new instant, after all those before.
    pub fn now(&self) -> u64 {
        self.instants.fetch_add(1, Ordering::SeqCst)
    }
}

pub fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

pub fn repository_key(key: Key) -> repository::Key {
    repository::Key::new(&key.to_string()).unwrap()
}

/// The number in a document.
pub fn number_in(document: &Document) -> i64 {
    std::str::from_utf8(&document.body).unwrap().parse().unwrap()
}

pub fn put(transaction: &mut Transaction, key: Key, value: &str) {
    let body = value.as_bytes().to_vec().into();
    transaction.put(&notes(), &repository_key(key), MediaType::Json, body, None).unwrap();
}

pub fn add(transaction: &mut Transaction, key: Key, delta: i64) {
    let operation = Merge::Add { path: String::new(), delta: delta as f64 };
    transaction.merge(&notes(), &repository_key(key), operation).unwrap();
}

struct Client<'a> {
    scene: &'a Scene,
    workload: Workload,
    thread: u64,
}

impl Client<'_> {
    fn run(&self) -> Vec<Attempt> {
        let mut random = Random::new(self.workload.seed * THREADS + self.thread);
        let mut attempts = Vec::new();
        for number in 0..TRANSACTIONS_PER_THREAD {
            let plan: Vec<Intent> =
                (0..=random.below(STEPS_MAX)).map(|_| self.intent(&mut random)).collect();
            let name = format!("T{}.{number}", self.thread);
            if random.below(3) == 0 {
                attempts.push(self.try_once(name, &plan));
            } else {
                attempts.extend(self.run_to_the_end(&name, &plan));
            }
        }
        attempts
    }

    fn intent(&self, random: &mut Random) -> Intent {
        let key = Key(random.below(KEYS));
        let written = match self.workload.writes {
            Writes::AnyKey | Writes::NoMerges => key,
            Writes::OwnKey => Key(self.thread),
        };
        match random.below(20) {
            0..2 if self.workload.reads == Reads::Get => {
                let to = Key(key.0 + random.below(KEYS - key.0));
                let limit = 1 + random.below(4) as usize;
                Intent::Range(Part { from: key, to, is_descending: random.below(2) == 0, limit })
            }
            2 if self.workload.reads == Reads::Get => {
                // What was put is a version, so the newest are the largest.
                let newest = self.scene.versions.load(Ordering::Relaxed) as i64;
                let from = newest - random.below(40) as i64;
                let (is_descending, limit) = (random.below(2) == 0, 1 + random.below(4) as usize);
                Intent::Index(Numbers { from, is_descending, limit })
            }
            0..10 => Intent::Read(key),
            10 => Intent::Delete(written),
            11..14 if self.workload.writes != Writes::NoMerges => match written.0 {
                0..NUMBERS => Intent::Add(written, 1 + random.below(9) as i64),
                _ => Intent::Append(written),
            },
            _ => Intent::Put(written),
        }
    }

    /// A plain commit, which may lose.
    fn try_once(&self, name: String, plan: &[Intent]) -> Attempt {
        let began = self.scene.now();
        let mut transaction = self.scene.repository.begin().unwrap();
        let view = transaction.view().0;
        let steps = self.follow(plan, &mut transaction);
        let end = match transaction.commit().unwrap() {
            Outcome::Committed(number) => Ended::Committed(number.0),
            Outcome::Unchanged(_) => Ended::Unchanged,
            _ => Ended::Lost,
        };
        Attempt { name, began, ended: self.scene.now(), view, steps, end }
    }

    /// With as many tries as it takes, at last in the serial lane.
    fn run_to_the_end(&self, name: &str, plan: &[Intent]) -> Vec<Attempt> {
        let mut tries: Vec<Attempt> = Vec::new();
        let mut began = self.scene.now();
        let ran = self.scene.repository.run(|transaction| {
            let view = transaction.view().0;
            let steps = self.follow(plan, transaction);
            // The next try begins no earlier than this.
            let ended = self.scene.now();
            let name = format!("{name}.{}", tries.len());
            tries.push(Attempt { name, began, ended, view, steps, end: Ended::Lost });
            began = ended;
            Ok::<_, Infallible>(())
        });
        let ended = self.scene.now();
        let last = tries.last_mut().unwrap();
        last.ended = ended;
        last.end = match ran.unwrap().committed {
            Some(number) => Ended::Committed(number.0),
            None => Ended::Unchanged,
        };
        tries
    }

    fn follow(&self, plan: &[Intent], transaction: &mut Transaction) -> Vec<Step> {
        transaction.set_isolation(self.workload.isolation);
        let steps = plan.iter().map(|intent| {
            // Others get their turn in the midst of the transaction.
            std::thread::yield_now();
            self.take(*intent, transaction)
        });
        steps.collect()
    }

    fn take(&self, intent: Intent, transaction: &mut Transaction) -> Step {
        let version = || self.scene.versions.fetch_add(1, Ordering::Relaxed);
        match intent {
            Intent::Read(key) => {
                let at = repository_key(key);
                let document = match self.workload.reads {
                    Reads::Get => transaction.get(&notes(), &at).unwrap(),
                    Reads::Peek => transaction.peek(&notes(), &at).unwrap(),
                };
                Step::Read { key, seen: document.map(|d| seen(&d)) }
            }
            Intent::Range(part) => range(part, transaction),
            Intent::Index(numbers) => index(numbers, transaction),
            Intent::Put(key) => {
                let version = version();
                let value = match key.0 {
                    0..NUMBERS => version.to_string(),
                    _ => format!("[{version}]"),
                };
                put(transaction, key, &value);
                Step::Put { key, version, value }
            }
            Intent::Append(key) => {
                let version = version();
                let (path, value) = (String::new(), version.to_string());
                let operation = Merge::Append { path, value };
                transaction.merge(&notes(), &repository_key(key), operation).unwrap();
                Step::Append { key, version }
            }
            Intent::Add(key, delta) => {
                add(transaction, key, delta);
                Step::Add { key, version: version(), delta }
            }
            Intent::Delete(key) => {
                transaction.delete(&notes(), &repository_key(key)).unwrap();
                Step::Delete { key, version: version() }
            }
        }
    }
}

fn range(part: Part, transaction: &mut Transaction) -> Step {
    let (from, to) = (repository_key(part.from), repository_key(part.to));
    let range = KeyRange::new(Bound::Included(from), Bound::Included(to));
    let direction = direction(part.is_descending);
    let found = transaction.range(&notes(), &range, direction, part.limit).unwrap();
    let seen = found.iter().map(|(key, d)| (Key::parse(key.as_str()), seen(d))).collect();
    Step::Range { part, seen }
}

fn index(numbers: Numbers, transaction: &mut Transaction) -> Step {
    let from = Bound::Included(IndexValue::Number(numbers.from as f64));
    let range = IndexRange { from, ..IndexRange::all() };
    let direction = direction(numbers.is_descending);
    let found =
        transaction.index_range(&notes(), "numbers", &range, direction, numbers.limit).unwrap();
    let seen = found.iter().map(|e| (Key::parse(e.key.as_str()), seen(&e.document))).collect();
    Step::Index { numbers, seen }
}

fn direction(is_descending: bool) -> Direction {
    if is_descending { Direction::Descending } else { Direction::Ascending }
}

fn seen(document: &Document) -> Seen {
    let value = String::from_utf8(document.body.to_vec()).unwrap();
    Seen { commit: document.version.0, value }
}

/// A step before it is taken.
#[derive(Clone, Copy)]
enum Intent {
    Read(Key),
    Range(Part),
    Index(Numbers),
    Append(Key),
    Put(Key),
    Add(Key, i64),
    Delete(Key),
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `bound - 1`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
