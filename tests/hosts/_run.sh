#!/bin/bash
# _run.sh PROGRAM: runs a host without recording, recording, and with everything on. Each time it must
# end with status 0 and print the same, and the report must have what the host expects.
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
    # The pipe is never written to: a wait that leaves no process behind when it is no longer needed.
    (read -r -t "$limit" <>never || { look_at $host >hangs.txt; kill -KILL $host; }) 2>/dev/null &
    watchdog=$!
    wait $host
    status=$?
    kill $watchdog 2>/dev/null && wait $watchdog 2>/dev/null
    [ ! -e hangs.txt ] || fail "it hangs:
$(cat hangs.txt)"
    rm -f hangs.txt
    [ "$status" = 0 ] || fail "it ends with status $status"
    cmp -s out.off "out.$kind" || fail "it prints $(head -c 200 "out.$kind"), without plumb $(head -c 200 out.off)"
    [ ! -e expected ] || compare
}

# What each report has of what was expected of it. A host that was killed has not written it.
compare() {
    local dir node least most count dropped
    while IFS=$'\t' read -r dir node least most; do
        [ -e "$dir/timing.json" ] || "$PLUMB_BIN" recover "$dir" >/dev/null 2>&1
        read -r count dropped < <(jq -r --arg node "$node" \
            '"\([.nodes[] | select(.name == $node) | .count] | add // 0)
              \(.drops | .lost_state + .too_deep + .reentrant)"' "$dir/timing.json" | tr '\n' ' ')
        [ "${count:-0}" -le "$most" ] && [ "${count:-0}" -ge "$least" ] &&
            [ $((${count:-0} + ${dropped:-0})) -ge "$most" ] ||
            fail "$node: ${count:-no report} and ${dropped:-none} dropped, not $least to $most, in $dir"
    done <expected
}

run off PLUMB=0
run on PLUMB=1
[ "$failed" = 1 ] || rm -rf runs
run all PLUMB=1 PLUMB_TRACE=1 PLUMB_TRACE_NODES='*' PLUMB_ACTIVATIONS=1 PLUMB_MEMORY=all \
    PLUMB_MEMORY_CHECKPOINTS=1 PLUMB_MEMORY_INTERVAL=1 PLUMB_MEDIAN=p2 PLUMB_DEBUG=1 PLUMB_QUIET=1
exit "$failed"
