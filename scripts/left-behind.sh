#!/bin/sh
# Fails if processes are still there that were started with NAME=VALUE in their environment, this
# script and those that it runs in aside: what tests leave behind takes memory and ports from the
# next ones, and keeps whoever reads their output waiting for its end.
#
#   scripts/left-behind.sh NAME=VALUE
set -eu

mark=$1
around=" "
pid=$$
while [ "$pid" -gt 0 ]; do
    around="$around$pid "
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
done

# What is ending is given ten seconds.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for environment in /proc/[0-9]*/environ; do
        pid=${environment#/proc/}
        pid=${pid%/environ}
        case $around in *" $pid "*) continue ;; esac
        if grep -qzxF "$mark" "$environment" 2>/dev/null; then
            left="$left
  $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true)"
        fi
    done
    [ -n "$left" ] || exit 0
    sleep 1
done
echo "left-behind: the tests are over, and these of their processes are not:$left" >&2
echo "left-behind: whoever starts one has to end it, however the test ends" >&2
exit 1
