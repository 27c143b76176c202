#!/bin/sh
# labels: traces
# plumb compare on files of google/benchmark: the reports that its own tests expect, to the printed digits.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
[ -n "${PLUMB_TRACES:-}" ] && [ -d "$PLUMB_TRACES/gbench-compare" ] || { echo 'no PLUMB_TRACES'; exit 77; }
inputs=$PLUMB_TRACES/gbench-compare
cat >check.py <<'EOF'
import json, sys
kind, expected, got = sys.argv[1:]
name, key = expected.rsplit(":", 1)
want = json.load(open(name))["expected"][key]
if kind == "lines":  # the words of each line, below the head and the rule
    lines = [line.split() for line in open(got).read().split("\n\n")[0].split("\n")[2:] if line]
    lines = [line for line in lines if line[0].rstrip(":") not in ("worse", "better", "unclear")]
    if lines != want:
        sys.exit("lines differ:\n%s\n%s" % (lines, want))
else:
    report = json.load(open(got))
    if [r["name"] for r in report] != [w["name"] for w in want]:
        sys.exit("names differ: %s" % [r["name"] for r in report])
    for r, w in zip(report, want):
        if r["time_unit"] != w["time_unit"] or len(r["measurements"]) != len(w["measurements"]):
            sys.exit("%s differs: %s" % (w["name"], r))
        if "label" in w and r["label"] != w["label"]:
            sys.exit("label of %s" % w["name"])
        for a, b in zip(r["measurements"], w["measurements"]):
            for k in b:  # times are as their tables round them; changes to the four places of their tests
                if abs(a[k] - b[k]) > (1e-4 if k in ("time", "cpu") else 0.5):
                    sys.exit("%s of %s: %s, not %s" % (k, w["name"], a[k], b[k]))
        for k in w["utest"]:
            if abs(r["utest"][k] - w["utest"][k]) > 1e-9:
                sys.exit("%s of %s: %s, not %s" % (k, w["name"], r["utest"][k], w["utest"][k]))
EOF
# report TEST KEY KIND FILE
report() {
    /usr/bin/python3 check.py "$3" "$inputs/expected_$1.json:$2" "$4" || fail "$name: $1 $2"
}
compare() {
    "$PLUMB_BIN" compare "$@"
}
expect 'pairs' 1 compare "$inputs/test1_run1.json" "$inputs/test1_run2.json"
report TestReportDifference test_json_diff_report_pretty_printing.expect_lines lines out.txt
has out.txt 'worse: BM_2xSlower +100.0 %' 'worse: BM_10PercentSlower +10.0 %' 'better: BM_2xFaster -50.0 %'
lacks out.txt 'worse: BM_1PercentSlower'
expect 'pairs, JSON' 1 compare --format json "$inputs/test1_run1.json" "$inputs/test1_run2.json"
report TestReportDifference test_json_diff_report_output.expected_output json out.txt
expect 'families' 0 compare --filter-a BM_Z.ro --filter-b BM_O.e "$inputs/test2_run.json" "$inputs/test2_run.json"
report TestReportDifferenceBetweenFamilies test_json_diff_report_pretty_printing.expect_lines lines out.txt
expect 'families, JSON' 0 compare --format json --filter-a BM_Z.ro --filter-b BM_O.e "$inputs/test2_run.json" \
    "$inputs/test2_run.json"
report TestReportDifferenceBetweenFamilies test_json_diff_report.expected_output json out.txt
expect 'U test' 0 compare "$inputs/test3_run0.json" "$inputs/test3_run1.json"
report TestReportDifferenceWithUTest test_json_diff_report_pretty_printing.expect_lines lines out.txt
report TestReportDifferenceWithUTestWhileDisplayingAggregatesOnly \
    test_json_diff_report_pretty_printing.expect_lines lines out.txt
expect 'U test, aggregates' 0 compare --aggregates "$inputs/test3_run0.json" "$inputs/test3_run1.json"
report TestReportDifferenceWithUTest test_json_diff_report_pretty_printing_aggregates_only.expect_lines lines out.txt
expect 'U test, JSON' 0 compare --format json "$inputs/test3_run0.json" "$inputs/test3_run1.json"
report TestReportDifferenceWithUTest test_json_diff_report.expected_output json out.txt
report TestReportDifferenceWithUTestWhileDisplayingAggregatesOnly test_json_diff_report.expected_output json out.txt
# Unique names, in the order of the file.
names=$(compare --format json "$inputs/test3_run0.json" "$inputs/test3_run0.json" | jq -c '[.[].name]')
[ "$names" = '["BM_One","BM_Two","short","medium","OVERALL_GEOMEAN"]' ] || fail "names: $names"
finish
