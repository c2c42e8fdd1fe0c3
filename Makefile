# What people and machines call. Each target does its own set-up and works from a fresh clone.
#
#   make demo          start Sarsen with apps/counter, load it for 15 s, leave it running
#   make demo ONCE=1   the same, then stop; fails if there was an error
#   make test          every check and every test
#   make bench         measure, in a few minutes, and print the table of docs/performance.md
#   make bench-blobs   measure a large file to the server and back beside nginx, in some minutes
#   make bench-exchange
#                      import and export documents beside PostgreSQL, in some minutes
#   make bench-backup  back up and restore beside PostgreSQL and cp, and what that does to commits,
#                      in a quarter of an hour
#   make bench-documents
#                      measure the document API beside nginx, Xenon and PocketBase, in a good hour
#   make bench-atompub post entries as mod_atom was measured in 2008, beside Abdera and httpd, in
#                      half an hour
#   make bench-lab     measure the lab beside wrk, oha and k6, in some minutes
#   make bench-memcached
#                      measure the cache beside memcached, in half an hour
#   make bench-pages   measure pages of an application beside Express and PostgreSQL, in half an hour
#   make bench-glass   measure the counter as it was measured in October 2007, in ten minutes
#   make bench-operation
#                      commits beside backup, export, verify and the like, all at once, in twelve
#                      minutes
#   make bench-repository
#                      measure the repository alone, in half an hour, for docs/performance.md
#   make soak-repository
#                      ten minutes of sessions that come and go at full load
#   make soak          the kill -9 test again and again, each time with another seed, power cuts, and
#                      simulations
#   make conformance
#                      hold the server against programs of others: OpenAPI, OpenMetrics, clients of
#                      memcached and of AtomPub
#   make browser
#                      applications in a real browser
#   make types         the types of what applications import, and apps/ against them
#   make fuzz          libFuzzer on each fuzz target, a minute each
#   make build         the release binary

# Where rustup puts cargo; a shell that is no login shell may not look there.
export PATH := $(PATH):$(HOME)/.cargo/bin

# Rounds and seconds of each load of `make bench`.
ROUNDS ?= 5
LOAD_SECONDS ?= 10

# Seconds of each row of `make bench-documents` on each side; which rows, by a part of their name, and
# which sides, as sarsen,nginx (all, if these are empty).
SECONDS ?= 3
ONLY ?=
SIDES ?=

# Runs of `make soak`; each kills the server 50 times. And seeds of the simulator.
SOAK_RUNS ?= 20
SOAK_SEEDS ?= 10000..12000

# Bytes of the upload that `make soak` streams in and out; they need their room on the disk.
SOAK_UPLOAD_BYTES ?= 10000000000

# Calls of each kind that `make soak` has fail in the storage engine, one by one.
SOAK_FAULTS ?= 20

# Power cuts of the real repository that `make soak` tries.
SOAK_CUTS ?= 3000

# Seconds that `make fuzz` gives each target.
FUZZ_SECONDS ?= 60

# Where `make bench-repository` and `make soak-repository` put their data, on the disk that is to be
# measured; where it is empty, below `target`.
MEASURE_FOLDER ?=

# More options for these and for `make bench-documents`: SMOKE=--smoke shows that they run, and
# measures nothing.
SMOKE ?=

MEASURE = cargo bench --locked --package repository
MEASURE_OPTIONS = $(abspath $(MEASURE_FOLDER)) $(SMOKE)

# Programs from Debian's packages that the tests start: proxies and clients that are not ours.
TEST_PROGRAMS = nginx apache2 lighttpd curl nghttp h2load openssl python3-venv python3-websockets strace memcached siege unshare ip prometheus-node-exporter jing faketime

.PHONY: setup build built-for-tests demo test conformance types browser soak bench bench-blobs bench-backup bench-exchange bench-documents bench-atompub bench-lab bench-memcached bench-pages bench-glass bench-operation bench-repository soak-repository fuzz
.NOTPARALLEL:

setup:
	@scripts/setup.sh

build: setup
	cargo build --locked --release --package sarsen

demo: build
	@scripts/demo.sh

# By this the processes of a run are known.
test: export SARSEN_TEST_RUN := $(shell date +%s.%N)
test: setup
	@scripts/setup.sh $(TEST_PROGRAMS)
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(MAKE) built-for-tests
	cargo xtask tidy
	cargo metadata --locked --quiet --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
	$(MAKE) conformance
	$(MAKE) types
	$(MAKE) browser
	cargo test --locked --workspace
	@scripts/left-behind.sh SARSEN_TEST_RUN=$$SARSEN_TEST_RUN

# Requests that schemathesis makes for each operation.
EXAMPLES ?= 25

# With the features that the tests need, or what the tests build would be built a second time.
built-for-tests: setup
	cargo test --locked --workspace --no-run

conformance: built-for-tests
	@scripts/setup.sh python3-venv
	@scripts/conformance.sh "$${CARGO_TARGET_DIR:-target}/debug/sarsen" $(EXAMPLES)
	@scripts/memcached-clients.sh "$${CARGO_TARGET_DIR:-target}/debug/sarsen"
	@scripts/atompub-clients.sh "$${CARGO_TARGET_DIR:-target}/debug/sarsen"

types: setup
	@scripts/setup.sh node npm
	cd tests/types && npm ci --no-audit --no-fund --silent && npm test --silent

browser: built-for-tests
	@scripts/setup.sh chromium node npm
	cd tests/browser && npm ci --no-audit --no-fund --silent
	SARSEN="$$(realpath "$${CARGO_TARGET_DIR:-target}")/debug/sarsen" node --test --test-timeout=120000 tests/browser/

soak: setup
	@scripts/setup.sh strace siege
	POWER_CUTS=$(SOAK_CUTS) ENGINE_FAULTS=$(SOAK_FAULTS) cargo test --locked --package repository --test power_cuts
	for run in $$(seq $(SOAK_RUNS)); do \
	    cargo test --locked --quiet --package sarsen --test whole crash -- --nocapture || exit 1; \
	done
	SARSEN_UPLOAD_BYTES=$(SOAK_UPLOAD_BYTES) cargo test --locked --package sarsen --test whole uploads
	cargo run --locked --release --package sim -- --seeds $(SOAK_SEEDS)

fuzz: setup
	for target in record backup json index operations import schema filter bound cursor json-patch merge-patch atom-path html chunks form route cookie memcached-commands memcached-replies memcached-session websocket events admin-frames xml atom-entry atom-service lab-json siege-urls lab-page lab-atompub lab-reference lab-metrics lab-csv lab-access-log lab-reply scenario; do \
	    scripts/fuzz.sh $$target $(FUZZ_SECONDS) || exit 1; \
	done

bench: build
	@scripts/setup.sh nginx wrk
	cargo xtask bench $(ROUNDS) $(LOAD_SECONDS)

# One round of a second shows as much as a smoke run can.
bench-documents: build
	@peers/setup.sh
	cargo xtask bench-documents $(if $(SMOKE),1 1,$(ROUNDS) $(SECONDS)) $(SMOKE) \
	    $(if $(ONLY),--only '$(ONLY)') $(if $(SIDES),--sides $(SIDES))

# A file of MEBIBYTES, beside nginx.
bench-blobs: build
	@scripts/setup.sh nginx
	cargo xtask bench-blobs $(ROUNDS) $(or $(MEBIBYTES),1024)

# DOCUMENTS imported and exported, beside PostgreSQL.
bench-exchange: build
	@scripts/setup.sh postgres psql setpriv
	cargo xtask bench-exchange $(ROUNDS) $(or $(DOCUMENTS),500000)

# DOCUMENTS backed up and restored, beside PostgreSQL and cp; then commits beside that, LOAD_SECONDS each.
bench-backup: build
	@scripts/setup.sh postgres psql setpriv
	cargo xtask bench-backup $(ROUNDS) $(or $(DOCUMENTS),1000000) $(LOAD_SECONDS)

# Entries of each worker, and those of the largest publication whose feed is read.
POSTS ?= 1000
LARGEST ?= 1000000

bench-atompub: build
	@peers/setup.sh atompub
	cargo xtask bench-atompub $(ROUNDS) $(SECONDS) --posts $(POSTS) --largest $(LARGEST) \
	    $(if $(SIDES),--sides $(SIDES))

bench-lab: build
	@scripts/setup.sh nginx wrk taskset
	@scripts/load-tools.sh "$${CARGO_TARGET_DIR:-target}/load-tools"
	cargo xtask bench-lab $(ROUNDS) $(LOAD_SECONDS)

bench-memcached: build
	@scripts/setup.sh memcached taskset
	cargo xtask bench-memcached $(ROUNDS) $(SECONDS) $(if $(ONLY),--only '$(ONLY)')

bench-pages: build
	@peers/setup.sh pages
	cargo xtask bench-pages $(ROUNDS) $(SECONDS) $(if $(ONLY),--only '$(ONLY)')

bench-glass: build
	cargo xtask bench-glass $(ROUNDS) $(SECONDS)

# Seconds of everything at once.
OPERATION_SECONDS ?= 600

bench-operation: build
	cargo xtask bench-operation $(OPERATION_SECONDS)

bench-repository: setup
	$(MEASURE) --bench commits -- $(MEASURE_OPTIONS)
	$(MEASURE) --bench growth -- $(MEASURE_OPTIONS)

soak-repository: setup
	$(MEASURE) --bench churn -- $(MEASURE_OPTIONS)
