#!/bin/sh
# labels: plain
# plumb bench runs one stage of a signature alone: exactly the wanted steps, warm-ups apart, with files next
# to the signature; and where a stage fails, crashes or hangs, it says which, where, and ends with 2.
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

build engine
build libengine.so -DAS_LIBRARY -shared -fPIC
nm -D libengine.so | grep -w U | grep plumb && fail 'the stage library needs libplumb'
PLUMB_CLOCK=virtual PLUMB_COLLECT=fake PLUMB_TRACE=1 "$PLUMB_BIN" record --run-dir run -- ./engine >/dev/null 2>&1 || fail 'the engine is not recorded'

"$PLUMB_BIN" bench --list-stages run >out.txt || fail 'the stages are not listed'
printf '  - %s\n' loop lookup inner scalars 'by step' crash hang fail exit mute NaN by_step | cmp -s - out.txt ||
    fail "stages: $(cat out.txt)"

# bench WHAT OPTION...: what it measured is in bench.json
bench() {
    what=$1
    shift
    "$PLUMB_BIN" bench --from ./libengine.so "$@" run >out.txt 2>err.txt || fail "$what: $(cat err.txt)"
}

# is WHAT JQ: holds for bench.json
is() {
    jq -e "$2" run/bench.json >/dev/null || fail "$1: $2: $(jq -c .plumb run/bench.json)"
}

# A loop: two warm-ups, three runs of steps 7 and 8 of 12.
bench loop --stage loop --first-step 7 --steps 2 --warmup 2 --repeat 3
is loop '.plumb | .shape == "loop" and .first_step == 7 and .steps == 2 and .loop_steps == 12'
is loop '.plumb.warmups == 2 and ([.benchmarks[] | select(.run_type == "iteration")] | length) == 3'
is loop '.plumb.outputs == 1 and .plumb.outputs_vary == false'
is 'in the pipeline' '.plumb.pipeline | .node == "engine_step" and .count == 12 and .ms == 2'
for line in 'Setup complete: loop' 'Inputs: random' 'Warm-up: 2' 'Profile: 3' 'Trace: run/loop_trace.json.gz' \
    'Program: run/profile_loop.c' 'Breakdown: run/loop_breakdown.json' 'Average iteration time: [0-9]*\.[0-9][0-9] ms'; do
    grep -q "^\[Harness\] $line" err.txt || fail "no line '[Harness] $line': $(cat err.txt)"
done
# The trace has the measured runs alone: three times two steps.
steps=$(gzip -dc run/loop_trace.json.gz | jq '[.traceEvents[] | select(.ph == "X" and .name == "engine_step")] | length')
[ "$steps" = 6 ] || fail "the trace has $steps steps, not 6"
# So does the breakdown; what ran in the stage is its own, not of the measuring around it.
jq -e '.name == "loop" and .num_kernels == 0 and .top_kernels == [] and .advice == [] and .threads == 1 and
    .total_op_time_ms <= .wall_ms + 0.01 * (.num_ops + 1) and
    ([.top_ops[] | select(.name == "engine_step")] | all(.count == 6 and .stage == "loop" and .cuda_ms == null))' \
    run/loop_breakdown.json >/dev/null || fail "breakdown: $(cat run/loop_breakdown.json)"
hash=$(jq -r .plumb.output_hash run/bench.json)
bench 'the same seed' --stage loop --first-step 7 --steps 2 --warmup 0 --repeat 1
is 'no warm-up' '.plumb.warmups == 0 and .plumb.warmup_ms == null'
is 'the same seed' ".plumb.output_hash == \"$hash\""
bench 'another seed' --stage loop --first-step 7 --steps 2 --repeat 1 --seed 5
is 'another seed' ".plumb.output_hash != \"$hash\""
bench 'other steps' --stage loop --first-step 8 --steps 2 --repeat 1
is 'other steps' ".plumb.output_hash != \"$hash\""

# A plain stage runs as it is, a stage by steps gets the wanted ones.
bench lookup --stage lookup --repeat 2 --suffix .b --out other
jq -e '.plumb | .shape == "whole" and .first_step == -1' other/bench.b.json >/dev/null || fail 'lookup: the shape'
[ -f other/lookup.b_trace.json.gz ] || fail "no file with the suffix: $(ls other)"
bench 'steps of a plain stage' --stage lookup --steps 4
is 'steps of a plain stage' '([.benchmarks[] | select(.run_type == "iteration")] | length) == 4'
bench 'by step' --stage 'by step' --first-step 3 --steps 2 --warmup 0 --repeat 1
[ "$(grep -c '^step' err.txt)" = 2 ] && grep -qx 'step 4' err.txt || fail "by step: $(cat err.txt)"
# Names of files that stand in command lines without quotes; those of two stages are never the same.
for file in by_step-HASH_trace.json.gz by_step-HASH_breakdown.json profile_by_step-HASH.c; do
    [ -f "run/$(echo $file | sed s/HASH/9b69c4c77d0b/)" ] || fail "no $file: $(ls run)"
done
bench 'a similar name' --stage by_step --repeat 1 --out d/e/f
[ -f d/e/f/by_step_trace.json.gz ] || fail "--out in folders that are made: $(find d)"
bench deadline --stage lookup --repeat 4 --deadline 1ns --min-time 0.01
is deadline '.plumb.deadline.overruns >= 4 and .plumb.deadline.budget_max < 0'
bench csv --stage lookup --repeat 2 --format csv
[ "$(head -n 1 out.txt)" = run,ns ] && [ "$(wc -l <out.txt)" = 3 ] || fail "csv: $(cat out.txt)"
bench json --stage lookup --repeat 2 --format json
cmp -s out.txt run/bench.json || fail 'json: not what bench.json has'

# The generated program needs nothing of plumb, and computes the same outputs.
bench 'before the program' --stage loop --first-step 7 --steps 2 --repeat 1
(
    mkdir alone && cp run/profile_loop.c alone && cd alone || exit 1
    for compiler in "$CC" gcc clang-14; do
        command -v "${compiler%% *}" >/dev/null || continue
        $compiler -std=c11 -O2 -Wall -Wextra -Werror profile_loop.c -ldl -o profile_loop || exit 1
        ./profile_loop >first.json && ./profile_loop --runs 2 --warmup 0 >second.json || exit 1
        for file in first.json second.json; do
            [ "$(jq -r .output_hash "$file")" = "$hash" ] || exit 1
        done
        jq -e '.first_step == 7 and .steps == 2 and .loop_steps == 12 and .runs == 5' first.json >/dev/null || exit 1
        jq -e '.runs == 2 and .warmup == 0 and (.run_ms | length) == 2' second.json >/dev/null || exit 1
        [ "$(./profile_loop --seed 5 | jq -r .output_hash)" != "$hash" ] || exit 1
        ./profile_loop --help | grep -q -- '--seed N' || exit 1
        ! ./profile_loop --steps 0 2>/dev/null && ! ./profile_loop --first-step 12 2>/dev/null || exit 1
        ! ./profile_loop --library ./nothing.so 2>err.txt && grep -q 'cannot load the stage library' err.txt || exit 1
        ldd profile_loop | grep plumb && exit 1
        ! nm profile_loop | grep plumb_api || exit 1
    done
    exit 0
) || fail 'the generated program'

# Inputs of step 7, found again wherever the program is started.
PLUMB_CAPTURE=loop:7 "$PLUMB_BIN" record --run-dir captured -- ./engine >/dev/null 2>&1 || fail 'no capture'
"$PLUMB_BIN" bench --stage loop --from ./libengine.so --repeat 1 captured >out.txt 2>err.txt || fail "captured: $(cat err.txt)"
jq -e '.plumb | .inputs == "captured" and .first_step == 7' captured/bench.json >/dev/null || fail 'captured: the step'
(
    cd alone && $CC -std=c11 -O2 ../captured/profile_loop.c -ldl -o captured && ./captured >captured.json &&
        [ "$(jq -r .output_hash captured.json)" = "$(jq -r .plumb.output_hash ../captured/bench.json)" ]
) || fail 'captured inputs of the program'
# A stage inside step 7 of a loop around it: the call of that step, by a library that has it whole, and by one that
# has it as a step.
build libbystep.so -DAS_LIBRARY -DBY_STEP -shared -fPIC
PLUMB_CAPTURE=inner:7 "$PLUMB_BIN" record --run-dir inner -- ./engine >/dev/null 2>&1 || fail 'no capture of the inner stage'
"$PLUMB_BIN" bench --stage inner --from ./libengine.so --repeat 1 inner >out.txt 2>err.txt || fail "inner: $(cat err.txt)"
jq -e '.plumb | .shape == "whole" and .inputs == "captured" and .outputs_equal == true' inner/bench.json >/dev/null ||
    fail "inner: $(jq -c .plumb inner/bench.json)"
inner=$(jq -r .plumb.output_hash inner/bench.json)
"$PLUMB_BIN" bench --stage inner --from ./libbystep.so --repeat 1 --warmup 0 inner >out.txt 2>err.txt || fail "inner by step: $(cat err.txt)"
jq -e --arg hash "$inner" '.plumb | .shape == "step" and .first_step == 7 and .outputs_equal == true and
    .output_hash == $hash' inner/bench.json >/dev/null || fail "inner by step: $(jq -c .plumb inner/bench.json)"
grep -qx 'inner step 7' err.txt || fail "inner by step: $(cat err.txt)"
# Inputs without a tensor are captured as well.
PLUMB_CAPTURE=scalars "$PLUMB_BIN" record --run-dir scalars -- ./engine >/dev/null 2>&1 || fail 'no capture of scalars'
"$PLUMB_BIN" bench --stage scalars --from ./libengine.so --repeat 1 scalars >out.txt 2>err.txt || fail "scalars: $(cat err.txt)"
jq -e '.plumb | .inputs == "captured" and .outputs_equal == true' scalars/bench.json >/dev/null ||
    fail "scalars: $(jq -c .plumb scalars/bench.json)"
grep -qx '\[Harness\] Inputs: captured' err.txt || fail "scalars: $(cat err.txt)"
# A tensor that was not captured is random, in the program as in the bench.
PLUMB_CAPTURE_BYTES=100 PLUMB_CAPTURE=loop "$PLUMB_BIN" record --run-dir partly -- ./engine >/dev/null 2>&1 || fail 'no partial capture'
"$PLUMB_BIN" bench --stage loop --from ./libengine.so --repeat 1 partly >out.txt 2>err.txt || fail "partly: $(cat err.txt)"
grep -q '^0 of 1 tensors are captured, the others are random' out.txt || fail "partly: $(cat out.txt)"
(
    cd alone && $CC -std=c11 -O2 ../partly/profile_loop.c -ldl -o partly && ./partly >partly.json &&
        [ "$(jq -r .output_hash partly.json)" = "$(jq -r .plumb.output_hash ../partly/bench.json)" ]
) || fail 'partly captured inputs of the program'
"$PLUMB_BIN" bench --stage lookup --from ./libengine.so --repeat 1 --config output=inputs run >out.txt 2>err.txt || fail "a changed input: $(cat err.txt)"
grep -q "^warning: the stage changes its input 'index'" out.txt || fail "a changed input: $(cat out.txt)"
jq -e '.plumb.signature == "captured"' captured/bench.json >/dev/null || fail 'bench.json does not name the signature'

# refuses WHAT PATTERN OPTION...: ends with 2 and says it in one line
refuses() {
    what=$1
    pattern=$2
    shift 2
    "$PLUMB_BIN" bench "$@" >out.txt 2>err.txt
    status=$?
    [ "$status" = 2 ] || fail "$what: status $status"
    grep -q "^plumb bench: .*$pattern" err.txt || fail "$what: $(cat err.txt)"
    [ -s out.txt ] && fail "$what: a result"
}

refuses 'no stage' '--stage NAME is needed' --from ./libengine.so run
refuses 'an unknown stage' "'run/timing_io_signature.json' has no stage 'lop'; it has loop, lookup" \
    --stage lop --from ./libengine.so run
refuses 'a stage that the library lacks' "'./libengine.so' has no stage 'NaN'; it has loop, lookup" \
    --stage NaN --from ./libengine.so run
refuses 'no library' 'cannot load the stage library' --stage loop --from ./nothing.so run
build libwrong.so -DAS_LIBRARY -DWRONG_VERSION -shared -fPIC
refuses 'another version' "'./libwrong.so' is a stage library of version 99" --stage loop --from ./libwrong.so run
build libempty.so -DAS_LIBRARY -DNO_TABLE -shared -fPIC
refuses 'no table' "'./libempty.so' is not a stage library" --stage loop --from ./libempty.so run
refuses 'a step too far' 'has 12 steps: it does not have step 12' --stage loop --first-step 12 --from ./libengine.so run
refuses 'a step of a plain stage' 'has no loop that can be limited' --stage lookup --first-step 1 --from ./libengine.so run
refuses 'a crash' "stage 'crash' crashed (Aborted) in measured run 0, step 3" --stage crash --first-step 3 --from ./libengine.so run
refuses 'a hang' "stage 'hang' did not end within 1 s (--timeout): it was stopped in warm-up run 0, step 5" \
    --stage hang --first-step 5 --timeout 1 --from ./libengine.so run
refuses 'a failure' "stage 'fail' failed in run 1: the third run always fails" --stage fail --from ./libengine.so run
refuses 'a failure without a reason' "stage 'mute' failed in run 0: it gives no reason" --stage mute --from ./libengine.so run
refuses 'an exit' "stage 'exit' ended its process (status 0) in warm-up run 0" --stage exit --from ./libengine.so run
refuses 'a model that is refused' 'there is no such model' --stage loop --config refuse --from ./libengine.so run
refuses 'a crash at the open' "stage 'loop' crashed (Aborted) while it was opened" --stage loop --config abort --from ./libengine.so run
refuses 'a suffix with a folder' "--suffix takes at most 64 letters" --suffix /../x --stage loop --from ./libengine.so run
refuses 'no run' 'nowhere' --stage loop --from ./libengine.so nowhere
refuses 'a shape below 0' "stage 'lookup' failed in run 0: output 'wrong': .*-1" \
    --stage lookup --config output=shape --from ./libengine.so run
refuses 'too many dimensions' "output 'wrong': the tensor has 1000 dimensions, not 0 to 64" \
    --stage lookup --config output=ndim --from ./libengine.so run
refuses 'an output without a name' "output '': its name is NULL" --stage lookup --config output=name --from ./libengine.so run
: >file
for out in file file/below; do
    refuses 'an output folder that is a file' "cannot make directory '$out': Not a directory" \
        --stage lookup --out $out --from ./libengine.so run
done

# A signature in a folder that is no run; names with control characters are one line.
mkdir copy && sed 's/"lookup"/"look\\nup"/g' run/timing_io_signature.json >copy/timing_io_signature.json
"$PLUMB_BIN" bench --list-stages copy >out.txt 2>&1 && grep -qF '  - look\x0aup' out.txt || fail "a copy: $(cat out.txt)"

# A stage that is stopped from outside, with and without the terminal: nothing is left.
mkdir temporary
for signal in INT TERM KILL; do
    # The shell has its background commands ignore SIGINT.
    TMPDIR=temporary env --default-signal=INT "$PLUMB_BIN" bench --stage hang --first-step 5 --timeout 60 --from ./libengine.so run >out.txt 2>err.txt &
    command=$!
    waited=0
    stage=
    while [ -z "$stage" ] && [ $waited -lt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
        grep -q 'Setup complete' err.txt && stage=$(ps -o pid= --ppid $command | tr -d ' ')
    done
    kill -s $signal $command
    wait $command
    status=$?
    while [ -n "$stage" ] && [ -d "/proc/$stage" ] && [ $waited -lt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    [ -n "$stage" ] && [ ! -d "/proc/$stage" ] || fail "$signal: the stage's process '$stage' runs on"
    [ $signal = KILL ] && continue
    [ $status = 2 ] || fail "$signal: status $status"
    grep -q "stage 'hang' was stopped (.*) in warm-up run 0" err.txt || fail "$signal: $(cat err.txt)"
    [ -z "$(ls temporary)" ] || fail "$signal: a temporary folder is left"
done

ls -d "${TMPDIR:-/tmp}"/plumb-bench-* >/dev/null 2>&1 && [ -n "${TMPDIR:-}" ] && fail 'a temporary folder is left'
# Without a recording there is one line about it, and the figures all the same.
PLUMB=0 "$PLUMB_BIN" bench --from ./libengine.so --stage lookup --repeat 2 run >out.txt 2>err.txt || fail "PLUMB=0: $(cat err.txt)"
[ "$(grep '^plumb' err.txt)" = 'plumb bench: PLUMB=0 forbids recording: no trace, no breakdown' ] || fail "PLUMB=0: $(cat err.txt)"
is 'PLUMB=0' '.plumb | .trace == null and .breakdown == null and .median_ms > 0'

# Signatures that are odd: an element type that nothing has, statistics of nothing but NaN, a file of TeleFuser.
mkdir odd nans telefuser
PLUMB_SIGNATURE=full "$PLUMB_BIN" record --run-dir full -- ./engine >/dev/null 2>&1 || fail 'the engine is not recorded in full'
jq '(.. | objects | select(.dtype? == "float32") | .dtype) = "float7"' full/timing_io_signature.json >odd/timing_io_signature.json
refuses 'an unknown type' "input 'x' of stage 'loop': 'float7' is not an element type" --stage loop --from ./libengine.so odd
jq '(.. | objects | select(has("mean"))) |= (.mean = null | .min = null | .max = null | .std = null | .nan = .n)' \
    full/timing_io_signature.json >nans/timing_io_signature.json
grep -q '"nan": 1000' nans/timing_io_signature.json || fail 'no statistics of NaN'
"$PLUMB_BIN" bench --stage loop --repeat 1 --from ./libengine.so nans >out.txt 2>err.txt || fail "NaN: $(cat err.txt)"
cat >telefuser/timing_io_signature.json <<'END'
{"request_id": "r1", "timestamp": "2026-01-02T03:04:05", "stages": {"loop": {"stage_name": "loop", "input_signatures":
 {"x": {"shape": [1000], "dtype": "float32", "device": "cpu"}, "scale": NaN}, "output_signature": null, "metadata": {}}}}
END
"$PLUMB_BIN" bench --stage loop --repeat 1 --from ./libengine.so telefuser >out.txt 2>err.txt || fail "TeleFuser: $(cat err.txt)"
grep -q '^outputs: 1, hash' out.txt || fail "TeleFuser: $(cat out.txt)"

[ "$failures" -eq 0 ]
