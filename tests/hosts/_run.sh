#!/bin/bash
# _run.sh PROGRAM: runs a host without recording, controlled, recording, and with everything on. Each time it must
# end with status 0 (77: it cannot run here) and print the same, and the report must have what the
# host expects.
set -u
program=$1
failed=0
limit=150
[ "${TEST_ROUNDS-1}" = 1 ] || limit=900
mkfifo never

fail() {
    echo "$(basename "$program"), $kind: $*" >&2
    head -n 40 err.txt | sed 's/^/    /' >&2
    failed=1
}

# Where a process hangs, as far as can be seen from outside.
look_at() {
    if command -v gdb >/dev/null; then
        gdb -p "$1" -batch -ex 'thread apply all backtrace 12' 2>/dev/null | grep -E '^(Thread|#)'
    else
        grep -H . "/proc/$1/task"/*/wchan
    fi
}

# run KIND VARIABLE...: the host with these variables
run() {
    kind=$1
    shift
    rm -f expected
    env PLUMB_DIR="$PWD/runs" "$@" "$program" >"out.$kind" 2>err.txt </dev/null &
    host=$!
    # A timeout that needs no process of its own: the pipe is never written to, so the read ends by its limit.
    (read -r -t "$limit" <>never || { look_at $host >hangs.txt; kill -KILL $host; }) 2>/dev/null &
    watchdog=$!
    wait $host
    status=$?
    kill $watchdog 2>/dev/null && wait $watchdog 2>/dev/null
    [ ! -e hangs.txt ] || fail "it hangs:
$(cat hangs.txt)"
    rm -f hangs.txt
    [ "$status" != 77 ] || { cat err.txt >&2; exit 77; }
    [ "$status" = 0 ] || fail "it ends with status $status"
    cmp -s out.off "out.$kind" || fail "it prints $(head -c 200 "out.$kind"), without plumb $(head -c 200 out.off)"
    [ ! -e expected ] || compare
}

# Compares each report with its expectation. A host that was killed has written no report.
compare() {
    local dir
    while read -r dir; do
        [ -e "$dir/timing.json" ] || "$PLUMB_BIN" recover "$dir" >/dev/null 2>&1
        jq -r '"\(.drops | .lost_state + .too_deep + .reentrant)", (.nodes[] | "\(.name)\t\(.count)")' \
            "$dir/timing.json" >counts || fail "$dir has no report"
        awk -F '\t' -v dir="$dir" '
            FNR == NR && FNR == 1 { dropped = $1; next }
            FNR == NR { count[$1] += $2; next }
            $1 == dir && (count[$2] < $3 || count[$2] > $4 || ($5 && count[$2] + dropped < $4)) {
                printf "%s: %d and %d dropped, not %d to %d\n", $2, count[$2], dropped, $3, $4
                bad = 1
            }
            END { exit bad }' counts expected >difference || fail "$(cat difference) in $dir"
    done < <(cut -f 1 expected | sort -u)
}

run off PLUMB=0
# Controlled from outside, and not recording: the socket, in the folder of the test, and its thread.
# Not under ThreadSanitizer: it takes the descriptors of plumb's thread, which has a table of its own,
# for those of the program with the same numbers.
mkdir -m 700 runtime
control=1
! ldd "$program" 2>/dev/null | grep -q libtsan || control=0
[ "$control" = 0 ] || run controlled PLUMB=0 PLUMB_CONTROL=1 XDG_RUNTIME_DIR="$PWD/runtime"
run on PLUMB=1
[ "$failed" = 1 ] || rm -rf runs
# With 240 open spans no call stack fits, and spans are dropped and counted.
case $program in
*_240_spans_*) stacks=0 ;;
*) stacks=1 ;;
esac
run all PLUMB=1 PLUMB_CONTROL=$control XDG_RUNTIME_DIR="$PWD/runtime" PLUMB_TRACE=1 PLUMB_TRACE_NODES='*' PLUMB_TRACE_STACK=$stacks PLUMB_COLLECT=sched,perf PLUMB_ACTIVATIONS=1 \
    PLUMB_ACTIVATIONS_DUMP=. PLUMB_MEMORY=all PLUMB_MEMORY_CHECKPOINTS=1 PLUMB_MEMORY_INTERVAL=1 PLUMB_MEDIAN=p2 PLUMB_RING=4K PLUMB_DEBUG=1 PLUMB_QUIET=1
exit "$failed"
