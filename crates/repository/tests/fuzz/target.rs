//! What a fuzz target is, for all crates that have some.

/// A target: its name, what it does, and inputs to begin from.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: &'static [&'static [u8]],
}

/// Separates the parts of an input; no UTF-8 has it.
#[allow(dead_code, reason = "not all inputs have parts")]
pub const SEPARATOR: u8 = 0xff;
