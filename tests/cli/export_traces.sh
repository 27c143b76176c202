#!/bin/sh
# labels: plain, traces
# Traces that other tools recorded, odd ones among them, in every format: each opens with a stock parser,
# and time goes forward in it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
exported=0
odd=$PLUMB_TRACES/perfetto-json
for trace in "$PLUMB_TRACES"/catapult/*.json "$odd"/args_ordered/*.json "$odd"/invalid_string*/*.json \
    "$odd"/json_async/*.json "$odd"/json_extreme_vals/*.json "$odd"/json_pid_tid_zero/*.json "$odd"/overlapping*/*.json; do
    [ -f "$trace" ] || continue
    name=$trace
    rm -rf out out.*
    "$PLUMB_BIN" export "$trace" -o out.json >/dev/null 2>err.txt
    status=$?
    if [ $status != 0 ]; then # what cannot be read is refused, with a line
        [ $status = 2 ] && [ "$(wc -l <err.txt)" = 1 ] || fail "status $status: $(cat err.txt)"
        continue
    fi
    exported=$((exported + 1))
    for format in folded speedscope csv otf2; do
        "$PLUMB_BIN" export --format $format "$trace" -o out.$format >/dev/null 2>err.txt ||
            grep -q -e 'built without OTF2' -e 'the trace has no event' err.txt || fail "$format: $(cat err.txt)"
    done
    /usr/bin/python3 - <<'END' || fail 'an export is not as it should be'
import csv, json
events = json.load(open("out.json"))["traceEvents"]
assert all(isinstance(e["pid"], int) and isinstance(e["tid"], int) and e["ts"] >= 0 for e in events)
spans = sum(e["ph"] == "X" and not e["name"].startswith("ProfilerStep#") for e in events)
rows = list(csv.DictReader(open("out.csv", newline="")))
in_csv = sum(r["kind"] == "span" and not r["name"].startswith("ProfilerStep#") for r in rows)
assert spans == in_csv, (spans, in_csv)
for profile in json.load(open("out.speedscope"))["profiles"]:
    times = [e["at"] for e in profile["events"]]
    assert times == sorted(times), profile["name"]
END
    if [ -d out.otf2 ] && command -v otf2-print >/dev/null; then
        otf2-print out.otf2/traces.otf2 >print.txt 2>err.txt || fail 'otf2-print failed'
        [ ! -s err.txt ] || fail "otf2-print: $(head -2 err.txt)"
    fi
done
[ "$exported" -ge 9 ] || fail "only $exported traces were exported"
finish
