#!/bin/sh
# labels: notsan
# timeout: 600
# (libgomp and oneDNN are not instrumented.)
# Random faults in the whole pipeline, fifty, and as many sound pairs of runs: each is told right. That takes
# some five seconds, because 150 runs of the pipeline do. With a sanitizer there are fewer: it looks for
# something else.
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
