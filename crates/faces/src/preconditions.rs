//! Preconditions: the rules of RFC 9110 §13 over versions and times, evaluated inside the
//! transaction, so that of two conditional writes racing for one version exactly one wins. Parsing
//! the header fields is `http/conditions`.

use repository::{CommitNumber, Document, Timestamp};

/// The versions a condition names. Entity tags that no document here can have are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    /// `*`: any version.
    Any,
    /// These.
    Listed(Vec<CommitNumber>),
}

impl Versions {
    fn contain(&self, current: Option<&Document>) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::Listed(versions), Some(document)) => versions.contains(&document.version),
        }
    }
}

/// The conditions of one request; all absent in most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// If-Match (§13.1.1).
    pub matches: Option<Versions>,
    /// If-None-Match (§13.1.2).
    pub none_matches: Option<Versions>,
    /// If-Modified-Since (§13.1.3), in seconds since 1970.
    pub modified_since_s: Option<u64>,
    /// If-Unmodified-Since (§13.1.4), in seconds since 1970.
    pub unmodified_since_s: Option<u64>,
}

/// What the conditions say about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Perform it.
    Proceed,
    /// Do not send what the asker has (304). Only for reads.
    NotModified,
    /// Refuse it (412).
    Failed,
}

impl Preconditions {
    /// For an operation that only reads.
    pub(crate) fn for_read(&self, current: &Document) -> Verdict {
        if !self.guard_holds(Some(current)) {
            return Verdict::Failed;
        }
        let unchanged = match (&self.none_matches, self.modified_since_s) {
            (Some(versions), _) => versions.contain(Some(current)),
            (None, Some(since_s)) => over_s(current.updated) <= since_s,
            (None, None) => false,
        };
        if unchanged { Verdict::NotModified } else { Verdict::Proceed }
    }

    /// Whether there is one that a write has to look at.
    pub(crate) fn are_for_writes(&self) -> bool {
        self.matches.is_some() || self.none_matches.is_some() || self.unmodified_since_s.is_some()
    }

    /// Whether what must be so is so, and no more: for a read, which tells the rest.
    pub(crate) fn guard(&self, current: Option<&Document>) -> Verdict {
        if self.guard_holds(current) { Verdict::Proceed } else { Verdict::Failed }
    }

    /// For an operation that writes.
    pub(crate) fn for_write(&self, current: Option<&Document>) -> Verdict {
        let absent_holds = !self.none_matches.as_ref().is_some_and(|v| v.contain(current));
        if self.guard_holds(current) && absent_holds { Verdict::Proceed } else { Verdict::Failed }
    }

    /// Steps 1 and 2 of RFC 9110 §13.2.2. Where there is no document there is no modification
    /// date, and If-Unmodified-Since is to be ignored.
    fn guard_holds(&self, current: Option<&Document>) -> bool {
        match (&self.matches, self.unmodified_since_s, current) {
            (Some(versions), _, _) => versions.contain(current),
            (None, Some(since_s), Some(document)) => over_s(document.updated) <= since_s,
            (None, _, _) => true,
        }
    }
}

/// What Last-Modified says, in seconds since 1970, of what was written at `updated` and read on a
/// view of `seen`.
///
/// HTTP dates have whole seconds, and in one second there may be many writes. So what was written
/// is as it is since the second after it. Until that is over another write may still be told the
/// same time: then the second of the write itself is told, and taken by no condition (RFC 9110
/// §8.8.2.2 has such a date for a weak validator).
pub(crate) fn last_modified_s(updated: Timestamp, seen: Timestamp) -> u64 {
    let over_s = over_s(updated);
    if seen.0 / 1_000 > over_s { over_s } else { over_s - 1 }
}

/// The second that follows a write: who knows the document at it knows of the write.
fn over_s(updated: Timestamp) -> u64 {
    updated.0 / 1_000 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use repository::MediaType;

    fn document() -> Document {
        Document {
            media_type: MediaType::Json,
            body: Bytes::from_static(b"1"),
            blob: None,
            version: CommitNumber(7),
            created: Timestamp(1_000),
            updated: Timestamp(10_999),
            expires: None,
        }
    }

    fn listed(versions: &[u64]) -> Option<Versions> {
        Some(Versions::Listed(versions.iter().copied().map(CommitNumber).collect()))
    }

    #[test]
    fn rfc9110_13_1_1_if_match() {
        let holds = |matches, current: Option<&Document>| {
            let conditions = Preconditions { matches, ..Preconditions::default() };
            conditions.for_write(current)
        };
        let there = document();
        assert_eq!(holds(Some(Versions::Any), Some(&there)), Verdict::Proceed);
        assert_eq!(holds(Some(Versions::Any), None), Verdict::Failed);
        assert_eq!(holds(listed(&[3, 7]), Some(&there)), Verdict::Proceed);
        assert_eq!(holds(listed(&[3, 8]), Some(&there)), Verdict::Failed);
        assert_eq!(holds(listed(&[]), Some(&there)), Verdict::Failed);
        assert_eq!(holds(listed(&[7]), None), Verdict::Failed);
    }

    #[test]
    fn rfc9110_13_1_2_if_none_match() {
        let conditions = |none_matches| Preconditions { none_matches, ..Preconditions::default() };
        let there = document();
        assert_eq!(conditions(Some(Versions::Any)).for_read(&there), Verdict::NotModified);
        assert_eq!(conditions(listed(&[1, 7])).for_read(&there), Verdict::NotModified);
        assert_eq!(conditions(listed(&[8])).for_read(&there), Verdict::Proceed);
        assert_eq!(conditions(Some(Versions::Any)).for_write(Some(&there)), Verdict::Failed);
        assert_eq!(conditions(Some(Versions::Any)).for_write(None), Verdict::Proceed);
        assert_eq!(conditions(listed(&[7])).for_write(Some(&there)), Verdict::Failed);
        assert_eq!(conditions(listed(&[6])).for_write(Some(&there)), Verdict::Proceed);
    }

    #[test]
    fn rfc9110_13_1_3_if_modified_since() {
        let since = |s| Preconditions { modified_since_s: Some(s), ..Preconditions::default() };
        assert_eq!(since(11).for_read(&document()), Verdict::NotModified);
        assert_eq!(since(10).for_read(&document()), Verdict::Proceed, "it was written in that one");
        assert_eq!(since(10).for_write(Some(&document())), Verdict::Proceed, "reads only");
    }

    #[test]
    fn rfc9110_13_1_4_if_unmodified_since() {
        let since = |s| Preconditions { unmodified_since_s: Some(s), ..Preconditions::default() };
        assert_eq!(since(11).for_write(Some(&document())), Verdict::Proceed);
        assert_eq!(since(10).for_write(Some(&document())), Verdict::Failed);
        assert_eq!(since(10).for_write(None), Verdict::Proceed, "no date to compare");
        assert_eq!(since(10).for_read(&document()), Verdict::Failed);
    }

    /// Whatever date was told, a later write is after it; and when nothing is written any more, the
    /// date that is told holds.
    #[test]
    fn rfc9110_8_8_2_2_a_date_that_was_told_is_of_one_write() {
        let at = |ms| Document { updated: Timestamp(ms), ..document() };
        let since = |s| Preconditions { modified_since_s: Some(s), ..Preconditions::default() };
        for written in (5_000..7_000).step_by(250) {
            for seen in (written..written + 4_000).step_by(250) {
                let told = last_modified_s(Timestamp(written), Timestamp(seen));
                assert!(told <= seen / 1_000, "a date of the future");
                for again in (seen..seen + 2_000).step_by(250) {
                    assert_eq!(since(told).for_read(&at(again)), Verdict::Proceed);
                }
                let is_over = seen >= written + 3_000;
                let same = since(told).for_read(&at(written)) == Verdict::NotModified;
                assert!(same || !is_over, "{told} of {written} at {seen}");
            }
        }
    }

    #[test]
    fn rfc9110_13_2_2_order() {
        let all = Preconditions {
            matches: listed(&[7]),
            none_matches: listed(&[7]),
            modified_since_s: Some(0),
            unmodified_since_s: Some(0),
        };
        let there = document();
        // If-Match holds, so If-Unmodified-Since is not looked at; If-None-Match decides, so
        // If-Modified-Since is not looked at.
        assert_eq!(all.for_read(&there), Verdict::NotModified);
        let other = Preconditions { none_matches: listed(&[1]), ..all.clone() };
        assert_eq!(other.for_read(&there), Verdict::Proceed);
        let lost = Preconditions { matches: listed(&[6]), ..all };
        assert_eq!(lost.for_read(&there), Verdict::Failed, "If-Match comes first");
    }
}
