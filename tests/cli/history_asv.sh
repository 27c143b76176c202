#!/bin/sh
# labels: traces
# plumb history add on the example results of airspeed velocity: what is loaded, what is left out, and the
# steps that its own data has.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
[ -n "${PLUMB_TRACES:-}" ] && [ -d "$PLUMB_TRACES/asv-example-results" ] || { echo 'no PLUMB_TRACES'; exit 77; }
"$PLUMB_BIN" history list >no.txt 2>&1
grep -q 'was built without' no.txt && echo 'built without SQLite' && exit 77
results=$PLUMB_TRACES/asv-example-results
history_of() {
    "$PLUMB_BIN" history "$@"
}
expect 'add' 0 history_of add "$results"
empty out.txt
has err.txt 'aaaaaaaa-py2.7-Cython-numpy1.8.json' 'is not valid JSON' 'added 426 records'
# Every number of every readable file, counted by another reader.
want=$(/usr/bin/python3 - "$results" <<'EOF'
import glob, json, sys
n = 0
for name in glob.glob(sys.argv[1] + "/*/*.json"):
    try:
        results = json.load(open(name)).get("results", {})
    except ValueError:
        continue
    for value in results.values():
        values = value["result"] if isinstance(value, dict) else value
        values = values if isinstance(values, list) else [values]
        n += sum(isinstance(v, (int, float)) and v == v for v in values)
print(n)
EOF
)
[ "$(history_of list --format json | jq '.records | length')" = "$want" ] || fail "not $want records"
expect 'again' 0 history_of add "$results"
has err.txt 'added 0 records'
# 8.5e-5 s to 7.4e-5 and then to 7.0e-6 s on 2013-11-22; the benchmark got 50 % slower on 2013-08-06.
expect 'steps' 0 history_of plot --format json --workload time_units.time_unit_to
jq -e '[.steps[] | [.time[:10], (.worse_relative * 10 | round)]] == [["2013-08-06", 5], ["2013-11-22", -9]]' \
    out.txt >/dev/null || fail "steps: $(jq -c '[.steps[] | [.time[:10], .worse_relative]]' out.txt)"
expect 'a memory benchmark has one exact step' 0 history_of plot --format json --workload time_units.mem_unit
jq -e '.steps | length == 1 and .[0].before == 344 and .[0].after == 728' out.txt >/dev/null || fail 'mem_unit'
expect 'an outlier of another environment is not a step' 0 history_of plot --format json \
    --workload time_quantity.time_quantity_array_conversion
jq -e '.steps | length == 3 and all(.[]; .after < 1)' out.txt >/dev/null || fail 'array_conversion'
expect 'the picture' 0 history_of plot --workload time_units.time_unit_to -o plot.svg
/usr/bin/python3 -c 'import xml.dom.minidom as x; x.parse("plot.svg")' || fail 'not XML'
[ "$(grep -c 'class="worse"\|class="better"' plot.svg)" = 2 ] || fail 'two steps are not marked'
finish
