#!/bin/sh
# labels: plain
# A viewer of others, the Performance panel of Chromium's DevTools, loads the exported
# trace of the text-to-video example, plain and compressed, shows its length, and refuses a part of it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
program=$PLUMB_BUILD_DIR/examples/text_to_video/text_to_video
for need in chromium chromedriver; do
    command -v $need >/dev/null || { echo "skipped: no $need"; exit 77; }
done
/usr/bin/python3 -c 'import selenium' 2>/dev/null || { echo 'skipped: no python3-selenium'; exit 77; }
[ -x "$program" ] || { echo 'skipped: the example was not built'; exit 77; }

name='setup'
PLUMB_TRACE=1 PLUMB_RUN_DIR=$PWD/run PLUMB_QUIET=1 OMP_WAIT_POLICY=passive "$program" --quick \
    --out video.mp4 >/dev/null 2>&1 || fail 'the example failed'
"$PLUMB_BIN" export run -o trace.json >out.txt 2>&1 || fail "no export: $(cat out.txt)"
"$PLUMB_BIN" export run -o trace.json.gz >out.txt 2>&1 || fail "no export: $(cat out.txt)"
head -c "$(($(wc -c <trace.json) / 2))" trace.json >cut.json
expected=$(jq '[.traceEvents[] | select(.ph == "X")] |
    ((map(.ts + .dur) | max) - (map(.ts) | min)) / 1000' trace.json)

name='devtools'
HOME=$PWD /usr/bin/python3 "$PLUMB_SOURCE_DIR/tests/cli/_devtools.py" trace.json trace.json.gz cut.json \
    >shown.txt 2>err.txt || fail "the viewer failed: $(tail -3 err.txt)"
[ "$(wc -l <shown.txt)" = 3 ] || fail "shown: $(cat shown.txt)"
# The panel rounds to hundredths.
awk -v expected="$expected" 'NR <= 2 { off = $1 - expected; if (off < -0.011 || off > 0.011) bad = 1 }
    NR == 3 && $1 != "none" { bad = 1 }
    END { exit bad || NR != 3 }' shown.txt || fail "expected $expected twice and none, shown: $(cat shown.txt)"
finish
