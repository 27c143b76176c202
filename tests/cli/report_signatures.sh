#!/bin/sh
# plumb report signatures: of a run, of a file alone, of the predecessor's; bad input.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
corpus=$PLUMB_SOURCE_DIR/tests/fuzz/corpus/signature
report() {
    "$PLUMB_BIN" report signatures "$@"
}
mkdir run
cp "$data/golden.json" run/timing.json
cp "$corpus/golden.json" run/timing_io_signature.json

expect 'a run' 0 report run
has out.txt 'denoise: 12 calls, 2 signatures' 'never: 0 calls, 0 signatures' \
    'bad\xff\x01 "name": 18446744073709551615 calls' '(2 calls had other signatures: too many to keep)' \
    '1 calls are not here, for lack of memory.' 'mixed[0]' 'deep[0][0]' \
    'min -2.5 max 4 mean 0.125 std 1 n 39424 nan 1 inf 3' '(4 more were dropped)'
grep -qE '^1 +7 +in +latents +bfloat16 +\[1, 16, 9, 60, 104\] +cuda:0 +1\.71 +no +the tensor lies in memory of cuda:0$' out.txt ||
    fail "the first signature: $(grep latents out.txt)"
grep -qE '^2 +3 +in ' out.txt || fail 'the second signature has not its count'
expect 'beside a report' 0 report run/timing.json
has out.txt 'denoise: 12 calls, 2 signatures'
cp "$data/golden.json" mine.json
expect 'none' 0 report mine.json
has out.txt 'No signatures were recorded'
cp "$corpus/golden.json" mine_io_signature.json
expect 'beside a report of another name' 0 report mine.json
has out.txt 'denoise: 12 calls'
expect 'explained' 0 report --explain run
has out.txt 'as PyTorch spells it'
expect 'the first of each stage' 0 report --top 1 run
has out.txt '(1 more)'
expect 'one request' 0 report --request req_7 run
grep -qE '^2 +3 +in ' out.txt || fail "the request's signature is not there: $(cat out.txt)"
lacks out.txt 'never'
expect 'no such request' 0 report --request dog run
has out.txt 'No signature is of a call for this request.'
expect 'in Markdown' 0 report --format md run
has out.txt '### denoise: 12 calls, 2 signatures' '| 1 | 7 | in | latents | bfloat16 | \[1, 16, 9, 60, 104] |'
expect 'in JSON' 0 report --format json run
jq -e --slurpfile whole run/timing_io_signature.json '. == $whole[0]' out.txt >/dev/null ||
    fail 'JSON is not the file'

expect 'a file alone' 0 report run/timing_io_signature.json
has out.txt 'denoise: 12 calls, 2 signatures'
cp "$corpus/predecessor.json" old.json
expect "the predecessor's file" 0 report old.json
has out.txt 'text_encoding: the last call, of an unknown number' '"a fox"' 'prompt_embeds[1]' 'Infinity'
expect "the predecessor's file in plumb's words" 0 report --format json old.json
jq -e '.format == "plumb-signature" and (.stages.denoise.input_signatures.latents.requires_grad)' \
    out.txt >/dev/null || fail "json: $(head -c 500 out.txt)"

expect 'no such file' 2 report nowhere.json
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
echo '{"stages": 7}' >foreign.json
expect 'a foreign file' 2 report foreign.json
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
head -c 700 run/timing_io_signature.json >cut.json
expect 'a damaged file' 2 report cut.json
has err.txt "'cut.json' is not valid JSON"
head -c 700 "$corpus/golden.json" >run/timing_io_signature.json
expect 'a damaged file in a run' 2 report run
has err.txt 'timing_io_signature.json'
expect 'a file of signatures is no report' 2 "$PLUMB_BIN" report mine_io_signature.json
has err.txt "plumb report: 'mine_io_signature.json' is not a timing report of plumb"
expect 'no such form' 2 report --format svg mine.json
has err.txt "no format 'svg' of the report on signatures: there is text, json, csv, md"
expect 'csv' 0 report --format csv mine.json
[ "$(head -n 1 out.txt | cut -d, -f1-5)" = 'stage,signature,calls,direction,name' ] ||
    fail "the header of CSV: $(head -n 1 out.txt)"
python3 - out.txt <<'END' || fail "csv: $(cat out.txt)"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
assert rows and all(r["stage"] and r["signature"] for r in rows), rows
assert {r["direction"] for r in rows if "were dropped" not in r["value"]} == {"in", "out", "meta"}
END
expect 'the file itself' 2 report mine_io_signature.json -o mine_io_signature.json
cmp -s mine_io_signature.json "$corpus/golden.json" || fail 'the file was overwritten'

# A real run. (A sanitizer would have to be in it too.)
[ "$PLUMB_BUILD_KIND" = plain ] || finish
[ "$PLUMB_BUILD_KIND" = plain ] || exit 0
cat >prog.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(stage, "denoise");
        plumb_stage_input_value(stage, i < 2 ? "steps" : "frames", plumb_value_i64(20 + i));
        plumb_stage_output_value(stage, "ok", plumb_value_bool(1));
    }
    return 0;
}
END
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog \
    -L"$(dirname "$PLUMB_LIB")" -lplumb -Wl,-rpath,"$(dirname "$PLUMB_LIB")" || exit 1
expect 'record' 0 "$PLUMB_BIN" record --run-dir real -- ./prog
expect 'a real run' 0 report real
[ "$(cat out.txt)" = 'denoise: 3 calls, 2 signatures
#  Calls  Way  Name    Value
----------------------------
1      2  in   steps   21
          out  ok      true
2      1  in   frames  22
          out  ok      true' ] || fail "a real run: $(cat out.txt)"
finish
