//! What a disk may hold after a loss of power, from the system calls that came before it.
//!
//! POSIX promises no more than this, and file systems keep more. Content of a file is durable once
//! a sync of the file began after the write had ended, or at the end of a write to a file that is
//! open for synchronous ones. Of later writes any may be there, each whole or some of its sectors.
//! Names of a folder are durable once the folder was synced; of later changes the disk has those up
//! to any one of them, in each folder another.

use crate::harness::random::Random;
use crate::trace::{Argument, Call};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const SECTOR_BYTES: usize = 512;
const NEVER: usize = usize::MAX;
const ROOT: usize = 0;

/// What a call has changed.
struct Change {
    what: What,
    began: usize,
    ended: usize,
    durable: usize,
}

enum What {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
    Name { name: String, node: usize },
    Rename { from: String, to: String, node: usize },
    Remove { name: String },
}

/// A file or a folder, with all its changes in order.
#[derive(Default)]
struct Node {
    is_folder: bool,
    changes: Vec<Change>,
}

struct Open {
    node: usize,
    offset: usize,
    is_synchronous: bool,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The power goes.
    PowerCut,
    /// The process is killed: what it has done stays.
    Kill,
}

/// Everything that was done below one folder.
pub struct Media {
    root: PathBuf,
    nodes: Vec<Node>,
    /// What has which name, as the process sees it.
    names: BTreeMap<PathBuf, usize>,
    open: HashMap<i64, Open>,
    /// When names changed and folders were synced.
    pub moments: Vec<usize>,
}

impl Media {
    /// From calls in the order in which they ended. `root` is an empty folder that is durable.
    pub fn new(root: &Path, calls: &[Call]) -> Self {
        let mut media = Self {
            root: root.to_owned(),
            nodes: vec![Node { is_folder: true, ..Node::default() }],
            names: BTreeMap::from([(root.to_owned(), ROOT)]),
            open: HashMap::new(),
            moments: Vec::new(),
        };
        let mut ordered: Vec<&Call> = calls.iter().filter(|call| call.returned >= 0).collect();
        // The number of a file that is being closed may be given to another before that has ended.
        ordered.sort_by_key(|call| if call.name == "close" { call.began } else { call.ended });
        for call in ordered {
            media.apply(call);
        }
        media
    }

    fn apply(&mut self, call: &Call) {
        match call.name.as_str() {
            "openat" => self.apply_open(call),
            "close" => drop(self.open.remove(&call.number(0))),
            "mkdir" => {
                let path = path(call, 0);
                if path.starts_with(&self.root) {
                    self.make(&path, true, call);
                }
            }
            "rename" => self.rename(&path(call, 0), &path(call, 1), call),
            "renameat" | "renameat2" => self.rename(&path(call, 1), &path(call, 3), call),
            "unlink" => self.remove(&path(call, 0), call),
            "unlinkat" => self.remove(&path(call, 1), call),
            _ if self.open.contains_key(&call.number(0)) => self.apply_to_open(call),
            _ => {}
        }
    }

    fn apply_open(&mut self, call: &Call) {
        self.open.remove(&call.returned);
        let (path, flags) = (path(call, 1), call.word(2));
        if !path.starts_with(&self.root) {
            return;
        }
        let has = |flag: &str| flags.split('|').any(|f| f == flag);
        let node = match self.names.get(&path) {
            Some(node) => *node,
            None if has("O_CREAT") => self.make(&path, false, call),
            None => panic!("opened, and never made: {}", path.display()),
        };
        assert!(!has("O_APPEND") && !has("O_TMPFILE"), "not modelled: {call:?}");
        if has("O_TRUNC") && !self.nodes[node].changes.is_empty() {
            self.change(node, What::Truncate(0), call, NEVER);
        }
        let is_synchronous = has("O_DSYNC") || has("O_SYNC");
        self.open.insert(call.returned, Open { node, offset: 0, is_synchronous });
    }

    fn apply_to_open(&mut self, call: &Call) {
        let open = self.open.get_mut(&call.number(0)).unwrap();
        let node = open.node;
        match call.name.as_str() {
            "write" | "pwrite64" => {
                let bytes = call.bytes(1).to_vec();
                assert_eq!(bytes.len() as i64, call.returned, "a short write is not modelled");
                let at = if call.name == "write" {
                    open.offset += bytes.len();
                    open.offset - bytes.len()
                } else {
                    call.number(3) as usize
                };
                let durable = if open.is_synchronous { call.ended } else { NEVER };
                self.change(node, What::Write { at, bytes }, call, durable);
            }
            "lseek" => open.offset = call.returned as usize,
            "ftruncate" => {
                self.change(node, What::Truncate(call.number(1) as usize), call, NEVER);
            }
            "fsync" | "fdatasync" => self.sync(node, call),
            "read" => open.offset += call.returned as usize,
            "fcntl" if !call.word(1).starts_with("F_DUPFD") => {}
            _ => panic!("not modelled: {call:?}"),
        }
    }

    fn sync(&mut self, node: usize, call: &Call) {
        if self.nodes[node].is_folder {
            self.moments.extend([call.began, call.ended]);
        }
        for change in &mut self.nodes[node].changes {
            if change.ended < call.began {
                change.durable = change.durable.min(call.ended);
            }
        }
    }

    fn change(&mut self, node: usize, what: What, call: &Call, durable: usize) {
        let (mut began, ended) = (call.began, call.ended);
        if self.nodes[node].is_folder {
            // A folder's changes happen one after the other.
            began = ended;
            self.moments.extend([ended - 1, ended]);
        }
        self.nodes[node].changes.push(Change { what, began, ended, durable });
    }

    fn make(&mut self, path: &Path, is_folder: bool, call: &Call) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node { is_folder, ..Node::default() });
        self.names.insert(path.to_owned(), node);
        let (folder, name) = self.place(path);
        self.change(folder, What::Name { name, node }, call, NEVER);
        node
    }

    fn rename(&mut self, from: &Path, to: &Path, call: &Call) {
        let Some(node) = self.names.remove(from) else { return };
        self.names.insert(to.to_owned(), node);
        let ((folder, from), (other, to)) = (self.place(from), self.place(to));
        if folder == other {
            self.change(folder, What::Rename { from, to, node }, call, NEVER);
        } else {
            // Nothing says that both folders come to know of it.
            self.change(other, What::Name { name: to, node }, call, NEVER);
            self.change(folder, What::Remove { name: from }, call, NEVER);
        }
    }

    fn remove(&mut self, path: &Path, call: &Call) {
        if self.names.remove(path).is_some() {
            let (folder, name) = self.place(path);
            self.change(folder, What::Remove { name }, call, NEVER);
        }
    }

    /// The folder that a path is in, and its name there.
    fn place(&self, path: &Path) -> (usize, String) {
        let folder = self.names[path.parent().unwrap()];
        (folder, path.file_name().unwrap().to_str().unwrap().to_owned())
    }

    /// How often names changed such that `is_meant`, given a name and whether it came or went.
    pub fn count(&self, is_meant: impl Fn(&str, bool) -> bool) -> usize {
        let changes = self.nodes.iter().flat_map(|node| &node.changes);
        let is_counted = |change: &&Change| match &change.what {
            What::Name { name, .. } | What::Rename { to: name, .. } => is_meant(name, true),
            What::Remove { name } => is_meant(name, false),
            _ => false,
        };
        changes.filter(is_counted).count()
    }

    /// Writes to `folder`, which is there, what such an end at `cut` may leave.
    pub fn image(&self, (end, cut): (End, usize), random: &mut Random, folder: &Path) {
        self.image_of(ROOT, (end, cut), random, folder);
    }

    fn image_of(&self, folder: usize, (end, cut): (End, usize), random: &mut Random, to: &Path) {
        let changes = &self.nodes[folder].changes;
        let made = changes.iter().take_while(|change| change.ended <= cut).count();
        let durable = changes[..made].iter().rposition(|change| change.durable <= cut);
        let durable = durable.map_or(0, |last| last + 1);
        let kept = match random.below(4) {
            _ if end == End::Kill => made,
            0 => durable,
            1 => made,
            _ => durable + random.below(made - durable + 1),
        };
        let mut names = BTreeMap::new();
        for change in &changes[..kept] {
            match &change.what {
                What::Name { name, node } => drop(names.insert(name, *node)),
                What::Rename { from, to, node } => {
                    names.remove(from);
                    names.insert(to, *node);
                }
                What::Remove { name } => drop(names.remove(name)),
                What::Write { .. } | What::Truncate(_) => unreachable!("of a folder"),
            }
        }
        for (name, node) in names {
            let path = to.join(name);
            if self.nodes[node].is_folder {
                std::fs::create_dir(&path).unwrap();
                self.image_of(node, (end, cut), random, &path);
            } else {
                std::fs::write(&path, self.content(node, (end, cut), random)).unwrap();
            }
        }
    }

    fn content(&self, file: usize, (end, cut): (End, usize), random: &mut Random) -> Vec<u8> {
        let mut content = Vec::new();
        let luck = random.below(4);
        for change in self.nodes[file].changes.iter().take_while(|change| change.began <= cut) {
            // What was not synced: nothing of it, all of it, or some.
            let is_whole = change.durable <= cut
                || (end == End::Kill && change.ended <= cut)
                || match luck {
                    0 => false,
                    1 => true,
                    _ => random.once_in(3),
                };
            let is_torn = !is_whole && luck > 1 && random.once_in(2);
            match &change.what {
                What::Write { at, bytes } if is_whole => put(&mut content, *at, bytes),
                What::Write { at, bytes } if is_torn => tear(&mut content, *at, bytes, random),
                What::Truncate(length) if is_whole => content.resize(*length, 0),
                _ => {}
            }
        }
        content
    }
}

fn path(call: &Call, index: usize) -> PathBuf {
    if index > 0
        && let Argument::Word(folder) = &call.arguments[index - 1]
    {
        let is_absolute = call.bytes(index).starts_with(b"/");
        assert!(folder == "AT_FDCWD" || is_absolute, "not modelled: {call:?}");
    }
    PathBuf::from(String::from_utf8(call.bytes(index).to_vec()).unwrap())
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}

/// Writes some of the sectors.
fn tear(content: &mut Vec<u8>, at: usize, bytes: &[u8], random: &mut Random) {
    let mut from = 0;
    while from < bytes.len() {
        let to = bytes.len().min(from + SECTOR_BYTES - (at + from) % SECTOR_BYTES);
        if random.once_in(2) {
            put(content, at + from, &bytes[from..to]);
        }
        from = to;
    }
}
