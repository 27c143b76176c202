#!/bin/sh
# plumb gate with rules against the history on whatever its records hold: counts and memory of runs, by node and of
# the whole run, and every figure of an imported record, with percent and absolute floors.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_history.sh"
"$PLUMB_BIN" history --help >/dev/null 2>&1 || {
    echo 'skipped: built without a history'
    exit 77
}
gate() {
    "$PLUMB_BIN" gate "$@"
}
cat >host.c <<'END'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <plumb/plumb.h>

int main(void)
{
    /* In the environment, because the arguments are part of a recipe. */
    const char *extra = getenv("EXTRA") ? getenv("EXTRA") : "";
    static char block;
    PLUMB_STAGE(decode, "decode");
    plumb_mem_alloc("gpu", "pool", &block, strcmp(extra, "grow") == 0 ? 7823000000u : 2955000000u);
    for (int i = 0; i < 10; i++) {
        PLUMB_SPAN("layer");
        plumb_dispatch("gemm");
        plumb_counter_add("balance", -1);
        plumb_counter_add("cycles", strcmp(extra, "many") == 0 ? INT64_C(1) << 50 : 3);
        plumb_dispatch(strcmp(extra, "rename") == 0 ? "new" : "relu");
    }
    if (strcmp(extra, "dispatch") == 0)
        plumb_dispatch("gemm");
    plumb_mem_free("gpu", "pool", &block, 0);
    return 0;
}
END
build_linked host.c host
record() {
    rm -rf "$1"
    EXTRA=${2:-} PLUMB_QUIET=1 PLUMB=1 PLUMB_RUN_DIR=$PWD/$1 ./host >/dev/null 2>record.txt || fail "the program failed: $(cat record.txt)"
}
cat >run.rules <<'END'
[dispatches of the run]
metric = dispatches
old = history
limit = <= old

[dispatches of layers]
metric = dispatches
node = layer
old = history
limit = == old

[gemm]
metric = dispatches
node = layer
name = gemm
old = history
limit = == old

[outside of layers]
metric = dispatches
node = decode
old = history
limit = <= old

[buffers]
metric = peak_allocated
node = decode
old = history
limit = <= old + 5 %
floor = 256 MB

[wall clock]
metric = wall_clock
old = history
limit = <= old * 1000000

[runs]
metric = runs
node = layer
old = history
limit = == old

[a counter below 0]
metric = user
node = layer
name = balance
old = history
limit = == old
END
record new
expect 'nothing to compare with' 3 gate run.rules new
has out.txt '8 inconclusive' 'CALIBRATION_NEEDED'
for i in 1 2 3; do
    record day
    "$PLUMB_BIN" history add --baseline yes --no-compare day >/dev/null 2>&1 || fail "cannot add run $i"
done
record new
expect 'as before' 0 gate run.rules new --format json
jq -e '[.checks[] | [.old, .new]][:5] == [[20, 20], [20, 20], [10, 10], [0, 0], [2955000000, 2955000000]] and .checks[7].old == -10' out.txt >/dev/null ||
    fail "$name: $(jq -c '[.checks[] | [.old, .new]]' out.txt)"
record new dispatch
expect 'one dispatch more' 1 gate run.rules new
has out.txt 'regression: dispatches of the run (run.rules:1): (run): dispatches is 21, was 20 (+5.0 %)' \
    'regression: outside of layers (run.rules:19): decode: dispatches is 1, was 0'
[ "$(grep -c '^regression' out.txt)" = 2 ] || fail "$name: $(cat out.txt)"
record new rename
expect 'the sum is the same' 0 gate --rule 'dispatches of layers' run.rules new
record new grow
expect 'a buffer that grew' 1 gate run.rules new
has out.txt 'regression: buffers (run.rules:25): decode: peak_allocated is 7823 MB, was 2955 MB (+164.7 %), limit <= old + 5 %'
sed 's/256 MB/5 GB/' run.rules >floor.rules
expect 'within the absolute floor' 0 gate --rule buffers floor.rules new
record new
expect 'the results of a record have their figures' 0 "$PLUMB_BIN" history show 1 --format json
jq -e '[.metrics[] | select(.name == "dispatches gemm of layer") | .value, .gated] == [10, false]' out.txt >/dev/null ||
    fail "$name: $(cat out.txt)"

# A record has floating-point numbers.
cat >cycles.rules <<'END'
[cycles]
metric = user
name = cycles
old = history
limit = == old
END
record day many
"$PLUMB_BIN" history add --db many.db --baseline yes --no-compare day >/dev/null 2>&1 || fail 'cannot add many cycles'
record new many
expect 'a count beyond 2^53' 3 gate --history many.db cycles.rules new
has out.txt 'the history keeps numbers of up to 2^53 exactly'

# ---- What a rule cannot have ---------------------------------------------------------------------
printf '[a]\nmetric = dispatches\nnode = layer\nstep = 3\nold = history\nlimit = <= old\n' >wrong.rules
expect 'a step' 2 gate wrong.rules new
has err.txt 'wrong.rules:4: the history keeps no single steps'
printf '[a]\nmetric = p95\nnode = layer\nold = history\nlimit = <= old\n' >wrong.rules
expect 'a percentile' 2 gate wrong.rules new
has err.txt "wrong.rules:4: the history keeps no 'p95': of nodes it has 'time', the median"
printf '[a]\nmetric = figure\nlimit = <= 3\n' >wrong.rules
expect 'a figure without a name' 2 gate wrong.rules new
has err.txt "wrong.rules:1: rule 'a': metric 'figure' needs 'name'"

# ---- Figures of imported records -----------------------------------------------------------------
cat >perf.rules <<'END'
[frames per second]
metric = figure
name = throughput
old = history
limit = >= old - 8 %
floor = 0.05

[decoder]
metric = figure
name = vae_decode_time_s
limit on L40S = <= 2.5
limit = <= 1
END
for day in 01 02 03; do
    perf p.json $day 30
    "$PLUMB_BIN" history add --db p.db --baseline yes --no-compare p.json >/dev/null 2>&1 || fail "cannot add day $day"
done
perf p.json 04 30
expect 'figures of FastVideo' 0 gate --history p.db perf.rules p.json
has out.txt 'throughput' '2 pass'
perf p.json 04 30 '{"throughput_fps": 4.1}'
expect 'fewer frames' 1 gate --history p.db perf.rules p.json
has out.txt 'wan sp2, throughput: figure is 4.1, was 4.5 (-8.9 %)'
sed 's/0.05/0.5/' perf.rules >loose.rules
expect 'within the absolute floor of a figure' 0 gate --history p.db loose.rules p.json
perf p.json 04 30 '{"vae_decode_time_s": 2.6}'
expect 'a limit of the device' 1 gate --history p.db perf.rules p.json
has out.txt 'vae_decode_time_s: figure is 2.6, limit <= 2.5'
perf p.json 04 30 '{"vae_decode_time_s": null}'
expect 'a figure without a value' 3 gate --history p.db perf.rules p.json

google g.json 1 a=100 b=200
jq '.benchmarks |= map(. + {items_per_second: (if .name == "a" then 50 else 70 end)})' g.json >g1.json
"$PLUMB_BIN" history add --db g.db --baseline yes --no-compare g1.json >/dev/null 2>&1 || fail 'cannot add benchmarks'
jq '.context.date = "2026-01-03T03:04:05+00:00" | .benchmarks |= map(if .name == "a" then .items_per_second = 40 else . end)' \
    g1.json >g2.json
cat >rate.rules <<'END'
[rates]
metric = figure
node = *
name = items_per_second
old = history
limit = >= old - 10 %
END
expect 'counters of benchmarks, each by itself' 1 gate --history g.db rate.rules g2.json
has out.txt 'a, items_per_second: figure is 40, was 50 (-20.0 %)' '1 pass, 1 regression'
sed '/^node/d' rate.rules >all.rules
expect 'the same without a node' 1 gate --history g.db all.rules g2.json
has out.txt '1 pass, 1 regression'
# A figure of 0 is a figure, and one may be below 0.
jq '.benchmarks |= map(. + {misses: 0, drift: -3.5})' g.json >zero.json
cat >zero.rules <<'END'
[no misses]
metric = figure
name = misses
limit = <= 0
[drift]
metric = figure
name = drift
limit = >= -4, <= -3
END
expect 'figures of 0 and below' 0 gate zero.rules zero.json
has out.txt '4 pass' '-3.5'
jq '.benchmarks |= map(. + {misses: 2, drift: -2.5})' g.json >zero.json
expect 'more than 0, and outside' 1 gate zero.rules zero.json
has out.txt '4 regressions' 'a, misses: figure is 2, limit <= 0' 'drift: figure is -2.5, limit >= -4, <= -3'
# Two benchmarks whose names have one hash.
google h.json 1 dekpineefjnebbmk=100 bkjdaihjfmhmfbla=200
jq '.benchmarks |= map(. + {items_per_second: 50})' h.json >h1.json
"$PLUMB_BIN" history add --db h.db --baseline yes --no-compare h1.json >/dev/null 2>&1 || fail 'cannot add names that hash alike'
jq '.context.date = "2026-01-03T03:04:05+00:00" | .benchmarks |= map(if .name == "dekpineefjnebbmk" then .items_per_second = 40 else . end)' \
    h1.json >h2.json
expect 'names that hash alike' 1 gate --history h.db rate.rules h2.json
has out.txt 'dekpineefjnebbmk, items_per_second: figure is 40, was 50 (-20.0 %)' '1 pass, 1 regression'

mkdir -p asv/m
echo '{"time_a": {"unit": "seconds"}}' >asv/benchmarks.json
for i in 1 2; do
    echo '{"commit_hash": "c'$i'", "date": '$i'000, "params": {"cpu": "x"}, "python": "3", "requirements": {},
        "results": {"time_a": '$i'.5}, "version": 1}' >asv/m/c$i.json
done
"$PLUMB_BIN" history add --db asv.db --baseline yes asv >/dev/null 2>&1
printf "[newest]\nmetric = figure\nname = result\nnode = time_a\nold = history\nlimit = <= old + 10 %%\n" >asv.rules
expect 'the newest commit of asv' 1 gate --history asv.db asv.rules asv
has out.txt 'figure is 2.5, was 1.5'
finish
