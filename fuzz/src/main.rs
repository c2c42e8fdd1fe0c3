//! The fuzz targets of all crates under libFuzzer, which finds
//! inputs by coverage. `scripts/fuzz.sh` builds and runs this; `docs/fuzzing.md` says how. Which
//! target runs is in the environment, because the arguments are libFuzzer's.

#![no_main]

#[path = "../../crates/faces/tests/fuzz/targets/mod.rs"]
mod faces_targets;
#[path = "../../crates/gem/tests/fuzz/targets.rs"]
mod gem_targets;
#[path = "../../crates/lab/tests/fuzz/targets.rs"]
mod lab_targets;
#[path = "../../crates/memcached/tests/fuzz/targets.rs"]
mod memcached_targets;
#[path = "../../crates/repository/tests/fuzz/model.rs"]
mod model;
#[path = "../../crates/repository/tests/fuzz/operations.rs"]
mod operations;
#[path = "../../crates/query/tests/fuzz/targets.rs"]
mod query_targets;
#[path = "../../crates/schema/tests/fuzz/targets.rs"]
mod schema_targets;
#[path = "../../crates/repository/tests/fuzz/target.rs"]
mod target;
#[path = "../../crates/repository/tests/fuzz/targets.rs"]
mod targets;
#[path = "../../crates/wire/tests/fuzz/targets.rs"]
mod wire_targets;

use std::path::PathBuf;
use std::sync::LazyLock;
use target::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let below_faces = targets::TARGETS.iter().chain(query_targets::TARGETS);
    let below_faces = below_faces.chain(schema_targets::TARGETS);
    let below_faces = below_faces.chain(gem_targets::TARGETS).chain(wire_targets::TARGETS);
    let below_faces = below_faces.chain(lab_targets::TARGETS).chain(memcached_targets::TARGETS);
    let targets: Vec<&Target> = below_faces.chain(faces_targets::targets()).collect();
    let known: Vec<&str> = targets.iter().map(|target| target.name).collect();
    targets
        .iter()
        .find(|target| target.name == name)
        .copied()
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
