//! Tags and the note of a run: a file beside its folder, the only thing about a run that changes.

use super::error::{ArchiveError, writing};
use super::id::RunId;
use crate::limits::{RUN_NOTE_BYTES_MAX, RUN_TAG_BYTES_MAX, RUN_TAGS_MAX};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Tags and the note of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// In order.
    pub tags: BTreeSet<String>,
    /// Empty: none.
    pub note: String,
}

impl Label {
    /// Behind the id in the name of the file.
    pub(super) const BESIDE: &str = ".tags.json";

    /// What is kept of a run. A file that is damaged is as if there were none: `verify` is about
    /// runs, and this is no part of one.
    pub(super) fn read(runs: &Path, id: &RunId) -> Self {
        let text = fs::read_to_string(path(runs, id)).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let tags = value["tags"].as_array().into_iter().flatten();
        Self {
            tags: tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
            note: value["note"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Keeps it: whoever reads sees what was there or what is there now.
    pub(super) fn write(&self, runs: &Path, id: &RunId) -> Result<(), ArchiveError> {
        let path = path(runs, id);
        let new = runs.join(format!("{id}{}.new", Self::BESIDE));
        let text = format!("{:#}\n", json!({ "tags": self.tags, "note": self.note }));
        let written = File::create(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &path));
        written.map_err(writing(&path))
    }

    pub(super) fn retag(&mut self, add: &[String], remove: &[String]) -> Result<(), ArchiveError> {
        if let Some(bad) = add.iter().chain(remove).find(|tag| !is_tag(tag)) {
            return Err(ArchiveError::Tag(bad.clone()));
        }
        self.tags.retain(|tag| !remove.contains(tag));
        self.tags.extend(add.iter().cloned());
        if self.tags.len() > RUN_TAGS_MAX {
            return Err(ArchiveError::Tags);
        }
        Ok(())
    }

    pub(super) fn renote(&mut self, text: &str) -> Result<(), ArchiveError> {
        if text.len() > RUN_NOTE_BYTES_MAX {
            return Err(ArchiveError::Note(text.len()));
        }
        text.clone_into(&mut self.note);
        Ok(())
    }
}

fn is_tag(tag: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._:=-".contains(c);
    !tag.is_empty() && tag.len() <= RUN_TAG_BYTES_MAX && tag.chars().all(is_part)
}

fn path(runs: &Path, id: &RunId) -> PathBuf {
    runs.join(format!("{id}{}", Label::BESIDE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_label_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let id = RunId::new(SystemTime::now(), "a");
        assert_eq!(Label::read(folder.path(), &id), Label::default());
        let mut label = Label::default();
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        label.retag(&words(&["b", "a"]), &[]).unwrap();
        label.retag(&words(&["c=1"]), &words(&["b", "none"])).unwrap();
        label.renote("what I saw").unwrap();
        label.write(folder.path(), &id).unwrap();
        assert_eq!(Label::read(folder.path(), &id), label);
        assert_eq!(label.tags.into_iter().collect::<Vec<_>>(), ["a", "c=1"]);
    }

    #[test]
    fn limits_are_refused() {
        let mut label = Label::default();
        for bad in ["", "a b", "a,b", &"x".repeat(RUN_TAG_BYTES_MAX + 1)] {
            let refused = label.retag(&[bad.to_owned()], &[]);
            assert!(matches!(refused, Err(ArchiveError::Tag(_))), "{bad}");
        }
        let many: Vec<String> = (0..=RUN_TAGS_MAX).map(|number| number.to_string()).collect();
        assert!(label.retag(&many[1..], &[]).is_ok());
        assert!(matches!(label.retag(&many[..1], &[]), Err(ArchiveError::Tags)));
        let long = "x".repeat(RUN_NOTE_BYTES_MAX + 1);
        assert!(matches!(label.renote(&long), Err(ArchiveError::Note(_))));
        assert!(label.renote(&long[1..]).is_ok());
    }
}
