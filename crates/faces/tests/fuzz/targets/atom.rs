//! Paths of publishing, and names that slugs and titles give.

use crate::target::Target;
use faces::fuzzing::{atom_member, atom_name};

pub(super) const TARGETS: &[Target] = &[Target {
    name: "atom-path",
    run: path,
    seeds: &[
        b"/atom",
        b"/atom/blog/entries/first-post",
        b"/atom/a/media/the-beach-at-s%C3%A8te",
        b"/atom/a/archive/12",
        b"/atom/a/entries/%2e%2e",
        b"/atom/a/entries/..%2F..%00",
        b"The Beach at S\xc3\xa8te/../",
    ],
}];

/// What is found names itself, never leaves its publication, and is found where it says it is.
fn path(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Some(name) = atom_name(text) {
        assert_eq!(atom_name(&name).as_deref(), Some(name.as_str()), "it is one itself");
        assert!(!name.contains(['/', '.', '%']) && !name.contains(char::is_control));
    }
    let Some((publication, member, path)) = atom_member(text) else { return };
    assert_eq!(path.matches('/').count(), 4, "{path}");
    assert!(!matches!(member.as_str(), "" | "." | "..") && !member.contains('/'));
    assert_eq!(atom_member(&path), Some((publication, member, path.clone())), "{path}");
}
