//! What the patches of one transaction may cost: each looks at all of its document, and so may each
//! of its operations. On the reactor that is little, and what needs more runs again on another
//! thread.

use super::Thread;
use super::refusal::Refusal;
use crate::limits::{INLINE_WORK_BYTES_MAX, MERGE_WORK_BYTES_MAX, STEPS_WORK_BYTES_MAX};
use crate::patch::{JsonPatch, MergePatch, Refused};
use std::cell::Cell;

/// What is left of it.
pub(super) struct Work {
    pub thread: Thread,
    /// Bytes that patches may still look at.
    patch_bytes: Cell<usize>,
    /// Bytes that merge operations may still work on.
    merge_bytes: Cell<usize>,
}

impl Work {
    pub(super) fn new(thread: Thread) -> Self {
        let (patch_bytes, merge_bytes) = match thread.is_reactor {
            true => (INLINE_WORK_BYTES_MAX, INLINE_WORK_BYTES_MAX),
            false => (STEPS_WORK_BYTES_MAX, MERGE_WORK_BYTES_MAX),
        };
        let (patch_bytes, merge_bytes) = (Cell::new(patch_bytes), Cell::new(merge_bytes));
        Self { thread, patch_bytes, merge_bytes }
    }

    /// The text after a JSON Patch.
    pub(super) fn json_patch(&self, patch: &JsonPatch, text: &str) -> Result<String, Refusal> {
        let mut left = self.patch_bytes.get();
        let applied = patch.apply_within(text, &mut left);
        self.patch_bytes.set(left);
        applied.map_err(|refused| match refused {
            Refused::Work { .. } if self.thread.is_reactor => Refusal::Long,
            refused => refused.into(),
        })
    }

    /// The text after a merge patch.
    pub(super) fn merge_patch(
        &self,
        patch: &MergePatch,
        text: Option<&str>,
    ) -> Result<String, Refusal> {
        let bytes = text.map_or(0, str::len) + patch.bytes();
        self.take(&self.patch_bytes, bytes, || {
            let why = format!(
                "the patches of the list look at more than {STEPS_WORK_BYTES_MAX} bytes of \
                 documents; send fewer at a time"
            );
            Refused::Work { operation: None, why }
        })?;
        Ok(patch.apply(text)?)
    }

    /// Counts the merge operation with this index, on a document of so many bytes.
    pub(super) fn merge(&self, index: usize, document_bytes: usize) -> Result<(), Refusal> {
        self.take(&self.merge_bytes, document_bytes, || {
            let why = format!(
                "there are too many merge operations for a document of this size: together they \
                 may work on {MERGE_WORK_BYTES_MAX} bytes; send fewer at a time"
            );
            Refused::Work { operation: Some(index), why }
        })
    }

    fn take(
        &self,
        left: &Cell<usize>,
        bytes: usize,
        refused: impl FnOnce() -> Refused,
    ) -> Result<(), Refusal> {
        match left.get().checked_sub(bytes) {
            Some(rest) => {
                left.set(rest);
                Ok(())
            }
            None if self.thread.is_reactor => Err(Refusal::Long),
            None => Err(refused().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ELSEWHERE, ON_REACTOR};
    use super::*;

    /// Doubles the document with each operation.
    fn doubling(times: usize) -> JsonPatch {
        let operation = r#"{"op":"copy","from":"","path":"/0"}"#;
        let text = format!("[{}]", vec![operation; times].join(","));
        JsonPatch::of(&text).unwrap()
    }

    #[test]
    fn a_patch_that_makes_its_work_grow_leaves_the_reactor() {
        let text = format!("[\"{}\"]", "x".repeat(1_000));
        let on = |thread, times| Work::new(thread).json_patch(&doubling(times), &text);
        assert!(on(ON_REACTOR, 5).is_ok());
        assert!(matches!(on(ON_REACTOR, 12), Err(Refusal::Long)));
        assert!(on(ELSEWHERE, 12).is_ok());
    }

    #[test]
    fn the_patches_of_a_list_share_what_they_may_look_at() {
        let work = Work::new(ELSEWHERE);
        work.patch_bytes.set(10);
        let patch = MergePatch::of("{}".to_owned());
        assert!(work.merge_patch(&patch, Some("[1,2,3]")).is_ok(), "9 bytes");
        let refused = work.merge_patch(&patch, None).unwrap_err();
        assert!(matches!(refused, Refusal::Patch(Refused::Work { .. })), "{refused:?}");
        assert!(work.merge(0, MERGE_WORK_BYTES_MAX).is_ok(), "merge operations have their own");
        assert!(work.merge(1, 0).is_ok());
        assert!(matches!(work.merge(1, 1), Err(Refusal::Patch(Refused::Work { .. }))));
        let here = Work::new(ON_REACTOR);
        assert!(matches!(here.merge(0, INLINE_WORK_BYTES_MAX + 1), Err(Refusal::Long)));
    }
}
