#!/bin/sh
# labels: plain
# TX-21: times against a deadline: an overrun that is injected is counted, and what is left of the deadline is told.
set -u
. "$PLUMB_SOURCE_DIR/tests/rows/_bench.sh"

bench --stage plain --repeat 8 --warmup 0 --deadline 3600s
is '.plumb.deadline | .deadline_ms == 3600000 and .overruns == 0 and .budget_p99 > 0 and .budget_max > 0'
is '.plumb.deadline | .latency_p50_ms <= .latency_p95_ms and .latency_p95_ms <= .latency_p99_ms'
is '.plumb.deadline.latency_p99_ms <= .plumb.deadline.latency_max_ms'
is '([.benchmarks[] | select(.run_type == "iteration")] | length) == 8'
bench --stage plain --repeat 8 --warmup 0 --deadline 250ms --config late
is '.plumb | .deadline.overruns >= 1 and .deadline.latency_max_ms >= 300 and .deadline.budget_max < 0'
is '([.benchmarks[] | select(.run_type == "iteration" and .real_time > 250)] | length) == .plumb.deadline.overruns'
grep -Eq 'deadline 250 ms: [1-8] of 8 runs took longer' out.txt || fail "$(cat out.txt)"
