//! What each target does with the bytes that it is given, and what must be so whatever they are.
//! A mistake is a panic. `docs/fuzzing.md` says how to run them.

mod atom;
mod chunks;
mod html;
mod patch;

use crate::target::Target;

/// All of them.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    let patches = patch::TARGETS.iter().chain(atom::TARGETS);
    patches.chain(html::TARGETS).chain(chunks::TARGETS)
}
