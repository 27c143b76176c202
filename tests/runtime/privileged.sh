#!/bin/sh
# labels: plain
# A program with rights that whoever starts it lacks obeys none of their variables.
set -eu
lib_dir=$(dirname "$PLUMB_LIB")
skip() {
    echo "privileged: skipped: $*"
    exit 77
}
fail() {
    echo "privileged: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || skip 'making a set-user-ID program of root needs root'
command -v setpriv >/dev/null || skip 'setpriv is not installed'

# Where another user comes in; the test's own folder may lie below one that is closed.
place=$(mktemp -d -p /tmp)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir -m 777 "$place/open"
mkdir -m 700 "$place/closed" "$place/runs"
echo victim >"$place/closed/victim"
$CC -std=gnu11 -O2 -Wall -Wextra -Werror -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" \
    "$PLUMB_SOURCE_DIR/tests/runtime/_privileged.c" "$lib_dir/libplumb.a" -o "$place/plain" -lpthread -ldl

# as_nobody COMMAND...: every variable that makes a file or a word, set by another user
as_nobody() {
    (cd "$place/open" && setpriv --reuid 65534 --regid 65534 --clear-groups env PLUMB=1 PLUMB_LOG=debug \
        PLUMB_DIR="$place/closed" PLUMB_TIMING_REPORT="$place/closed/victim" PLUMB_UNKNOWN=1 \
        PLUMB_RECORD_LOG="$place/closed/victim" PLUMB_TRACE=1 RANK=3 WORLD_SIZE=4 "$@") \
        >"$place/out.txt" 2>"$place/err.txt" || fail "$case: status $?: $(cat "$place/err.txt")"
}
# untouched: nothing was made, said or changed
untouched() {
    [ "$(cat "$place/closed/victim")" = victim ] || fail "$case: the victim: $(cat "$place/closed/victim")"
    [ "$(find "$place/closed" "$place/open" | wc -l)" = 3 ] || fail "$case: $(find "$place/closed" "$place/open")"
    [ ! -s "$place/err.txt" ] || fail "$case: $(cat "$place/err.txt")"
}

cp "$place/plain" "$place/setuid"
chmod 4755 "$place/setuid"
case='set-user-ID'
as_nobody "$place/setuid"
read -r secure rc <"$place/out.txt"
[ "$secure" = 1 ] || skip "$place is mounted nosuid"
untouched

case='set-user-ID, plumb_start(NULL)'
as_nobody "$place/setuid" nothing
[ "$(cat "$place/out.txt")" = '1 -5' ] || fail "$case: $(cat "$place/out.txt")"
untouched

# The program names a folder: there it records, and the variables leave no mark.
case='set-user-ID, plumb_start() with a folder'
as_nobody "$place/setuid" "$place/runs"
[ "$(cat "$place/out.txt")" = '1 0' ] || fail "$case: $(cat "$place/out.txt")"
report=$(find "$place/runs" -name timing.json -path '*-*')
[ "$(jq -c '[.nodes[0].count, .environment]' "$report")" = '[10,{}]' ] ||
    fail "$case: $(jq -c '[.nodes[0].count, .environment]' "$report")"
case $report in *rank*) fail "$case: $report" ;; esac
[ -z "$(find "$place/runs" -name '*.pftrace')" ] || fail "$case: a trace"
: >"$place/err.txt"
untouched

# The same program with no more rights than its caller obeys them.
case='a plain program'
(cd "$place/open" && PLUMB=1 PLUMB_QUIET=1 "$place/plain" >/dev/null)
[ -d "$place/open/plumb-out" ] || fail "$case: no run"
rm -r "$place/open/plumb-out"

command -v setcap >/dev/null || exit 0
cp "$place/plain" "$place/capable"
setcap cap_net_bind_service+ep "$place/capable" 2>/dev/null || exit 0
case='file capabilities'
as_nobody "$place/capable"
read -r secure rc <"$place/out.txt"
[ "$secure" = 1 ] || fail "$case: the kernel does not say so"
untouched
