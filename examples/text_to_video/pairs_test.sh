#!/bin/sh
# labels: notsan
# (libgomp and oneDNN are not instrumented.)
# Fifty random faults in the whole pipeline, and fifty sound pairs of runs: each verdict is right. The 150 runs
# take some five seconds. With a sanitizer there are fewer, because it looks for faults of another kind.
#
#   pairs_test.sh TEXT_TO_VIDEO_PAIRS
set -eu
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY
count=50
[ "$PLUMB_BUILD_KIND" = plain ] || count=4
"$1" "$count" 1 2>err.txt || {
    status=$?
    tail -5 err.txt >&2
    exit "$status"
}
