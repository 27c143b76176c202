#!/bin/sh
# FV-39: where a run came from follows from the environment by a fixed rule; a wrong explicit value is
# reported.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
google r.json 1 x=100
# source_is WANTED NAME=VALUE...
source_is() {
    wanted=$1
    shift
    got=$(env "$@" "$PLUMB_BIN" history add --dry-run --format json r.json 2>err.txt |
        jq -r '.results[0].run_source')
    [ "$got" = "$wanted" ] || fail "$*: $got, not $wanted"
}
source_is local A=1
source_is local PERF_RUN_SOURCE=local BUILDKITE_PULL_REQUEST=123
source_is pr BUILDKITE_PULL_REQUEST=123 BUILDKITE_BRANCH=main TEST_SCOPE=full
source_is scheduled_main BUILDKITE_PULL_REQUEST=false BUILDKITE_BRANCH=main TEST_SCOPE=full BUILDKITE_COMMIT=a
source_is unknown BUILDKITE_PULL_REQUEST=none BUILDKITE_BRANCH=main TEST_SCOPE=direct BUILDKITE_COMMIT=a
source_is unknown BUILDKITE_PULL_REQUEST=0 BUILDKITE_BRANCH=feature TEST_SCOPE=full BUILDKITE_COMMIT=a
source_is pr GITHUB_REF=refs/pull/12/merge GITHUB_SHA=a
source_is scheduled_main PERF_RUN_SOURCE=scheduled_main
[ ! -s err.txt ] || fail "a good value was reported: $(cat err.txt)"
source_is unknown PERF_RUN_SOURCE=nightly BUILDKITE_COMMIT=a
name='a bad value'
has err.txt "PERF_RUN_SOURCE is 'nightly': it must be pr, local, scheduled_main or unknown"
# Passes of a scheduled run of main count for baselines without a word; others do not.
baseline 10
perf a.json 09 10
history_of add a.json >/dev/null 2>&1 || fail 'a pass'
perf b.json 10 10 '{"run_source": "pr"}'
history_of add b.json >/dev/null 2>&1 || fail 'a pass of a pull request'
[ "$(history_of list --eligible --format json | jq '.records | length')" = 2 ] || fail 'what counts'
finish
