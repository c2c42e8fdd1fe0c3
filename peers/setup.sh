#!/bin/sh
# Builds the servers that are measured beside Sarsen, below the build folder: those of `make
# bench-documents`, or with the argument `pages` those of `make bench-pages`, with `atompub` those of
# `make bench-atompub`. What is built already stays. Programs that Debian has are installed if they are missing.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "peers: $1" >&2
    exit 1
}

build=${CARGO_TARGET_DIR:-target}/peers

if [ "${1:-}" = pages ]; then
    scripts/setup.sh node npm postgres setpriv
    echo "peers: installing peers/express" >&2
    mkdir -p "$build/express"
    cp peers/express/*.js peers/express/*.json "$build/express"
    # The versions and their sums are those of package-lock.json.
    (cd "$build/express" && npm ci --omit=dev --no-audit --no-fund --silent >&2) ||
        fail "peers/express could not be installed; see above"
    exit
fi

# A Maven project and the sums of its libraries.
maven() {
    echo "peers: building peers/$1" >&2
    mkdir -p "$build/$1"
    place=$(cd "$build/$1" && pwd)
    mvn --batch-mode --quiet --file "peers/$1/pom.xml" "-Dpeer.directory=$place" compile >&2 ||
        fail "peers/$1 could not be built; see above"
    (cd "$place/lib" && sha256sum --check --strict --quiet) <"peers/$1/dependencies.sha256" >&2 ||
        fail "a library is not the one that peers/$1/dependencies.sha256 names: delete $place"
    expected=$(wc -l <"peers/$1/dependencies.sha256")
    [ "$(find "$place/lib" -name '*.jar' | wc -l)" = "$expected" ] ||
        fail "there are other libraries than those of dependencies.sha256: delete $place"
}

if [ "${1:-}" = atompub ]; then
    scripts/setup.sh java javac mvn apache2 taskset
    maven abdera
    exit
fi

scripts/setup.sh nginx h2load openssl java javac mvn

# Where the archive from go.dev puts it; a shell that is no login shell may not look there.
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null ||
    fail "go is missing, and Debian 12's is too old: install 1.25 or later (https://go.dev/dl)"

mkdir -p "$build/pocketbase"
target=$(cd "$build" && pwd)

echo "peers: building peers/pocketbase" >&2
# The versions and their sums are those of go.mod and go.sum.
(cd peers/pocketbase && go build -mod=readonly -o "$target/pocketbase/peer" .) ||
    fail "peers/pocketbase could not be built; see above"

maven xenon
