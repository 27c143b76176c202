#!/bin/sh
# FV-33: every comparison ends in one documented status, with a fixed precedence and its exit code. The
# pairs are in src/analyze/history/judge_test.c too.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
other='{"recipe_fingerprint": "'$(printf '%064d' 1)'"}'
baseline
perf a.json 09 10
status a.json CALIBRATION_NEEDED 3
jq -e '.results[0].baseline_status == "initialized_new_cohort"' out.txt >/dev/null || fail 'a new cohort'
perf old.json 09 10 '{"result_schema_version": null, "workload_id": null, "variant_id": null,
    "benchmark_version": null, "recipe_fingerprint": null}'
status old.json PASS 0
jq -e '.results[0].baseline_status == "skipped_missing_identity"' out.txt >/dev/null || fail 'without keys'
baseline 10 10 10
status a.json PASS 0
perf slow.json 09 12
status slow.json REGRESSION 1
perf breach.json 09 10 '{"thresholds": {"max_generation_time_s": 9}}'
status breach.json REGRESSION 1
perf other.json 09 10 "$other"
status other.json RECIPE_MISMATCH 3
perf both.json 09 10 "$(echo "$other" | jq '. + {thresholds: {max_generation_time_s: 9}}')"
status both.json RECIPE_MISMATCH 3
perf keyless.json 09 10 '{"software_profile_id": null}'
status keyless.json INFRA_ERROR 2
jq -e '.results[0].baseline_status == "invalid_identity"' out.txt >/dev/null || fail 'a missing key'
perf worst.json 09 10 "$(echo "$other" | jq '. + {software_profile_id: ""}')"
status worst.json INFRA_ERROR 2
status a.json INFRA_ERROR 2 --failed
status breach.json REGRESSION 1 --failed
expect 'the breach of another result explains the failure' 1 history_of add --dry-run --failed a.json breach.json
lacks out.txt INFRA_ERROR
expect 'the worst of all is the exit status' 2 history_of add --dry-run a.json slow.json keyless.json other.json
expect 'a regression before what is inconclusive' 1 history_of add --dry-run other.json slow.json
lacks out.txt QUALITY_BLOCKED
finish
