#!/bin/sh
# Holds the real server against programs of others: its metrics are read by the parser of Prometheus,
# its OpenAPI document by a validator, and schemathesis sends requests made from that document and
# looks for server errors and for replies that are not as described; and the archive of a run of
# `sarsen bench` by HdrHistogram's library. Needs Python 3 and PyPI.
#
#   scripts/conformance.sh PATH-OF-SARSEN [EXAMPLES]
set -eu
cd "$(dirname "$0")/.."

sarsen=$1
examples=${2:-50}
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/conformance

fail() {
    echo "conformance: $1" >&2
    exit 1
}

command -v python3 >/dev/null || fail "python3 is missing: apt-get install python3-venv, then try again"
if ! cmp -s scripts/conformance/requirements.txt "$tools/installed"; then
    python3 -m venv --clear "$tools" || fail "no venv could be made: apt-get install python3-venv"
    "$tools/bin/pip" install --quiet --disable-pip-version-check \
        --requirement scripts/conformance/requirements.txt ||
        fail "the tools of scripts/conformance/requirements.txt could not be installed"
    cp scripts/conformance/requirements.txt "$tools/installed"
fi

place=$(mktemp -d)
"$sarsen" serve --data "$place/data" --listen 127.0.0.1:0 --memory 64M \
    >"$place/said" 2>"$place/log" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$place"' EXIT

url=
while [ -z "$url" ]; do
    kill -0 $server 2>/dev/null || fail "the server did not start: $(cat "$place/log")"
    url=$(sed -n 's/^url  *\(.*\)\/$/\1/p' "$place/said")
    sleep 0.1
done

"$tools/bin/python" scripts/conformance/describe.py "$url" >"$place/openapi.json"
"$tools/bin/python" -m openapi_spec_validator "$place/openapi.json" ||
    fail "/openapi.json is not OpenAPI"

# In the temporary folder, because it leaves notes where it runs.
config=$PWD/scripts/conformance/schemathesis.toml
(cd "$place" && "$tools/bin/schemathesis" --config-file "$config" \
    run "$url/openapi.json" --phases examples,coverage,fuzzing --max-examples "$examples" \
    --seed 1 --generation-database none \
    --checks not_a_server_error,status_code_conformance,content_type_conformance \
    --checks response_headers_conformance,response_schema_conformance) ||
    fail "the server does not keep to /openapi.json; see above"

# After all that there is something to count.
"$tools/bin/python" scripts/conformance/metrics.py "$url"

# The histograms of archived runs, by HdrHistogram's library for Python: of one with many values, and
# of small ones, where the rank of a percentile decides which of few values it is.
"$sarsen" bench "$url/healthz" --warm-up 1s -d 3s --runs "$place/runs" --json -q >/dev/null || true
for requests in 1 2 3 5 28 29 30 31 32 33 34 35 36 37 38 39 45 298 299 301 2994 2995 3001; do
    "$sarsen" bench "$url/healthz" --warm-up 0s -d 60s -n "$requests" -c 2 --seed "$requests" \
        --runs "$place/runs" --json -q >/dev/null || true
done
runs=$(find "$place/runs" -maxdepth 1 -name '*Z-*[0-9a-f]' -type d | wc -l)
[ "$runs" -eq 24 ] || fail "$runs of 24 runs are in the archive"
"$tools/bin/python" scripts/conformance/archive.py "$place"/runs/*Z-*[0-9a-f]/ ||
    fail "the archive's histograms are not those of its report"
kill -0 $server || fail "the server has ended: $(cat "$place/log")"
echo "conformance: metrics, OpenAPI, replies and histograms are as described"
