//! What is measured: the list of cases. What a case does is in `client`, on what in `grounds`.

use crate::client::Work;
use crate::grounds::Ground;
use repository::Durability::{self, Synced, Volatile, Written};

/// One line of the table.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub durability: Durability,
    pub work: Work,
    /// Transactions that wait for their replies at a time.
    pub outstanding: usize,
}

/// Cases that run on the same repository, one after the other.
pub struct Group {
    pub ground: Ground,
    pub cases: Vec<Case>,
}

const MANY: u64 = 1_000_000;
const ACCOUNTS: u64 = 100_000;
const INDEXED: u64 = 100_000;

/// Changes wait for the disk, so it matters how many do so together.
const CHANGES: &[usize] = &[1, 64, 1024];

/// Reads of what is durable wait for nothing: with 1 they have one thread, with 64 all.
const READS: &[usize] = &[1, 64];

/// Name, ground, work, outstanding.
type Kind = (&'static str, Ground, Work, &'static [usize]);

fn few(durability: Durability) -> Kind {
    let ground = Ground::Documents { documents: 128, durability };
    ("read-modify-write of 128 documents", ground, Work::ReadModifyWrite, CHANGES)
}

fn many(durability: Durability) -> Kind {
    let ground = Ground::Documents { documents: MANY, durability };
    ("read-modify-write of 1,000,000 documents", ground, Work::ReadModifyWrite, CHANGES)
}

fn create(durability: Durability) -> Kind {
    ("create", Ground::Empty { durability, indexes: 0 }, Work::Create, CHANGES)
}

fn insert(name: &'static str, indexes: usize) -> Kind {
    (name, Ground::Empty { durability: Synced, indexes }, Work::Create, CHANGES)
}

fn transfer(name: &'static str, skew: f64) -> Kind {
    (name, Ground::Accounts { accounts: ACCOUNTS }, Work::Transfer { skew }, CHANGES)
}

fn kinds() -> Vec<Kind> {
    let empty = Ground::Empty { durability: Synced, indexes: 0 };
    let few_synced = Ground::Documents { documents: 128, durability: Synced };
    let many_synced = Ground::Documents { documents: MANY, durability: Synced };
    let at_rest = Ground::AtRest { documents: MANY };
    let indexed = Ground::Indexed { documents: INDEXED };
    vec![
        few(Synced),
        few(Written),
        few(Volatile),
        many(Synced),
        ("get of 1,000,000 documents, in memory", many_synced, Work::Get, READS),
        ("range of 100 documents, in memory", many_synced, Work::Scan, READS),
        many(Written),
        many(Volatile),
        create(Synced),
        create(Written),
        create(Volatile),
        ("create, expiring after a second, reaped", empty, Work::CreateExpiring, CHANGES),
        insert("create, one index", 1),
        insert("create, three indexes", 3),
        ("get of 128 documents, in memory", few_synced, Work::Get, READS),
        ("get of 1,000,000 documents, at rest", at_rest, Work::Get, READS),
        ("range of 100 documents, at rest", at_rest, Work::Scan, READS),
        ("index range of 100 documents, in memory", indexed, Work::IndexRange, READS),
        transfer("transfer, 100,000 accounts, Zipf 0", 0.0),
        transfer("transfer, 100,000 accounts, Zipf 1.5", 1.5),
        ("tally on one key", empty, Work::TallyShared, CHANGES),
        ("tally on a key for each thread", empty, Work::TallyPrivate, CHANGES),
    ]
}

/// The cases with `only` in their name, on data sets smaller by `divisor`. Each case gets a
/// repository of its own, but for those on large data sets, which take long to prepare.
pub fn groups(only: &str, divisor: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (name, ground, work, outstanding) in kinds() {
        if !name.contains(only) {
            continue;
        }
        let ground = ground.smaller(divisor);
        let durability = ground.durability();
        for &outstanding in outstanding {
            let case = Case { name, durability, work, outstanding };
            match groups.last_mut() {
                Some(last) if last.ground == ground && ground.is_costly() => last.cases.push(case),
                _ => groups.push(Group { ground, cases: vec![case] }),
            }
        }
    }
    groups
}
