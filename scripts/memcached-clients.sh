#!/bin/sh
# Holds `sarsen serve --memcached` against clients of others: memcapable of libmemcached, pymemcache and
# the Node client `memcached`. Needs Python 3 with PyPI, and Node with npm.
#
#   scripts/memcached-clients.sh PATH-OF-SARSEN
set -eu
cd "$(dirname "$0")/.."

sarsen=$1
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/memcached-clients

fail() {
    echo "memcached-clients: $1" >&2
    exit 1
}

scripts/setup.sh python3-venv node npm memccapable
mkdir -p "$tools"
if ! cmp -s scripts/memcached-clients/requirements.txt "$tools/installed"; then
    python3 -m venv --clear "$tools/python" || fail "no venv could be made: apt-get install python3-venv"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
        --requirement scripts/memcached-clients/requirements.txt || fail "pymemcache could not be installed"
    cp scripts/memcached-clients/requirements.txt "$tools/installed"
fi
if ! cmp -s scripts/memcached-clients/package.json "$tools/package.json"; then
    cp scripts/memcached-clients/package.json "$tools/"
    (cd "$tools" && npm install --silent --no-audit --no-fund) || {
        rm "$tools/package.json"
        fail "the Node client could not be installed"
    }
fi

place=$(mktemp -d)
"$sarsen" serve --data "$place/data" --listen 127.0.0.1:0 --memory 64M --memcached 127.0.0.1:0 \
    --memcached-collection notes 127.0.0.1:0 \
    >"$place/said" 2>"$place/log" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$place"' EXIT

port=
while ! grep -q '^url' "$place/said"; do
    kill -0 $server 2>/dev/null || fail "the server did not start: $(cat "$place/log")"
    sleep 0.1
done
port=$(sed -n 's/^memcached  *127\.0\.0\.1:\([0-9]*\): a cache.*/\1/p' "$place/said")
durable=$(sed -n 's/^memcached  *127\.0\.0\.1:\([0-9]*\): the collection.*/\1/p' "$place/said")

# -a: the text protocol alone; -t: seconds for an answer.
for one in "$port" "$durable"; do
    memccapable -h 127.0.0.1 -p "$one" -a -t 30 >"$place/memcapable" 2>&1 || {
        cat "$place/memcapable" >&2
        fail "memcapable found that this is not memcached"
    }
    tail -n 1 "$place/memcapable"
done
"$tools/python/bin/python" scripts/memcached-clients/pymemcache_client.py "$port" || fail "pymemcache failed"
cp scripts/memcached-clients/client.cjs "$tools/"
node "$tools/client.cjs" "$port" || fail "the Node client failed"
kill -0 $server || fail "the server has ended: $(cat "$place/log")"
echo "memcached-clients: memcapable, pymemcache and memcached of Node are content"
