//! The storage engine's lists of tables on disk, read without the engine: a file `vN` for each, and
//! the file `current`, which names the one that counts, with its checksum. Says whether they and
//! the tables are whole, and makes `current` name a list. What is in tables is not looked at.
//! `docs/format.md`, "Lists of tables".

use crate::disk::{Disk, Files};
use crate::errors::OpenError;
use std::collections::BTreeMap;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes of a file that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Of the file `current`: the number of the newest list of tables (8 bytes), its checksum (16), the
/// kind of checksum (1).
const CURRENT_BYTES: usize = 25;

/// Of a table in a list: its number (8 bytes), the kind of its checksum (1), the checksum (16), and
/// a sequence number (8).
const LISTED_BYTES: usize = 33;

/// The tables that a list names, with their checksums.
pub(crate) type Tables = BTreeMap<PathBuf, u128>;

/// A file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub(crate) struct Damage {
    pub path: PathBuf,
    pub why: String,
}

impl Damage {
    fn new(path: &Path, why: impl ToString) -> Self {
        Self { path: path.to_owned(), why: why.to_string() }
    }
}

impl From<Damage> for OpenError {
    fn from(Damage { path, why }: Damage) -> Self {
        Self::DamagedEngine { path, why }
    }
}

/// A list of tables, as the file `current` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub number: u64,
    checksum: u128,
}

impl List {
    /// The one that counts.
    pub(crate) fn current(engine: &Path) -> Result<Self, Damage> {
        let path = engine.join("current");
        let damage = |why: String| Damage::new(&path, why);
        let text = Files.read(&path, 0, 2 * CURRENT_BYTES as u64);
        let text = text.map_err(|error| damage(error.to_string()))?;
        let Some((number, rest)) = text.split_first_chunk::<8>() else {
            return Err(damage(format!("expected {CURRENT_BYTES} bytes, got {}", text.len())));
        };
        let Some((checksum, [0])) = rest.split_first_chunk::<16>() else {
            return Err(damage("expected a number, a checksum and its kind".to_owned()));
        };
        let (number, checksum) = (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum));
        Ok(Self { number, checksum })
    }

    /// Its file.
    pub(crate) fn path(self, engine: &Path) -> PathBuf {
        engine.join(format!("v{}", self.number))
    }

    /// The tables that it names, if it is the list that was written.
    pub(crate) fn tables(self, engine: &Path) -> Result<Tables, Damage> {
        let path = self.path(engine);
        let content = read(&path)?;
        if xxh3_128(&content) != self.checksum {
            let current = engine.join("current");
            let why = format!("its checksum is not the one that {} says", current.display());
            return Err(Damage::new(&path, why));
        }
        decode(engine, &content).ok_or_else(|| Damage::new(&path, "it is no list of tables"))
    }

    /// Makes `current` name it, on disk too. A new file takes the place of the one before: a sync
    /// that failed may have left what looks like it, and is not on disk.
    pub(crate) fn make_current(self, engine: &Path) -> io::Result<()> {
        let unfinished = engine.join("current.tmp");
        let file = Files.create(&unfinished)?;
        let (number, checksum) = (self.number.to_le_bytes(), self.checksum.to_le_bytes());
        file.write(&[&number[..], &checksum, &[0]].concat(), 0)?;
        file.sync()?;
        Files.rename(&unfinished, &engine.join("current"))?;
        Files.sync_folder(engine)
    }
}

/// Whether there is neither a list of tables but the first, which is empty, nor a table: the power
/// went before the first opening had come to make the engine.
pub(crate) fn is_unmade(engine: &Path) -> Result<bool, Damage> {
    let tables = engine.join("tables");
    let names = |folder: &Path| match Files.names(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        names => names.map_err(|error| Damage::new(folder, error)),
    };
    let is_made = |name: &String| name == "current" || number_of(name).is_some_and(|n| n > 0);
    Ok(!names(engine)?.iter().any(is_made) && names(&tables)?.is_empty())
}

/// The list that counts, if it is whole and its tables are there.
pub(crate) fn check(engine: &Path) -> Result<List, Damage> {
    let list = List::current(engine)?;
    for table in list.tables(engine)?.keys() {
        Files.length(table).map_err(|error| Damage::new(table, error))?;
    }
    Ok(list)
}

/// The newest list before the one that counts, if `current` is whole: every table that it names is.
pub(crate) fn before_current(engine: &Path) -> Option<List> {
    let current = List::current(engine).ok()?;
    let names = Files.names(engine).ok()?;
    let numbers = names.iter().filter_map(|name| number_of(name));
    let number = numbers.filter(|number| *number < current.number).max()?;
    let content = read(&engine.join(format!("v{number}"))).ok()?;
    let tables = decode(engine, &content)?;
    let is_whole = tables.iter().all(|(path, checksum)| check_table(path, *checksum).is_none());
    is_whole.then(|| List { number, checksum: xxh3_128(&content) })
}

/// A folder beside the lists in which `list` is the one that counts: opening it changes no table,
/// since there are only links to them.
pub(crate) fn lay_out(engine: &Path, list: List) -> io::Result<PathBuf> {
    let trial = engine.join("trial");
    clear(&trial)?;
    Files.create_folder(&trial.join("tables"))?;
    std::fs::copy(list.path(engine), list.path(&trial))?;
    for table in list.tables(engine).map_err(io::Error::other)?.keys() {
        let name = table.file_name().unwrap_or_default();
        std::os::unix::fs::symlink(std::path::absolute(table)?, trial.join("tables").join(name))?;
    }
    list.make_current(&trial)?;
    Ok(trial)
}

/// Removes a folder that was laid out, if it is there.
pub(crate) fn clear(trial: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(trial) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        cleared => cleared,
    }
}

/// What is wrong with a table that has this checksum.
pub(crate) fn check_table(path: &Path, checksum: u128) -> Option<Damage> {
    match checksum_of(path) {
        Ok(got) if got == checksum => None,
        Ok(_) => Some(Damage::new(path, "its checksum is wrong")),
        Err(error) => Some(Damage::new(path, error)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Damage> {
    Files.read(path, 0, u64::MAX).map_err(|error| Damage::new(path, error))
}

/// The number in the name of a list.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix('v')?.parse().ok()
}

/// The tables that a list names.
fn decode(engine: &Path, content: &[u8]) -> Option<Tables> {
    let archive = sfa::Reader::from_reader(&mut Cursor::new(content)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let (from, length) = (section.pos() as usize, section.len() as usize);
    let mut rest = content.get(from..from.checked_add(length)?)?;
    let mut tables = Tables::new();
    let [levels] = take(&mut rest)?;
    for _ in 0..levels {
        let [runs] = take(&mut rest)?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let listed: [u8; LISTED_BYTES] = take(&mut rest)?;
                let mut fields = &listed[..];
                let number = u64::from_le_bytes(take(&mut fields)?);
                let [0] = take(&mut fields)? else { return None };
                let checksum = u128::from_le_bytes(take(&mut fields)?);
                tables.insert(engine.join("tables").join(number.to_string()), checksum);
            }
        }
    }
    rest.is_empty().then_some(tables)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    rest.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn checksum_of(path: &Path) -> io::Result<u128> {
    let mut hasher = Xxh3::new();
    let mut at = 0;
    loop {
        let piece = Files.read(path, at, PIECE_BYTES)?;
        hasher.update(&piece);
        at += piece.len() as u64;
        if (piece.len() as u64) < PIECE_BYTES {
            return Ok(hasher.digest128());
        }
    }
}
