#!/bin/sh
# labels: plain
# Every call that libplumb makes to the system fails once, each in a run of its own, and then every
# one from there on: the host's result and status are the same, and what plumb says is about plumb.
set -eu
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
flags="-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I$PLUMB_SOURCE_DIR/include"
# shellcheck disable=SC2086 # words
{
    $CC $flags -fno-builtin -fPIC -shared "$here/_failing.c" -o failing.so -ldl
    $CC $flags -DPLUMB_LINKED "$here/_busy.c" -o busy -L"$lib_dir" -lplumb \
        -Wl,-rpath,"$lib_dir" -lpthread
}
fail() {
    echo "failing: $*; it said:" >&2
    cat err.txt >&2
    exit 1
}

# run WHAT VARIABLE...
run() {
    what=$1
    shift
    status=0
    rm -rf out
    env LD_PRELOAD="$PWD/failing.so" PLUMB=1 PLUMB_DIR="$PWD/out" "$@" ./busy >out.txt 2>err.txt ||
        status=$?
    [ "$status" = 3 ] || fail "$what: status $status"
    [ "$(cat out.txt)" = 'sum 84750' ] || fail "$what: printed '$(cat out.txt)'"
}

run 'nothing fails' COUNT_TO="$PWD/count.txt" PLUMB_QUIET=1
[ ! -s err.txt ] || fail 'nothing fails'
[ "$(find out -name timing.json | wc -l)" = 2 ] || fail 'not two runs'
calls=$(cat count.txt)
[ "$calls" -gt 60 ] || fail "only $calls calls seen"
sound=0
runs=0
n=0
while [ "$n" -lt "$calls" ]; do
    # Each of the first, where a run begins; then some of the many allocations of summaries and reports.
    n=$((n < 60 ? n + 1 : n + 17))
    run "call $n of $calls fails" FAIL_AT="$n"
    runs=$((runs + 2))
    reports=$(find out -name timing.json 2>find.txt) || true
    # shellcheck disable=SC2086 # words
    [ -z "$reports" ] || jq -s -e 'map(.nodes | length > 0) | all' $reports >ok.txt ||
        fail "call $n: no report: $reports"
    sound=$((sound + $(echo "$reports" | grep -c . || true)))
    run "all calls from $n of $calls on fail" FAIL_AT="$n" FAIL_ALL=1
done
# Few calls are so much needed that a run has no report without them.
[ $((sound * 10)) -gt $((runs * 7)) ] || fail "only $sound reports of $runs runs"
