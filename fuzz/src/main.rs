//! The fuzz targets of the repository under libFuzzer, which finds inputs by coverage.
//! `scripts/fuzz.sh` builds and runs this; `docs/fuzzing.md` says how. Which target runs is in the
//! environment, because the arguments are libFuzzer's.

#![no_main]

#[path = "../../crates/repository/tests/fuzz/model.rs"]
mod model;
#[path = "../../crates/repository/tests/fuzz/operations.rs"]
mod operations;
#[path = "../../crates/repository/tests/fuzz/targets.rs"]
mod targets;

use std::path::PathBuf;
use std::sync::LazyLock;
use targets::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .unwrap_or_else(|| panic!("FUZZ_TARGET is one of {}; got \"{name}\"", known.join(", ")))
});

/// Writes the target's seeds to the folder in `FUZZ_SEEDS`, where libFuzzer finds them.
fn write_seeds() {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS").map(PathBuf::from) else { return };
    for (i, seed) in TARGET.seeds.iter().enumerate() {
        let path = folder.join(format!("seed-{i}"));
        std::fs::write(&path, seed).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

libfuzzer_sys::fuzz_target!(init: write_seeds(), |input: &[u8]| (TARGET.run)(input));
