#!/bin/sh
# Holds an AtomPub server against clients of others, who publish and read: Abdera's client (Java),
# libatompub-perl, and feedparser (Python); and every document of Atom that it shows against the
# schemas of RFC 4287 and RFC 5023, by jing. Needs Maven's central repository and PyPI once.
#
#   scripts/atompub-clients.sh PATH-OF-SARSEN
#   scripts/atompub-clients.sh http://HOST:PORT      a server that runs already, and has POST /atom
#   scripts/atompub-clients.sh WHICH --no-media      one that takes entries only
set -eu
cd "$(dirname "$0")/.."

server=$1
media=${2:-}
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/atompub-clients
clients=scripts/atompub-clients

fail() {
    echo "atompub-clients: $1" >&2
    exit 1
}

scripts/setup.sh python3-venv curl java javac mvn libatompub-perl jing
mkdir -p "$tools"
if ! cmp -s $clients/requirements.txt "$tools/installed"; then
    python3 -m venv --clear "$tools/python" || fail "no venv could be made: apt-get install python3-venv"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
        --requirement $clients/requirements.txt || fail "feedparser could not be installed"
    cp $clients/requirements.txt "$tools/installed"
fi
mvn --batch-mode --quiet --file $clients/abdera/pom.xml "-Dclient.directory=$tools/abdera" compile >&2 ||
    fail "Abdera's client could not be built"
(cd "$tools/abdera/lib" && sha256sum --check --strict --quiet) <$clients/abdera/dependencies.sha256 >&2 ||
    fail "a library is not the one that dependencies.sha256 names: delete $tools/abdera"

place=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null || true; rm -rf "$place"' EXIT

case $server in
http://*) url=$server ;;
*)
    "$server" serve --data "$place/data" --listen 127.0.0.1:0 >"$place/said" 2>"$place/log" &
    pid=$!
    tries=0
    while ! grep -q '^url' "$place/said"; do
        kill -0 $pid 2>/dev/null || fail "the server did not start: $(cat "$place/log")"
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || fail "the server did not say its url within two minutes"
        sleep 0.1
    done
    url=$(sed -n 's/^url  *//p' "$place/said")
    ;;
esac
url=${url%/}

# A publication for each client. The address of its service document is in Location.
publication() {
    curl -sS --fail-with-body -o "$place/body" -D "$place/head" -H 'Content-Type: application/json' \
        --data "{\"title\":\"$1\"}" "$url/atom" || fail "POST /atom failed: $(cat "$place/body")"
    service=$(tr -d '\r' <"$place/head" | sed -n 's/^[Ll]ocation: *//p')
    case $service in
    http*) ;;
    /*) service=$url$service ;;
    *) fail "POST /atom gave no Location" ;;
    esac
}

publication Abdera
java -cp "$tools/abdera/classes:$tools/abdera/lib/*" client.AbderaClient "$service" $media ||
    fail "Abdera's client failed"
publication Perl
# Debian's perl has Debian's libraries, whatever else there is.
/usr/bin/perl $clients/client.pl "$service" $media || fail "libatompub-perl failed"
publication Python
"$tools/python/bin/python" $clients/feedparser_client.py "$service" ${pid:+--public} || fail "feedparser failed"

if [ -n "$pid" ]; then
    # What the clients have left, and what is left of it when some is deleted.
    mkdir "$place/documents"
    document() {
        curl -sS --fail -o "$place/documents/$1.xml" "$2" || fail "GET $2 failed"
    }
    # The paths in the documents of that name.
    paths() {
        grep -oh "$url/atom/[^\"<]*$1[^\"<]*\|\"/atom/[^\"<]*$1[^\"<]*" "$place/documents/$2".xml |
            sed "s|^\"|$url|; s/&amp;/\&/g" | sort -u
    }
    document all "$url/atom"
    for name in abdera perl python; do
        at=$url/atom/$name
        for part in service categories entries media feed changes archive/1; do
            document "$name-$(echo $part | tr / -)" "$at/$part"
        done
        document "$name-page" "$at/feed?limit=1"
        number=0
        for entry in $(paths "/entries/" "$name-feed"); do
            number=$((number + 1))
            document "$name-entry-$number" "$entry"
        done
        [ $number -gt 0 ] || [ $name != python ] || fail "the public feed of $name has no entries"
    done
    curl -sS --fail -X DELETE "$(paths /entries/ python-feed | head -n 1)" || fail "DELETE failed"
    document python-changed "$url/atom/python/changes"
    grep -q deleted-entry "$place/documents/python-changed.xml" || fail "no tombstone is told"
    jing -c crates/wire/tests/atom/schemas/atom.rnc "$place"/documents/*.xml ||
        fail "a document is not valid"
    echo "atompub-clients: jing: $(ls "$place/documents" | wc -l) documents are valid"
fi
[ -z "$pid" ] || kill -0 $pid || fail "the server has ended: $(cat "$place/log")"
echo "atompub-clients: Abdera's client, libatompub-perl, feedparser and jing are content"
