//! What is lost where the log is damaged: a walk over all that can still be read of it, which goes
//! on behind the first damage. It decides nothing: whether there is damage, reading the log says
//! (`reader`).

use crate::disk::BLOCK_BYTES;
use crate::document::CommitNumber;
use crate::record;
use crate::tranlog::frame::{self, Found};
use crate::tranlog::segment::{Home, SegmentHeader};
use bytes::Bytes;
use std::collections::BTreeSet;

/// Documents that are named of what stands behind damage.
const NAMED_MAX: usize = 10;

/// One line for each stretch of commits after `after` that is missing, and one for what stands
/// behind the first of them.
pub(crate) fn losses(home: &Home, after: CommitNumber) -> Vec<String> {
    let sequences = match home.sequences() {
        Ok(sequences) => sequences,
        Err(error) => return vec![format!("lost: all of the tranlog: {error}")],
    };
    let mut walk = Walk { after, last: None, lines: Vec::new(), behind: Behind::default() };
    for sequence in sequences {
        walk.segment(home, sequence);
    }
    let Walk { mut lines, behind, .. } = walk;
    lines.extend(behind.line());
    lines
}

struct Walk {
    after: CommitNumber,
    /// The last record that was found.
    last: Option<CommitNumber>,
    lines: Vec<String>,
    behind: Behind,
}

/// What stands behind damage: whole, but nothing that is missing before it can be made up.
#[derive(Default)]
struct Behind {
    is_reached: bool,
    first: Option<CommitNumber>,
    last: CommitNumber,
    documents: BTreeSet<String>,
    more: u64,
}

impl Walk {
    fn segment(&mut self, home: &Home, sequence: u64) {
        let path = home.path(sequence);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = match home.disk.read(&path, 0, u64::MAX) {
            Ok(content) => Bytes::from(content),
            Err(error) => {
                self.lines.push(format!("lost: what segment {name} holds: {error}"));
                return;
            }
        };
        let header = match SegmentHeader::decode(&content) {
            Ok(header) => header,
            Err(why) => {
                self.lines.push(format!("lost: what segment {name} holds: {why}"));
                self.behind.is_reached = true;
                return;
            }
        };
        let mut at = BLOCK_BYTES;
        let mut hole = None;
        while at < content.len() {
            match frame::decode(&header, &content.slice(at..)) {
                Found::Frame(frame, records, length) => {
                    let place = hole.take().unwrap_or(at);
                    self.follow(frame.previous, &format!("segment {name} at offset {place}"));
                    for (number, record) in records {
                        self.record(number, &record);
                    }
                    at += length;
                }
                Found::Nothing | Found::Broken(_) => {
                    hole.get_or_insert(at);
                    at += BLOCK_BYTES;
                }
            }
        }
    }

    /// Notes what is missing before a frame that follows the record `previous`.
    fn follow(&mut self, previous: CommitNumber, place: &str) {
        let known = self.last.unwrap_or(self.after).max(self.after);
        if previous > known {
            let (first, last) = (known.next(), previous);
            let line = format!("lost: commits {first} to {last}, or some of them, before {place}");
            self.lines.push(line);
            self.behind.is_reached = true;
        }
    }

    fn record(&mut self, number: CommitNumber, record: &Bytes) {
        self.last = Some(number);
        if number <= self.after {
            return;
        }
        match record::decode(record) {
            Err(error) => {
                self.lines.push(format!("lost: commit {number}: its record is damaged {error}"));
                self.behind.is_reached = true;
            }
            Ok((_, writes)) if self.behind.is_reached => {
                self.behind.first.get_or_insert(number);
                self.behind.last = number;
                for write in writes {
                    self.behind.name(format!("{}/{}", write.collection, write.key));
                }
            }
            Ok(_) => {}
        }
    }
}

impl Behind {
    fn name(&mut self, document: String) {
        if self.documents.len() < NAMED_MAX {
            self.documents.insert(document);
        } else if !self.documents.contains(&document) {
            self.more += 1;
        }
    }

    fn line(self) -> Option<String> {
        let (first, last) = (self.first?, self.last);
        let names: Vec<String> = self.documents.into_iter().collect();
        let more = match self.more {
            0 => String::new(),
            more => format!(" and others ({more} more writes)"),
        };
        Some(format!(
            "lost: commits {first} to {last} stand behind that, whole, and follow on nothing; they \
             write {}{more}",
            names.join(", ")
        ))
    }
}
