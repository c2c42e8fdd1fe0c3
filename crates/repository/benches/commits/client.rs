//! What one thread of a case does: transactions of a kind, so many outstanding, for a time.

use crate::grounds::BALANCE;
use crate::measure::documents::{body, changed, key, notes, now, run};
use crate::measure::random::{Random, Zipf};
use crate::measure::window::Window;
use repository::{
    CollectionName, Direction, Document, IndexRange, IndexValue, Key, KeyRange, MediaType, Merge,
    Ran, Repository, Timestamp, Transaction,
};
use std::ops::Bound;
use std::time::{Duration, Instant};

/// What a transaction does.
#[derive(Clone, Copy)]
pub enum Work {
    /// Reads a document, changes it and writes it.
    ReadModifyWrite,
    /// Writes a document under a new key.
    Create,
    /// The same, and the document expires after a second.
    CreateExpiring,
    /// Reads a document.
    Get,
    /// Reads 100 documents in the order of keys, from a random one on.
    Scan,
    /// Reads 100 documents in the order of an index, from a random value on.
    IndexRange,
    /// Reads two accounts and writes both; which two, by Zipf's law with this exponent.
    Transfer { skew: f64 },
    /// Adds one to the same number as everybody.
    TallyShared,
    /// Adds one to the thread's own number.
    TallyPrivate,
}

impl Work {
    /// The exponent, where documents are not drawn evenly.
    pub fn skew(self) -> Option<f64> {
        if let Self::Transfer { skew } = self { Some(skew) } else { None }
    }
}

/// Documents that a scan reads.
const SCANNED: usize = 100;

const EXPIRY_MS: u64 = 1_000;

/// What came of it.
#[derive(Clone, Copy, Default)]
pub struct Done {
    /// Transactions whose reply left.
    pub commits: u64,
    /// Tries that lost to another transaction and ran again.
    pub aborts: u64,
    /// Tries that were refused because the repository was overloaded.
    pub refused: u64,
}

impl Done {
    pub fn plus(self, other: Self) -> Self {
        Self {
            commits: self.commits + other.commits,
            aborts: self.aborts + other.aborts,
            refused: self.refused + other.refused,
        }
    }
}

/// One thread.
pub struct Client<'a> {
    pub repository: &'a Repository,
    pub work: Work,
    /// Documents there are.
    pub documents: u64,
    pub zipf: Option<&'a Zipf>,
    pub thread: u64,
    pub threads: u64,
    pub random: Random,
    pub created: u64,
}

impl Client<'_> {
    /// Works for `duration`, and until the last reply has left.
    pub fn run(&mut self, outstanding: usize, duration: Duration) -> Done {
        let started = Instant::now();
        let mut window = Window::new(self.repository, outstanding);
        let mut done = Done::default();
        while !done.commits.is_multiple_of(16) || started.elapsed() < duration {
            let (ran, refused) = self.step();
            window.admit(ran.wait_for);
            let aborts = u64::from(ran.conflicts);
            done = done.plus(Done { commits: 1, aborts, refused });
        }
        window.drain();
        done
    }

    fn step(&mut self) -> (Ran<()>, u64) {
        let notes = &notes();
        match self.work {
            Work::ReadModifyWrite => {
                let (key, digit) = (self.pick(), self.random.next());
                run(self.repository, |transaction| {
                    let old = transaction.get(notes, &key).unwrap().unwrap();
                    let body = changed(&old.body, digit);
                    transaction.put(notes, &key, MediaType::Json, body, None).unwrap();
                })
            }
            Work::Create => self.create(None),
            Work::CreateExpiring => self.create(Some(Timestamp(now().0 + EXPIRY_MS))),
            Work::Get => {
                let key = self.pick();
                run(self.repository, |transaction| {
                    transaction.get(notes, &key).unwrap().unwrap();
                })
            }
            Work::Scan => {
                let range = KeyRange::new(Bound::Included(self.pick()), Bound::Unbounded);
                let direction = Direction::Ascending;
                run(self.repository, |transaction| {
                    transaction.range(notes, &range, direction, SCANNED).unwrap();
                })
            }
            Work::IndexRange => self.index_range(),
            Work::Transfer { .. } => self.transfer(),
            Work::TallyShared => self.add_one(&tally(0)),
            Work::TallyPrivate => self.add_one(&tally(self.thread)),
        }
    }

    /// The key of a random document.
    fn pick(&mut self) -> Key {
        key(self.random.below(self.documents))
    }

    fn create(&mut self, expires: Option<Timestamp>) -> (Ran<()>, u64) {
        let i = self.created * self.threads + self.thread;
        self.created += 1;
        run(self.repository, |transaction| {
            transaction.put(&notes(), &key(i), MediaType::Json, body(i), expires).unwrap();
        })
    }

    fn index_range(&mut self) -> (Ran<()>, u64) {
        let price = IndexValue::Number(self.random.below(1_000_000) as f64);
        let from = Bound::Included(price);
        let range = IndexRange { equal: Vec::new(), from, to: Bound::Unbounded };
        let direction = Direction::Ascending;
        run(self.repository, |transaction| {
            transaction.index_range(&notes(), "by_price", &range, direction, SCANNED).unwrap();
        })
    }

    fn transfer(&mut self) -> (Ran<()>, u64) {
        let zipf = self.zipf.unwrap();
        let from = zipf.draw(&mut self.random);
        let to = loop {
            let to = zipf.draw(&mut self.random);
            if to != from {
                break to;
            }
        };
        let amount = 1 + self.random.below(10) as i64;
        let notes = &notes();
        run(self.repository, |transaction| {
            let accounts = [(key(from), -amount), (key(to), amount)];
            let balances = accounts.each_ref().map(|(key, _)| balance(transaction, notes, key));
            for ((key, change), balance) in accounts.iter().zip(balances) {
                let body = format!("{{\"balance\":{}}}", balance + change).into();
                transaction.put(notes, key, MediaType::Json, body, None).unwrap();
            }
        })
    }

    fn add_one(&mut self, key: &Key) -> (Ran<()>, u64) {
        run(self.repository, |transaction| {
            let operation = Merge::Add { path: String::new(), delta: 1.0 };
            transaction.merge(&notes(), key, operation).unwrap();
        })
    }
}

fn tally(thread: u64) -> Key {
    Key::new(&format!("tally-{thread}")).unwrap()
}

fn balance(transaction: &mut Transaction, notes: &CollectionName, key: &Key) -> i64 {
    let account = transaction.get(notes, key).unwrap().unwrap();
    let number = text(&account).strip_prefix("{\"balance\":").unwrap().strip_suffix('}').unwrap();
    number.parse().unwrap()
}

fn text(document: &Document) -> &str {
    std::str::from_utf8(&document.body).unwrap()
}

/// A load that loses money or counts wrongly measures nothing: transfers keep the sum of all
/// balances, and tallies come to the number of `commits`.
pub fn check(repository: &Repository, work: Work, documents: u64, commits: u64) {
    let mut transaction = repository.begin().unwrap();
    let notes = notes();
    match work {
        Work::Transfer { .. } => {
            let balances = (0..documents).map(|i| balance(&mut transaction, &notes, &key(i)));
            assert_eq!(balances.sum::<i64>(), BALANCE * documents as i64, "sum of all balances");
        }
        Work::TallyShared | Work::TallyPrivate => {
            let range = KeyRange::prefix("tally-");
            let tallies = transaction.range(&notes, &range, Direction::Ascending, 1_000).unwrap();
            let counted = tallies.iter().map(|(_, d)| text(d).parse::<u64>().unwrap());
            assert_eq!(counted.sum::<u64>(), commits, "sum of all tallies");
        }
        _ => {}
    }
}
