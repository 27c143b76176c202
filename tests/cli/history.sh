#!/bin/sh
# plumb history: its verbs and options, what it says, and what goes to which stream.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_history.sh"
"$PLUMB_BIN" history list >no.txt 2>&1
grep -q 'was built without' no.txt && echo 'built without SQLite' && exit 77
unset PERF_RUN_SOURCE PERF_PYTEST_RC TEST_SCOPE BUILDKITE_COMMIT BUILDKITE_BRANCH \
    BUILDKITE_PULL_REQUEST GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_STEP_SUMMARY
history_of() {
    "$PLUMB_BIN" history "$@"
}
records() {
    "$PLUMB_BIN" history list --format json | jq '.records | length'
}

# ---- Adding --------------------------------------------------------------------------------------
google a.json 1 decode=1000 encode=5000
expect 'nothing to list' 2 history_of list
has err.txt "there is no history '.plumb/history.db': 'plumb history add' makes one"
expect 'a first result is not a pass' 3 history_of add a.json
has out.txt 'CALIBRATION_NEEDED: decode and 1 more: there is no baseline yet'
has err.txt "added 2 records to '.plumb/history.db'"
expect 'it is still none after that' 3 history_of add a.json
has err.txt '2 results are in it already: not added again'
[ "$(records)" = 2 ] || fail 'a result was added twice'
expect 'a person says that it is good' 3 history_of add --baseline yes a.json
[ "$(records)" = 2 ] || fail 'a result was added twice'
google same.json 2 decode=1000 encode=5000
expect 'equal' 0 history_of add same.json
has out.txt 'PASS'
google slow.json 3 decode=1100 encode=5000
expect 'slower' 1 history_of add slow.json
has out.txt 'REGRESSION: decode: real_time is worse by 10.0 % (1101 ns, baseline 1001 of 1)'
lacks out.txt 'REGRESSION: encode'
google fast.json 4 decode=900 encode=4000
expect 'faster' 0 history_of add --dry-run fast.json
[ "$(records)" = 6 ] || fail 'a dry run was stored'
for time in 0 -900 NaN; do
    sed "s/\"\(real\|cpu\)_time\": *[0-9.]*/\"\1_time\": $time/" same.json >wrong.json
    expect "a time of $time is not faster" 3 history_of add --dry-run wrong.json
    has err.txt "benchmark 'decode' failed, or has no time above 0"
done
google other.json 5 decode=1000
expect 'another recipe' 3 history_of add --recipe "$(printf '%064d' 0)" other.json
has out.txt 'RECIPE_MISMATCH: decode: the recipe differs'
expect 'another version begins anew' 3 history_of add --version 2 --dry-run other.json
has out.txt 'CALIBRATION_NEEDED'
expect 'a failed session' 2 history_of add --failed --dry-run fast.json
has out.txt 'INFRA_ERROR'
name='a failed session by its variable'
PERF_PYTEST_RC=1 history_of add --dry-run fast.json >out.txt 2>err.txt
[ $? = 2 ] || fail 'PERF_PYTEST_RC is not read'
expect 'without comparing' 0 history_of add --no-compare fast.json
empty out.txt
google many.json 6 a=1 b=2
expect 'several files are one transaction' 2 history_of add many.json missing.json
[ "$(records)" = 9 ] || fail 'a part of a failed add was stored'
expect 'json' 1 history_of add --dry-run --format json slow.json
jq -e '.results[0].comparison_status == "REGRESSION" and .results[0].metrics[0].baseline == 1001 and
    .results[0].baseline_status == "compared"' out.txt >/dev/null || fail 'json of add'
expect 'csv' 1 history_of add --dry-run --format csv slow.json
has out.txt 'benchmark,metric,unit,baseline,records,current,worse_percent,verdict,status'

# ---- Looking -------------------------------------------------------------------------------------
expect 'list' 0 history_of list --workload engine_bench --variant decode
has out.txt '2026-01-02 03:04:01' 'REGRESSION' 'yes'
lacks out.txt encode
expect 'the newest' 0 history_of list --newest 1 --format csv
[ "$(wc -l <out.txt)" = 2 ] || fail 'not one record'
expect 'eligible' 0 history_of list --eligible --format json
[ "$(jq '.records | length' out.txt)" = 2 ] || fail 'eligible records'
expect 'since' 0 history_of list --since 2026-01-02T03:04:03 --format json
[ "$(jq '.records | length' out.txt)" = 5 ] || fail "since: $(jq '.records | length' out.txt)"
expect 'show' 0 history_of show 1
has out.txt 'workload     engine_bench' 'baseline     counts' 'real_time' 'Baseline now'
expect 'show json' 0 history_of show 1 --format json
jq -e '.id == 1 and .metrics[0].baseline == 1001 and (.hardware_profile_id | startswith("hw-"))' \
    out.txt >/dev/null || fail 'json of show'
expect 'no such record' 2 history_of show 99
has err.txt 'the history has no record 99'
expect 'plot' 0 history_of plot -o plot.svg --variant decode --metric real_time
grep -q '<circle class="point base"' plot.svg || fail 'no point'
/usr/bin/python3 -c 'import sys, xml.dom.minidom as x; x.parse("plot.svg")' || fail 'not XML'
expect 'no such metric' 2 history_of plot --metric nonsense
has err.txt "no record that is selected has the metric 'nonsense'"
for i in 10 11 12 13 14 15 16 17; do
    google s.json $i step=$((1000 + (i > 13) * 300))
    history_of add --no-compare s.json 2>err.txt || fail 'adding'
done
expect 'the steps' 0 history_of plot --format json --variant step --metric real_time
jq -e '.steps | length == 1 and .[0].before == 1001 and .[0].after == 1301' out.txt >/dev/null ||
    fail "steps: $(cat out.txt)"
expect 'a step is marked' 0 history_of plot --variant step --metric real_time
has out.txt '+30.0 %' 'class="worse"' 'class="band"'

# ---- Removing ------------------------------------------------------------------------------------
expect 'by number' 0 history_of prune --keep 3
has out.txt 'removed 5 records'
expect 'by id' 0 history_of prune --id 1
has out.txt 'removed 1 record'
expect 'what counts for a baseline stays' 0 history_of prune --until 2027-01-01
[ "$(history_of list --eligible --format json | jq '.records | length')" = 1 ] ||
    fail 'a record of the baseline went'
expect 'by no rule' 2 history_of prune

# ---- Wrong usage ---------------------------------------------------------------------------------
expect 'no verb' 2 history_of
expect 'a misspelt verb' 2 history_of lsit
has err.txt "'lsit' is not add, list, show, prune or plot: did you mean 'list'?"
expect 'an option of another verb' 2 history_of list --keep 3
has err.txt "--keep is not an option of 'list'"
expect 'nothing to add' 2 history_of add
expect 'an operand too many' 2 history_of list a.json
expect 'a wrong date' 2 history_of list --since yesterday
expect 'zero' 2 history_of list --newest 0
echo '{"a": 1}' >foreign.json
expect 'foreign' 2 history_of add foreign.json
has err.txt "'foreign.json' has no results: history reads"
echo '{"benchmarks": [}' >broken.json
expect 'broken' 2 history_of add broken.json
has err.txt "'broken.json' is not valid JSON"
mkdir folder
expect 'a folder' 2 history_of add folder
has err.txt "'folder' is neither a run directory nor a folder of results of asv"
finish
