# Shared by the rows of results over time (FV-25 to FV-42). Sourced by them.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_history.sh"
"$PLUMB_BIN" history list >no.txt 2>&1
grep -q 'was built without' no.txt && echo 'built without SQLite' && exit 77
unset PERF_RUN_SOURCE PERF_PYTEST_RC TEST_SCOPE BUILDKITE_COMMIT BUILDKITE_BRANCH \
    BUILDKITE_PULL_REQUEST GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_RUN_ID GITHUB_JOB \
    GITHUB_STEP_SUMMARY FASTVIDEO_ATTENTION_BACKEND
history_of() {
    "$PLUMB_BIN" history "$@"
}
# baseline LATENCY...: a new history whose records count, one for each latency
baseline() {
    rm -rf .plumb
    baseline_day=1
    for baseline_latency in "$@"; do
        perf base.json "$(printf '%02d' $baseline_day)" "$baseline_latency"
        history_of add --baseline yes base.json >/dev/null 2>&1
        baseline_day=$((baseline_day + 1))
    done
}
# status FILE WANTED EXIT [OPTION...]: how the comparison of the file ends
status() {
    status_file=$1 status_wanted=$2 status_exit=$3
    shift 3
    expect "$status_file" "$status_exit" history_of add --dry-run --format json "$@" "$status_file"
    status_got=$(jq -r '.results[0].comparison_status' out.txt)
    [ "$status_got" = "$status_wanted" ] ||
        fail "$status_file $*: $status_got, not $status_wanted: $(jq -r '.results[0].comparison_status_reason' out.txt)"
}
