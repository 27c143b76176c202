#!/bin/sh
# FV-42: a Markdown report has one row a benchmark, n/a for what is not known, no pipe inside a cell, and
# is appended to the CI summary when there is one.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
baseline 10 10 10
perf a.json 09 12 '{"benchmark_id": "wan|2gpu", "commit": "0123456789"}'
perf b.json 10 10 '{"text_encoder_time_s": null}'
mkdir reports
echo 'earlier' >summary.md
name='with a summary'
GITHUB_STEP_SUMMARY=summary.md "$PLUMB_BIN" history add --dry-run --report reports a.json b.json >out.txt 2>err.txt
[ $? = 1 ] || fail "status: $(cat err.txt)"
report=$(ls reports)
echo "$report" | grep -Eq '^perf_0123456_[0-9]{8}_[0-9]{6}\.md$' || fail "the name '$report'"
[ "$(grep -c '^| wan' "reports/$report")" = 2 ] || fail "rows: $(cat "reports/$report")"
cells=$(sed -n '3p' "reports/$report" | tr -cd '|' | wc -c)
awk -v n="$cells" '/^\|/ { if (gsub(/\|/, "|") != n) exit 1 }' "reports/$report" ||
    fail "a pipe inside a cell: $(cat "reports/$report")"
name=$report
has "reports/$report" '| wan/2gpu |' '12.000 / 10.000 s' 'n/a / n/a' '20.0%' '| latency | latency | REGRESSION |' \
    '| none | none | PASS |' '| 3 |'
head -1 summary.md | grep -q earlier || fail 'the summary was overwritten'
has summary.md '| wan/2gpu |'
expect 'to a file' 1 history_of add --dry-run --report one.md a.json
has one.md 'REGRESSION'
expect 'no such folder' 2 history_of add --dry-run --report no/such/one.md a.json
expect 'md on stdout' 1 history_of add --dry-run --format md a.json
has out.txt '| Benchmark | Device | Baseline N |'
finish
