#!/bin/sh
# labels: plain
# TX-18: the mean of the runs of each stage in milliseconds, with its device synchronised.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

for stage in plain guided; do
    bench --stage $stage --repeat 5
    is "[.benchmarks[] | select(.run_type == \"iteration\") | .real_time] as \$ms | (\$ms | add / length) as \$mean |
        (.plumb.mean_ms / \$mean - 1 | fabs) < 1e-9 and (\$ms | length) == 5 and .plumb.stage == \"$stage\""
    grep -q '^\[Harness\] Average iteration time:' err.txt || fail "$(cat err.txt)"
    [ "$(grep -c '^call sync' err.txt)" = 12 ] || fail "not synchronised: $(cat err.txt)"
done
