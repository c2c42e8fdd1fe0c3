#!/bin/sh
# Runs one fuzz target under libFuzzer: scripts/fuzz.sh TARGET SECONDS [libFuzzer's options]
# Inputs that are worth keeping stay in target/fuzz-corpus/TARGET; one that fails is written to
# the same folder as crash-*, and the command to repeat it is printed.
set -eu
cd "$(dirname "$0")/.."

target=$1
seconds=$2
shift 2

# What `cargo fuzz` passes, without a sanitizer: works with the stable compiler. Giving --target
# keeps build scripts and procedural macros without instrumentation.
RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
export RUSTFLAGS
host=$(rustc -vV | sed -n 's/^host: //p')
build=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
cargo build --quiet --locked --release --manifest-path fuzz/Cargo.toml \
    --target "$host" --target-dir "$build"

corpus=${CARGO_TARGET_DIR:-$PWD/target}/fuzz-corpus/$target
mkdir -p "$corpus"
# A repository that is only looked at need not reach a disk.
if [ -w /dev/shm ]; then
    TMPDIR=/dev/shm
    export TMPDIR
fi
FUZZ_TARGET=$target FUZZ_SEEDS=$corpus "$build/$host/release/fuzz" \
    -artifact_prefix="$corpus/" -max_total_time="$seconds" -max_len=1024 -len_control=10 -timeout=10 \
    -print_final_stats=1 "$@" "$corpus"
