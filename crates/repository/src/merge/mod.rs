//! Merge operations: intents that are resolved in `apply` and never conflict with each other.
//!
//! What an operation makes of a document is in `resolve`, its bytes in a record in `encoding`.

mod encoding;
mod resolve;

pub(crate) use encoding::{decode, encode};

use crate::json;
use crate::limits::DOCUMENT_BYTES_MAX;

/// An intent staged on one document.
///
/// The path is a JSON Pointer (RFC 6901); empty for the whole document. A missing document counts
/// as `{}` unless the path is empty. A value is canonical JSON text, and equal to another if the
/// texts are equal.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// Adds `delta` to the number at `path`. A missing document, or a missing last member of the
    /// path, counts as 0.
    Add {
        /// Where.
        path: String,
        /// How much; a finite double. Sums are those of IEEE 754 doubles.
        delta: f64,
    },
    /// Makes the number at `path` the smaller of what it is and `value`; `value` if it is missing.
    Min {
        /// Where.
        path: String,
        /// A finite double.
        value: f64,
    },
    /// Makes the number at `path` the larger of what it is and `value`; `value` if it is missing.
    Max {
        /// Where.
        path: String,
        /// A finite double.
        value: f64,
    },
    /// Appends `value` to the array at `path`; a missing array counts as empty.
    Append {
        /// Where the array is.
        path: String,
        /// The new element.
        value: String,
    },
    /// Puts `value` at `path` unless there is a value, `null` being one.
    InsertIfAbsent {
        /// Where.
        path: String,
        /// The value.
        value: String,
    },
    /// Appends `value` to the array at `path` unless an element equals it; a missing array counts
    /// as empty.
    SetAdd {
        /// Where the array is.
        path: String,
        /// The element.
        value: String,
    },
    /// Removes each element that equals `value` from the array at `path`; does nothing if there
    /// is no array.
    SetRemove {
        /// Where the array is.
        path: String,
        /// The element.
        value: String,
    },
}

/// At most the bytes that an operation takes in a record beside its path and its value.
const OVERHEAD_BYTES: usize = 16;

impl Merge {
    /// The operation's name in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Min { .. } => "min",
            Self::Max { .. } => "max",
            Self::Append { .. } => "append",
            Self::InsertIfAbsent { .. } => "insert-if-absent",
            Self::SetAdd { .. } => "set-add",
            Self::SetRemove { .. } => "set-remove",
        }
    }

    /// The path it works at.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. }
            | Self::Min { path, .. }
            | Self::Max { path, .. }
            | Self::Append { path, .. }
            | Self::InsertIfAbsent { path, .. }
            | Self::SetAdd { path, .. }
            | Self::SetRemove { path, .. } => path,
        }
    }

    /// What it carries.
    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Add { delta: number, .. }
            | Self::Min { value: number, .. }
            | Self::Max { value: number, .. } => Operand::Number(*number),
            Self::Append { value, .. }
            | Self::InsertIfAbsent { value, .. }
            | Self::SetAdd { value, .. }
            | Self::SetRemove { value, .. } => Operand::Value(value),
        }
    }

    /// At most the bytes that it takes in a record.
    pub(crate) fn bytes(&self) -> usize {
        let value = match self.operand() {
            Operand::Number(_) => 0,
            Operand::Value(value) => value.len(),
        };
        OVERHEAD_BYTES + self.path().len() + value
    }

    /// Checks what came from outside: the syntax of the path, and the number or the value.
    pub(crate) fn check(&self) -> Result<(), String> {
        json::check_pointer(self.path()).map_err(|e| e.to_string())?;
        match self.operand() {
            Operand::Number(number) => check_finite(number),
            Operand::Value(value) if value.len() > DOCUMENT_BYTES_MAX => Err(format!(
                "expected a value of at most {DOCUMENT_BYTES_MAX} bytes, got {}",
                value.len()
            )),
            Operand::Value(value) => match json::canonicalize(value.as_bytes()) {
                Ok(canonical) if canonical == value.as_bytes() => Ok(()),
                Ok(_) => Err("expected a value in canonical JSON text".to_owned()),
                Err(e) => Err(format!("the value is {e}")),
            },
        }
    }

    /// Takes `next` in, if the two together are exactly one operation.
    pub(crate) fn absorb(&mut self, next: &Self) -> bool {
        if self.path() != next.path() {
            return false;
        }
        match (self, next) {
            (Self::Add { delta, .. }, Self::Add { delta: next, .. }) => {
                let sum = *delta + next;
                let is_exact = delta.fract() == 0.0
                    && next.fract() == 0.0
                    && sum.abs() <= (1_u64 << f64::MANTISSA_DIGITS) as f64;
                if is_exact {
                    *delta = sum;
                }
                is_exact
            }
            (Self::Min { value, .. }, Self::Min { value: next, .. }) => {
                *value = value.min(*next);
                true
            }
            (Self::Max { value, .. }, Self::Max { value: next, .. }) => {
                *value = value.max(*next);
                true
            }
            // The second would find the work done.
            (Self::InsertIfAbsent { .. }, Self::InsertIfAbsent { .. }) => true,
            (Self::SetAdd { value, .. }, Self::SetAdd { value: next, .. })
            | (Self::SetRemove { value, .. }, Self::SetRemove { value: next, .. }) => value == next,
            _ => false,
        }
    }

    /// Whether it can change what is at `path`: one of the two paths leads to the other.
    pub(crate) fn may_change(&self, path: &str) -> bool {
        let own = self.path();
        let (short, long) = if own.len() < path.len() { (own, path) } else { (path, own) };
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What an operation carries beside its path.
enum Operand<'a> {
    Number(f64),
    /// Canonical JSON text.
    Value(&'a str),
}

fn check_finite(number: f64) -> Result<(), String> {
    match number.is_finite() {
        true => Ok(()),
        false => Err(format!("expected a finite number, got {number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::JSON_DEPTH_MAX;

    fn add(path: &str, delta: f64) -> Merge {
        Merge::Add { path: path.to_owned(), delta }
    }

    fn min(value: f64) -> Merge {
        Merge::Min { path: "/n".to_owned(), value }
    }

    fn max(value: f64) -> Merge {
        Merge::Max { path: "/n".to_owned(), value }
    }

    fn set_add(value: &str) -> Merge {
        Merge::SetAdd { path: "/n".to_owned(), value: value.to_owned() }
    }

    fn insert(value: &str) -> Merge {
        Merge::InsertIfAbsent { path: "/n".to_owned(), value: value.to_owned() }
    }

    fn append(value: &str) -> Merge {
        Merge::Append { path: "/n".to_owned(), value: value.to_owned() }
    }

    #[test]
    fn two_become_one_only_where_that_is_exact() {
        let large = (1_u64 << 53) as f64;
        for (first, next, together) in [
            (add("/n", 1.0), add("/n", 2.0), Some(add("/n", 3.0))),
            (add("/n", 1.0), add("/m", 2.0), None),
            (add("/n", 0.5), add("/n", 0.5), None),
            (add("/n", large), add("/n", 1.0), Some(add("/n", large))),
            (add("/n", large), add("/n", 2.0), None),
            (min(1.0), min(-2.0), Some(min(-2.0))),
            (max(1.0), max(-2.0), Some(max(1.0))),
            (min(1.0), max(1.0), None),
            (insert("1"), insert("2"), Some(insert("1"))),
            (set_add("1"), set_add("1"), Some(set_add("1"))),
            (set_add("1"), set_add("2"), None),
            (append("1"), append("1"), None),
        ] {
            let mut absorbed = first.clone();
            let is_absorbed = absorbed.absorb(&next);
            assert_eq!(is_absorbed, together.is_some(), "{first:?} {next:?}");
            assert_eq!(absorbed, together.unwrap_or(first));
        }
    }

    #[test]
    fn what_comes_from_outside_is_checked() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for good in [append("null"), append(&nested(JSON_DEPTH_MAX)), add("", -1.5)] {
            assert_eq!(good.check(), Ok(()), "{good:?}");
        }
        let too_long = format!("\"{}\"", "x".repeat(DOCUMENT_BYTES_MAX));
        for (bad, expected) in [
            (add("n", 1.0), "a JSON Pointer is empty or starts with '/'"),
            (add("/n", f64::NAN), "expected a finite number, got NaN"),
            (min(f64::INFINITY), "expected a finite number, got inf"),
            (append("1.0"), "expected a value in canonical JSON text"),
            (append("{"), "the value is not JSON at line 1"),
            (append(&nested(JSON_DEPTH_MAX + 1)), "nested deeper"),
            (append(&too_long), "expected a value of at most 8388608 bytes, got 8388610"),
        ] {
            let why = bad.check().unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn it_may_change_what_its_path_leads_to_or_through() {
        for path in ["", "/a", "/a/b", "/a/b/c", "/a/b/"] {
            assert!(add("/a/b", 1.0).may_change(path), "{path}");
        }
        for path in ["/", "/b", "/a/bc", "/a/", "/a~1b", "/a/c"] {
            assert!(!add("/a/b", 1.0).may_change(path), "{path}");
        }
        assert!(add("", 1.0).may_change("/x") && add("", 1.0).may_change(""));
    }
}
