#!/bin/sh
# labels: plain
# TF-24: a stage that runs alone with captured inputs computes what it computed in its pipeline: the outputs
# are compared by the hashes that the capture has of them, and the first that differs is named.
set -u
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# build OUT FLAG...
build() {
    out=$1
    shift
    $CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" "$@" \
        "$PLUMB_SOURCE_DIR/tests/cli/_engine.c" -o "$out" || fail "$out is not built"
}

# record RUN CAPTURE
record() {
    PLUMB_CAPTURE=$2 "$PLUMB_BIN" record --run-dir "$1" -- ./engine >/dev/null 2>"$1.err" || fail "$1: $(cat "$1.err")"
}

# bench RUN LIBRARY OPTION...: the text is in out.txt, the rest in bench.json of the run
bench() {
    run=$1
    library=$2
    shift 2
    "$PLUMB_BIN" bench --from "./$library" --repeat 2 "$@" "$run" >out.txt 2>err.txt || fail "$run $*: $(cat err.txt)"
}

# is WHAT JQ: holds for bench.json
is() {
    jq -e ".plumb | $2" "$run/bench.json" >/dev/null || fail "$1: $2: $(jq -c .plumb "$run/bench.json")"
}

# says WHAT WORDS: the text has them, in whatever lines
says() {
    tr -s '\n ' '  ' <out.txt | grep -qF -- "$2" || fail "$1: no '$2' in: $(cat out.txt)"
}

build engine
build libengine.so -DAS_LIBRARY -shared -fPIC
build libplanted.so -DAS_LIBRARY -DPLANTED -shared -fPIC
record step loop:7
record whole loop
record lookup lookup
record silent 'by step'
grep -aq '"outputs":"\[{\\"name\\":\\"x\\",\\"hash\\":\\"[0-9a-f]\{16\}\\"}\]"' step/loop.inputs.safetensors ||
    fail 'the capture has no hash of the output'

# The captured step alone.
bench step libengine.so --stage loop --inputs captured
is 'the captured step' '.first_step == 7 and .outputs_equal == true and .outputs_compared == 1'
says 'the captured step' '1 compared with the captured call in the pipeline: equal, byte for byte'
bench step libplanted.so --stage loop
is 'a planted difference' ".outputs_equal == false and (.remarks | contains(\"output 'x' is not the one of the captured call\"))"
says 'a planted difference' '1 compared with the captured call in the pipeline: not equal'
says 'a planted difference' "warning: output 'x' is not the one"

# What was not captured is not compared.
bench step libengine.so --stage loop --first-step 8
is 'another step' '.outputs_equal == null and (.remarks | contains("a run is not the captured step alone"))'
bench step libengine.so --stage loop --steps 2
is 'two steps' '.outputs_equal == null'
bench step libengine.so --stage loop --inputs random
is 'random inputs' '.outputs_equal == null and (.remarks | contains("compared") | not)'
says 'random inputs' 'outputs: 1, hash'

# A whole call: of the loop with all of its steps, of a plain stage as it is.
bench whole libengine.so --stage loop --first-step 0 --steps 12
is 'the whole loop' '.outputs_equal == true'
bench whole libplanted.so --stage loop --first-step 0 --steps 12
is 'a difference in the whole loop' '.outputs_equal == false'
bench whole libengine.so --stage loop
is 'a part of the whole loop' '.outputs_equal == null and (.remarks | contains("not the whole captured call"))'
bench lookup libengine.so --stage lookup
is 'a plain stage' '.shape == "whole" and .outputs_equal == true'
bench silent libengine.so --stage 'by step'
is 'no outputs' '.outputs_equal == null and (.remarks | contains("named none (plumb_stage_output())"))'

# A capture that is gone is reported, unless random inputs were asked for.
mv step/loop.inputs.safetensors kept.safetensors || fail "no captured file: $(ls step)"
bench step libengine.so --stage loop
is 'a capture that is gone' '.inputs == "random" and (.remarks | contains("are not next to the signature"))'
bench step libengine.so --stage loop --inputs random
is 'random inputs without a capture' '.remarks | contains("signature") | not'

[ $failures = 0 ]
