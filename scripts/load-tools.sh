#!/bin/sh
# Builds the load generators that `make bench-lab` measures beside the lab and Debian does not have,
# below the folder that is named: oha (crates.io) and k6 (a Go module), each in a fixed version. One
# that cannot be built is said and left out. May be run any number of times.
set -eu

oha=1.16.0
k6=v0.52.0

mkdir -p "$1/bin"
folder=$(cd "$1" && pwd)

"$folder/bin/oha" --version 2>/dev/null | grep -q "$oha" ||
    cargo install oha --version "$oha" --locked --root "$folder" --target-dir "$folder/build" >&2 ||
    echo "load-tools: oha $oha could not be built; going on without it" >&2

# Where the archive from go.dev puts it; a shell that is no login shell may not look there.
PATH=$PATH:/usr/local/go/bin
"$folder/bin/k6" version 2>/dev/null | grep -q "$k6" ||
    GOBIN="$folder/bin" go install "go.k6.io/k6@$k6" >&2 ||
    echo "load-tools: k6 $k6 could not be built (it needs Go); going on without it" >&2
