#!/bin/sh
# Checks that what a build needs is there, and says what to install if not. The programs named as
# arguments are installed from Debian's archive if they are missing. May be run any number of times.
set -eu
cd "$(dirname "$0")/.."

# A service that a package starts is not left behind by a test (scripts/left-behind.sh).
unset SARSEN_TEST_RUN

fail() {
    echo "setup: $1" >&2
    exit 1
}

command -v cargo >/dev/null ||
    fail "cargo is missing: install Rust with rustup (https://rustup.rs), then try again"
command -v cc >/dev/null ||
    fail "a C compiler is missing: apt-get install gcc libc6-dev, then try again"

# With rustup these also fetch the toolchain that rust-toolchain.toml names.
cargo --version >/dev/null || fail "the toolchain of rust-toolchain.toml does not work; see above"
for part in fmt clippy; do
    cargo "$part" --version >/dev/null 2>&1 ||
        fail "cargo $part is missing: rustup component add rustfmt clippy, then try again"
done

# The package that holds a program.
package() {
    case $1 in
    nginx) echo nginx-light ;;
    apache | apache2) echo apache2 ;;
    nghttp | h2load) echo nghttp2-client ;;
    java) echo openjdk-17-jre-headless ;;
    javac) echo openjdk-17-jdk-headless ;;
    mvn) echo maven ;;
    memccapable) echo libmemcached-tools ;;
    node) echo nodejs ;;
    postgres) echo postgresql ;;
    setpriv | taskset) echo util-linux ;;
    *) echo "$1" ;;
    esac
}

# Whether a program, or a library that is none, is there. Debian has the part of Python that makes virtual environments in a
# package of its own, and PostgreSQL's server in a folder that is in nobody's PATH.
is_there() {
    case $1 in
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    # Of Debian's Python, where there is another, too.
    python3-websockets) /usr/bin/python3 -c 'import websockets' 2>/dev/null ;;
    libatompub-perl) /usr/bin/perl -e 'use Atompub::Client' 2>/dev/null ;;
    postgres) ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

install() {
    DEBIAN_FRONTEND=noninteractive $root apt-get install --yes --no-install-recommends "$1" >&2
}

# As a user, nginx is often not in the PATH though it is installed.
PATH=$PATH:/usr/sbin
root=
[ "$(id -u)" = 0 ] || root=sudo
for program in "$@"; do
    is_there "$program" && continue
    name=$(package "$program")
    command -v apt-get >/dev/null || fail "$program is missing: install it, then try again"
    echo "setup: installing $name" >&2
    # A fresh machine may not have the archive's lists yet, or old ones.
    install "$name" || { $root apt-get update >&2 && install "$name"; } ||
        fail "$name could not be installed; see above"
done
