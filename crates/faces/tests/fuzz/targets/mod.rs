//! What each target does with the bytes that it is given, and what must be so whatever they are.
//! A mistake is a panic. `docs/fuzzing.md` says how to run them.

mod patch;

/// A target: its name, what it does, and inputs to begin from.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: &'static [&'static [u8]],
}

/// Separates the parts of an input; no UTF-8 has it.
const SEPARATOR: u8 = 0xff;

/// All of them.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    patch::TARGETS.iter()
}
