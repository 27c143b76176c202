#!/bin/sh
# labels: plain
# TF-18: the switches of trace details take 1, true, yes, on and 0, false, no, off in any case; empty is
# the default; anything else warns and keeps the default. (The default is off for whole runs.)
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

# config FLAG VALUE EXPECTED: checks the configuration line
config() {
    expect "$1='$2'" 7 env PLUMB_LOG=info PLUMB_TRACE=1 "PLUMB_TRACE_$1=$2" ./prog
    word=$(echo "$1" | tr A-Z a-z)
    [ "$word" = stack ] && word=stacks
    grep '^PROFILER: config' err.txt | grep -q "$word $3" || fail "$name: $(cat err.txt)"
}
for flag in SHAPES MEMORY STACK FLOPS; do
    for on in 1 TRUE yes On; do
        config $flag "$on" on
        lacks err.txt "PLUMB_TRACE_$flag"
    done
    for off in 0 False NO off ''; do
        config $flag "$off" off
        lacks err.txt "PLUMB_TRACE_$flag"
    done
    config $flag junk off
    [ "$(grep -c "PLUMB_TRACE_$flag" err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
    has err.txt "'junk' is neither 1, true, yes, on nor 0, false, no, off"
done
finish
