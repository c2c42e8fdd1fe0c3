//! What was written for readers, kept by the version that it was written of: whoever comes next
//! with the same version gets the same bytes, and compressed ones that were compressed once. A
//! write makes no work here: another version is another document, which is written when it is asked
//! for.

use crate::limits::{ATOM_CODED_BYTES_MIN, ATOM_RENDERED_BYTES_MAX, ATOM_RENDERED_ONE_BYTES_MAX};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use repository::CommitNumber;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::{Arc, OnceLock};

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    held: Mutex<Held>,
}

/// What a document is of: its path with its query, and the name of the server if that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub path: String,
    pub origin: Option<String>,
}

/// A document.
#[derive(Debug)]
pub(crate) struct Rendering {
    pub version: CommitNumber,
    pub plain: Bytes,
    gzip: OnceLock<Option<Bytes>>,
}

#[derive(Debug, Default)]
struct Held {
    by_name: HashMap<Name, (Arc<Rendering>, u64)>,
    /// By when it was used last, the longest ago first.
    by_use: BTreeMap<u64, Name>,
    uses: u64,
    bytes: usize,
}

impl Rendering {
    pub(crate) fn new(version: CommitNumber, plain: Bytes) -> Self {
        Self { version, plain, gzip: OnceLock::new() }
    }

    /// It compressed; none if that makes it no smaller. The first call does the work.
    pub(crate) fn gzip(&self) -> Option<Bytes> {
        self.gzip.get_or_init(|| self.compressed()).clone()
    }

    /// Whether `gzip` has no work to do.
    pub(crate) fn is_compressed(&self) -> bool {
        self.plain.len() < ATOM_CODED_BYTES_MIN || self.gzip.get().is_some()
    }

    fn compressed(&self) -> Option<Bytes> {
        if self.plain.len() < ATOM_CODED_BYTES_MIN {
            return None;
        }
        // A document of the newest version lives until the next write: it should cost little.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(4));
        // Writing to a vector cannot fail.
        encoder.write_all(&self.plain).ok()?;
        let coded = encoder.finish().ok()?;
        (coded.len() < self.plain.len()).then(|| Bytes::from(coded))
    }

    /// What it may take: compressed it is smaller, or not there.
    fn bytes(&self) -> usize {
        2 * self.plain.len()
    }
}

fn cost(name: &Name, rendering: &Rendering) -> usize {
    // A name is in two maps.
    let of_name = 2 * (name.path.len() + name.origin.as_ref().map_or(0, String::len));
    rendering.bytes() + of_name + 256
}

impl Rendered {
    /// The document of that version, if it is kept.
    pub(crate) fn get(&self, name: &Name, version: CommitNumber) -> Option<Arc<Rendering>> {
        let mut held = self.held.lock();
        let Held { by_name, by_use, uses, .. } = &mut *held;
        let (rendering, used) = by_name.get_mut(name)?;
        if rendering.version != version {
            return None;
        }
        *uses += 1;
        by_use.remove(used);
        by_use.insert(*uses, name.clone());
        *used = *uses;
        Some(Arc::clone(rendering))
    }

    /// Keeps a document, in place of one of an older version.
    pub(crate) fn put(&self, name: Name, rendering: &Arc<Rendering>) {
        if rendering.plain.len() > ATOM_RENDERED_ONE_BYTES_MAX {
            return;
        }
        let mut held = self.held.lock();
        let is_newer = |old: &(Arc<Rendering>, u64)| old.0.version > rendering.version;
        if held.by_name.get(&name).is_some_and(is_newer) {
            return;
        }
        held.remove(&name);
        held.bytes += cost(&name, rendering);
        held.uses += 1;
        let used = held.uses;
        held.by_use.insert(used, name.clone());
        held.by_name.insert(name, (Arc::clone(rendering), used));
        while held.bytes > ATOM_RENDERED_BYTES_MAX {
            let Some((_, oldest)) = held.by_use.first_key_value() else { break };
            let oldest = oldest.clone();
            held.remove(&oldest);
        }
    }
}

impl Held {
    fn remove(&mut self, name: &Name) {
        if let Some((rendering, used)) = self.by_name.remove(name) {
            self.by_use.remove(&used);
            self.bytes -= cost(name, &rendering);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str) -> Name {
        Name { path: path.to_owned(), origin: None }
    }

    fn of(version: u64, bytes: usize) -> Arc<Rendering> {
        Arc::new(Rendering::new(CommitNumber(version), Bytes::from(vec![b'a'; bytes])))
    }

    #[test]
    fn a_document_is_found_by_its_version_only() {
        let rendered = Rendered::default();
        rendered.put(name("a"), &of(2, 10));
        assert!(rendered.get(&name("a"), CommitNumber(2)).is_some());
        assert!(rendered.get(&name("a"), CommitNumber(1)).is_none());
        assert!(rendered.get(&name("a"), CommitNumber(3)).is_none());
        rendered.put(name("a"), &of(1, 10));
        assert!(rendered.get(&name("a"), CommitNumber(2)).is_some(), "the newer one stays");
        rendered.put(name("a"), &of(3, 10));
        assert!(rendered.get(&name("a"), CommitNumber(3)).is_some());
        let held = rendered.held.lock();
        assert_eq!((held.by_name.len(), held.by_use.len()), (1, 1));
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_first() {
        let rendered = Rendered::default();
        let one = ATOM_RENDERED_BYTES_MAX / 10;
        for number in 0..4 {
            rendered.put(name(&number.to_string()), &of(1, one));
        }
        assert!(rendered.get(&name("0"), CommitNumber(1)).is_some());
        rendered.put(name("4"), &of(1, one));
        let has = |path: &str| rendered.held.lock().by_name.contains_key(&name(path));
        assert!(has("0") && !has("1") && has("4"));
        rendered.put(name("large"), &of(1, ATOM_RENDERED_ONE_BYTES_MAX + 1));
        assert!(!has("large"));
        let held = rendered.held.lock();
        assert!(held.bytes <= ATOM_RENDERED_BYTES_MAX);
        assert_eq!(held.by_name.len(), held.by_use.len());
    }

    #[test]
    fn documents_are_compressed_if_that_helps() {
        assert!(of(1, 10_000).gzip().unwrap().len() < 200);
        assert!(of(1, ATOM_CODED_BYTES_MIN - 1).gzip().is_none());
        let mut noise = vec![0; 2_000];
        getrandom::fill(&mut noise).unwrap();
        assert!(Rendering::new(CommitNumber(1), Bytes::from(noise)).gzip().is_none());
    }
}
