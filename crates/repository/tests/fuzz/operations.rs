//! Transactions on a real repository, side by side with the model. Up to three are open at once;
//! each byte says what comes next. The repository is opened once and emptied before each input.

use super::model::{Expected, KEYS, Model, Place, Transaction as ModelTransaction};
use bytes::Bytes;
use repository::{
    CollectionName, Direction, IndexRange, IndexValue, Isolation, Key, KeyRange, MediaType, Merge,
    Options, Outcome, Repository, Settings, Timestamp, Transaction, fuzzing,
};
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than an index takes that is built at all.
const PATIENCE: Duration = Duration::from_secs(120);

pub const SEEDS: &[&[u8]] = &[
    // Two transactions read and write the same document; then ranges of keys and of an index.
    b"\x00\x01\x01\x08\x0c\x01\x0d\x08\x02\x08\x15\x06\x0e\x08\x26\x05\x08\x14\
      \x06\x08\x0f\x05\x07\x09\x2a\x0f\x07\x08\x00\x0e\x08",
    // Merge operations of two transactions, a deletion, an index.
    b"\x04\x08\x00\x03\x10\x08\x01\x04\x04\x08\x0c\x01\x08\x14\x03\x09\x08\x07\x09\x00\x0f",
    // Both change another member of one document, which would make a unique value twice.
    b"\x1a\x10\x05\x00\x1a\x11\x0a\x00\x20\x00\x01\x01\x10\x0c\x01\x0d\x10\
      \x02\x10\x06\x00\x08\x0e\x10\x09\x00\x14",
    // A checkpoint between two writes; then the repository is dropped and opened again.
    b"\x02\x00\x11\x05\x02\x18\x11\x00\x08\xff\x02\x08\x35\x04\x08\x01\x00\x7c\xee",
    // The same with a merge operation on what only the engine has, and closed.
    b"\x02\x00\x11\x05\x08\xff\x04\x00\x00\x03\x08\x01\x00\x64\xed",
];

/// The collections: their names and settings.
const COLLECTIONS: &[(&str, &str)] = &[
    ("plain", "{}"),
    (
        "indexed",
        r#"{"indexes":[{"name":"n","paths":[{"path":"/n","kind":"number"}]},
            {"name":"t","paths":[{"path":"/t","each":true},{"path":"/n"}]},
            {"name":"u","paths":[{"path":"/a"}],"unique":true}]}"#,
    ),
    (
        "merging",
        r#"{"conflict":"merge","indexes":[
            {"name":"ab","paths":[{"path":"/a"},{"path":"/b"}],"unique":true}]}"#,
    ),
    (
        "passing",
        r#"{"durability":"volatile","indexes":[
            {"name":"n","paths":[{"path":"/n","kind":"number"}]}]}"#,
    ),
];

/// The collection that is gone when the repository is opened again.
const VOLATILE: usize = 3;

/// Most steps of an input.
const STEPS_MAX: usize = 100;

/// Inputs after which the log is waited for.
const INPUTS_PER_WAIT: u64 = 64;

/// Of the inputs that ask for what takes long, one in so many gets it, by the sum of its bytes.
const SLOW_SHARE: usize = 128;

/// Asks for a checkpoint where a step is expected.
const CHECKPOINT: u8 = 0xff;

/// As the last byte: the repository is dropped as in a crash, opened again, and compared with the
/// model.
const DROP: u8 = 0xee;

/// The same, but it is closed.
const CLOSE: u8 = 0xed;

struct Bench {
    folder: tempfile::TempDir,
    /// Always there but while it is opened again.
    repository: Option<Arc<Repository>>,
    model: Model,
    inputs: u64,
}

static BENCH: Mutex<Option<Bench>> = Mutex::new(None);

/// Runs the transactions that `input` says.
pub fn run(input: &[u8]) {
    // An input that failed leaves the lock poisoned, and what it did is of no use.
    let mut bench = match BENCH.lock() {
        Ok(bench) => bench,
        Err(poisoned) => {
            BENCH.clear_poison();
            let mut bench = poisoned.into_inner();
            *bench = None;
            bench
        }
    };
    let bench = bench.get_or_insert_with(Bench::new);
    bench.clear();
    let sum: usize = input.iter().map(|byte| usize::from(*byte)).sum();
    let is_slow = sum.is_multiple_of(SLOW_SHARE);
    let mut steps = Steps { bytes: input, at: 0 };
    let mut open = [const { None }; 3];
    for _ in 0..STEPS_MAX {
        let Some(step) = steps.bytes.get(steps.at) else { break };
        steps.at += 1;
        if *step == CHECKPOINT {
            if is_slow {
                bench.repository().checkpoint().unwrap();
            }
            continue;
        }
        let slot = &mut open[usize::from(step / 12) % 3];
        bench.step(step % 12, slot, &mut steps);
    }
    drop(open);
    bench.compare();
    if let Some(last @ (&DROP | &CLOSE)) = input.last()
        && is_slow
    {
        bench.reopen(*last == CLOSE);
        bench.compare();
    }
}

/// The bytes of an input, from the front; zeros after the end.
struct Steps<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Steps<'_> {
    fn next(&mut self) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        usize::from(byte)
    }

    fn place(&mut self) -> Place {
        let byte = self.next();
        (byte / 8 % COLLECTIONS.len(), byte % 8 % KEYS.len())
    }

    /// A document with some members of few values.
    fn text(&mut self) -> String {
        let (first, second) = (self.next(), self.next());
        let mut members = Vec::new();
        for (name, value) in [("a", first & 3), ("b", first >> 2 & 3), ("n", first >> 4 & 3)] {
            if value > 0 {
                members.push(format!("\"{name}\":{value}"));
            }
        }
        if second & 4 != 0 {
            members.push(format!("\"t\":{}", ["[]", "[1]", "[\"x\",1]", "\"x\""][second & 3]));
        }
        format!("{{{}}}", members.join(","))
    }

    fn merge(&mut self) -> Merge {
        let (first, second) = (self.next(), self.next());
        let path = ["/n", "/t", "/a", "/b", "", "/t/0", "/x/y"][first / 7 % 7].to_owned();
        let number = second as f64 % 5.0 - 2.0;
        let value = ["1", "\"x\"", "{}", "[2]", "null", "1.0"][second % 6].to_owned();
        match first % 7 {
            0 => Merge::Add { path, delta: number },
            1 => Merge::Min { path, value: number },
            2 => Merge::Max { path, value: number },
            3 => Merge::Append { path, value },
            4 => Merge::InsertIfAbsent { path, value },
            5 => Merge::SetAdd { path, value },
            _ => Merge::SetRemove { path, value },
        }
    }

    fn index_range(&mut self, columns: usize) -> IndexRange {
        let byte = self.next();
        let value = |byte: usize| IndexValue::Number((byte % 4) as f64);
        let bound = |kind: usize, byte: usize| match kind % 3 {
            0 => Bound::Unbounded,
            1 => Bound::Included(value(byte)),
            _ => Bound::Excluded(value(byte)),
        };
        let equal = if columns > 1 && byte & 128 != 0 { vec![value(byte)] } else { Vec::new() };
        IndexRange { equal, from: bound(byte, byte / 3), to: bound(byte / 9, byte / 27) }
    }
}

/// A transaction and its model.
struct Both {
    real: Transaction,
    model: ModelTransaction,
}

fn collection(place: Place) -> CollectionName {
    CollectionName::new(COLLECTIONS[place.0].0).unwrap()
}

fn key(place: Place) -> Key {
    Key::new(KEYS[place.1]).unwrap()
}

fn direction(is_descending: bool) -> Direction {
    if is_descending { Direction::Descending } else { Direction::Ascending }
}

fn text(document: &repository::Document) -> String {
    String::from_utf8(document.body.to_vec()).unwrap()
}

fn open(folder: &tempfile::TempDir) -> Arc<Repository> {
    let options = Options {
        folder: folder.path().to_owned(),
        memory_bytes: 64 << 20,
        clock: Arc::new(|| Timestamp(1)),
    };
    Repository::open(options).unwrap().0
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = open(&folder);
        let mut settings = Vec::new();
        for (name, text) in COLLECTIONS {
            let one = Settings::from_json(text).unwrap();
            repository.configure(&CollectionName::new(name).unwrap(), &one).unwrap();
            settings.push(one);
        }
        let repository = Some(repository);
        let bench = Self { folder, repository, model: Model::new(settings), inputs: 0 };
        bench.wait_for_indexes();
        bench
    }

    /// Indexes are built in the background.
    fn wait_for_indexes(&self) {
        for (at, settings) in self.model.collections.iter().enumerate() {
            for index in &settings.indexes {
                let name = collection((at, 0));
                let is_ready = || {
                    let mut transaction = self.repository().begin().unwrap();
                    let all = IndexRange::all();
                    transaction
                        .index_range(&name, &index.name, &all, Direction::Ascending, 1)
                        .is_ok()
                };
                let begun = Instant::now();
                while !is_ready() {
                    assert!(begun.elapsed() < PATIENCE, "{} is not built", index.name);
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Deletes everything.
    fn clear(&mut self) {
        let mut transaction = self.repository().begin().unwrap();
        for place in (0..COLLECTIONS.len()).map(|at| (at, 0)) {
            let all = KeyRange::all();
            let name = collection(place);
            let found = transaction.range(&name, &all, Direction::Ascending, usize::MAX).unwrap();
            for (key, _) in found {
                transaction.delete(&name, &key).unwrap();
            }
        }
        if let Outcome::Committed(number) = transaction.commit().unwrap()
            && self.inputs.is_multiple_of(INPUTS_PER_WAIT)
        {
            self.repository().wait_durable(number).unwrap();
        }
        self.inputs += 1;
        self.model.clear();
    }

    fn repository(&self) -> &Repository {
        self.repository.as_ref().unwrap()
    }

    fn reopen(&mut self, closes: bool) {
        if closes {
            self.repository().close().unwrap();
        } else {
            let last = self.repository().begin().unwrap().view();
            self.repository().wait_durable(last).unwrap();
        }
        self.repository = None;
        self.repository = Some(open(&self.folder));
        self.model.documents.retain(|place, _| place.0 != VOLATILE);
        self.wait_for_indexes();
    }

    fn begin(&self, is_serializable: bool) -> Both {
        let mut real = self.repository().begin().unwrap();
        if !is_serializable {
            real.set_isolation(Isolation::Snapshot);
        }
        Both { real, model: self.model.begin(is_serializable) }
    }

    fn step(&mut self, step: u8, slot: &mut Option<Both>, steps: &mut Steps<'_>) {
        match step {
            0 => *slot = Some(self.begin(!steps.next().is_multiple_of(4))),
            8 | 9 => {
                if let Some(both) = slot.take() {
                    self.commit(both);
                }
            }
            10 => *slot = None,
            _ => {
                let both = slot.get_or_insert_with(|| self.begin(true));
                both.step(&self.model, step, steps);
            }
        }
    }

    fn commit(&mut self, Both { real, model }: Both) {
        let expected = self.model.expected(&model);
        let outcome = real.commit().unwrap();
        let fits = match &outcome {
            Outcome::Committed(_) => matches!(expected, Expected::Commit | Expected::Either),
            Outcome::Conflict(_) => matches!(expected, Expected::Conflict | Expected::Either),
            Outcome::Duplicate(_) => expected == Expected::Duplicate,
            Outcome::Unchanged(_) => expected == Expected::Unchanged,
            Outcome::HeldBack => false,
        };
        assert!(fits, "expected {expected:?}, got {outcome:?}");
        if matches!(outcome, Outcome::Committed(_)) {
            self.model.commit(&model);
        }
    }

    /// Everything that is committed, by keys and by every index.
    fn compare(&self) {
        let mut both = self.begin(true);
        for at in 0..COLLECTIONS.len() {
            for is_descending in [false, true] {
                both.range((at, 0), (0, KEYS.len() - 1), is_descending, 100);
            }
            for index in 0..self.model.collections[at].indexes.len() {
                both.index_range(&self.model, (at, index), &IndexRange::all(), (false, 100));
            }
        }
    }
}

impl Both {
    fn step(&mut self, model: &Model, step: u8, steps: &mut Steps<'_>) {
        let place = steps.place();
        match step {
            1 => {
                let real = self.real.get(&collection(place), &key(place)).unwrap();
                assert_eq!(real.map(|document| text(&document)), self.model.get(place));
            }
            2 | 11 => {
                let text = steps.text();
                let body = Bytes::from(text.clone());
                let (collection, key) = (collection(place), key(place));
                self.real.put(&collection, &key, MediaType::Json, body, None).unwrap();
                self.model.put(place, text);
            }
            3 => {
                self.real.delete(&collection(place), &key(place)).unwrap();
                self.model.delete(place);
            }
            4 | 5 => {
                let operation = steps.merge();
                let is_staged = self.model.merge(model, place, operation.clone());
                let real = self.real.merge(&collection(place), &key(place), operation);
                assert_eq!(real.is_ok(), is_staged, "{real:?}");
            }
            6 => {
                let (byte, last) = (steps.next(), steps.next() % KEYS.len());
                self.range(place, (place.1, last), byte & 1 > 0, 1 + byte / 2 % 8);
            }
            _ => {
                let indexes = &model.collections[place.0].indexes;
                if !indexes.is_empty() {
                    let index = place.1 % indexes.len();
                    let range = steps.index_range(indexes[index].paths.len());
                    let byte = steps.next();
                    let order = (byte & 1 > 0, 1 + byte / 2 % 8);
                    self.index_range(model, (place.0, index), &range, order);
                }
            }
        }
    }

    fn range(
        &mut self,
        place: Place,
        (first, last): (usize, usize),
        is_descending: bool,
        limit: usize,
    ) {
        if first > last {
            return;
        }
        let bound = |at: usize| Bound::Included(key((0, at)));
        let keys = KeyRange::new(bound(first), bound(last));
        let direction = direction(is_descending);
        let real = self.real.range(&collection(place), &keys, direction, limit).unwrap();
        let real: Vec<_> = real.iter().map(|(key, d)| (key.to_string(), text(d))).collect();
        let model = self.model.range(place.0, (first, last), is_descending, limit);
        assert_eq!(real, model);
    }

    fn index_range(
        &mut self,
        model: &Model,
        (at, index): (usize, usize),
        range: &IndexRange,
        (is_descending, limit): (bool, usize),
    ) {
        let index = &model.collections[at].indexes[index];
        let direction = direction(is_descending);
        let rows = fuzzing::index_bounds(index, range).unwrap();
        // Nothing can be there, so nothing is read.
        if let (Bound::Included(from), Bound::Excluded(to)) = &rows
            && from >= to
        {
            return;
        }
        let name = collection((at, 0));
        let real = self.real.index_range(&name, &index.name, range, direction, limit).unwrap();
        let row = |entry: &repository::IndexEntry| {
            let row = fuzzing::row_key(&entry.values, entry.key.as_str());
            (row, text(&entry.document))
        };
        let real: Vec<_> = real.iter().map(row).collect();
        assert_eq!(real, self.model.index_range((at, index), rows, is_descending, limit));
    }
}
