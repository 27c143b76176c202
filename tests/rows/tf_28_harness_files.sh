#!/bin/sh
# labels: plain
# TF-28: trace, breakdown and program share one rule of names, each step is a line of the log, and the trace of a step is small.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --suffix .b
for file in plain.b_trace.json.gz plain.b_breakdown.json profile_plain.b.c; do
    [ -s "run/$file" ] || fail "no $file: $(ls run)"
done
grep '^\[Harness\]' err.txt | sed 's/^\[Harness\] \([A-Za-z-]*\).*/\1/' >lines.txt
printf '%s\n' Setup Inputs Warm-up Profile Trace Breakdown Program Average | cmp -s - lines.txt || fail "$(cat err.txt)"
grep -Eq '^\[Harness\] Average iteration time: [0-9]+\.[0-9][0-9] ms$' err.txt || fail "$(cat err.txt)"
[ "$(wc -c <run/plain.b_trace.json.gz)" -lt 10485760 ] || fail 'a trace of 10 MB'
jq -e . run/plain.b_breakdown.json >/dev/null || fail 'the breakdown is not JSON'
