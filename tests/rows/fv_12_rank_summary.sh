#!/bin/sh
# labels: plain
# FV-12: each rank leaves summary_rank<R>.txt (at most 60 rows, by self device time) and .json (all rows,
# five fields), grouped by node and shapes of the inputs; a failure to write them is reported,
# and changes no other result.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"

cat >ops.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <plumb/plumb.h>
/* 70 operators; the later ones took longer on the device. */
int main(int argc, char **argv)
{
    char name[16];
    (void)argv;
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "op.%d", i);
        for (int k = 0; k < 3; k++)
            plumb_record_device_ns(plumb_node_get(name), 1000u * (unsigned)i);
    }
    puts("done");
    return argc > 1 ? 7 : 0;
}
EOF
build -DPLUMB_LINKED ops.c -o ops -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# run NAME STATUS DIR [VARIABLE=VALUE]...
run() {
    run_name=$1
    run_status=$2
    run_dir=$3
    shift 3
    expect "$run_name" "$run_status" env PLUMB_RUN_DIR="$PWD/$run_dir" "$@"
    [ "$(cat out.txt)" = done ] || fail "stdout: $(cat out.txt)"
}

run 'rank unknown' 0 a ./ops
has err.txt "summary: $PWD/a/summary_rank0.txt"
[ "$(LC_ALL=C ls a)" = 'summary_rank0.json
summary_rank0.nodes.txt
summary_rank0.txt
timing.json' ] || fail "left in the run: $(ls a)"
jq -e 'length == 70 and all(.[]; keys_unsorted ==
           ["name", "shapes", "self_device_us", "device_us", "count"]) and
       all(.[]; (.shapes | type) == "string") and .[0].name == "op.0" and
       .[69] == {name: "op.69", shapes: "", self_device_us: 207, device_us: 207, count: 3}' \
    a/summary_rank0.json >/dev/null || fail "json: $(cat a/summary_rank0.json)"
[ "$(wc -l <a/summary_rank0.json)" = 1 ] || fail 'the JSON is indented'
[ "$(wc -l <a/summary_rank0.txt)" = 63 ] || fail 'the text has not 60 rows'
has a/summary_rank0.txt 'Rank 0: 60 of 70 rows' '10 left out' 'op.10 '
lacks a/summary_rank0.txt 'op.9 '
[ "$(sed -n 4p a/summary_rank0.txt | cut -c 1-6)" = 'op.69 ' ] || fail 'not by device time'

run 'rank 3 of 4' 0 b RANK=3 WORLD_SIZE=4 ./ops
[ "$(LC_ALL=C ls b)" = 'summary_rank3.json
summary_rank3.nodes.txt
summary_rank3.txt
timing.json' ] || fail "left in the run: $(ls b)"
lacks err.txt 'summary_rank'
has b/summary_rank3.txt 'Rank 3: '
run 'rank 0 of 4' 0 c RANK=0 WORLD_SIZE=4 ./ops
has err.txt "summary: $PWD/c/summary_rank0.txt"

# A file that cannot be written is named once; the other file, the report and the status stay.
mkdir -p d/summary_rank0.json
run 'a folder in its place' 7 d ./ops fail
has err.txt "cannot write '$PWD/d/summary_rank0.json': Is a directory"
[ "$(grep -c 'summary_rank0.json' err.txt)" = 1 ] || fail "said more than once: $(cat err.txt)"
lacks err.txt 'summary: '
[ "$(wc -l <d/summary_rank0.txt)" = 63 ] || fail 'the text was lost as well'
[ ! -e d/live.plumb ] && [ -z "$(find d -name "*.tmp")" ] || fail "left behind: $(ls d)"
expect 'its report' 0 "$PLUMB_BIN" report d
empty err.txt

# A killed run gets them when it is recovered.
PLUMB_RUN_DIR=$PWD/e PLUMB_QUIET=1 RANK=2 WORLD_SIZE=4 ./linked signal 9 2>/dev/null
expect 'recover' 0 "$PLUMB_BIN" recover e
[ "$(cat out.txt)" = e/timing.json ] || fail "it printed '$(cat out.txt)'"
jq -e '[.[] | [.name, .count]] == [["frame", 20], ["work", 80], ["step", 60]]' \
    e/summary_rank2.json >/dev/null || fail "json: $(cat e/summary_rank2.json)"
PLUMB_RUN_DIR=$PWD/f PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
expect 'recover by report' 0 "$PLUMB_BIN" report f
[ -f f/summary_rank0.txt ] && [ -f f/summary_rank0.json ] || fail "left in the run: $(ls f)"
PLUMB_RUN_DIR=$PWD/g PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
mkdir g/summary_rank0.txt
expect 'recover beside a folder' 0 "$PLUMB_BIN" recover g
has err.txt "cannot write 'g/summary_rank0.txt': not a regular file; timing.json has the same figures"
[ -f g/summary_rank0.json ] && [ -f g/timing.json ] || fail "left in the run: $(ls g)"
expect 'again' 0 "$PLUMB_BIN" recover g
lacks err.txt 'summary_rank'

# Rows by the shapes of the inputs. A phase has one kind of call, so that timing.json, whose rows are
# those of phases, has the sum of each: calls without a sample (failed, skipped, of before the reset)
# have no part in either.
cat >shapes.c <<'EOF'
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/plumb.h>
#include <dlpack/dlpack.h>
static volatile double sum;
static void spin(int n)
{
    for (int i = 0; i < n; i++)
        sum += i;
}
static DLTensor tensor(int64_t *shape, int dims)
{
    return (DLTensor){.device = {kDLCPU, 0}, .ndim = dims, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}
/* `inner` spans inside, which are not the stage's own time; where it is odd, a stage as well. */
static void denoise(int64_t frames, int inner, int fails)
{
    int64_t a[] = {1, frames, 64}, b[] = {77, 768};
    DLTensor latents = tensor(a, 3), text = tensor(b, 2);
    PLUMB_STAGE(stage, "denoise");
    if (frames) {
        plumb_stage_input(stage, "latents", &latents);
        plumb_stage_input(stage, "text", &text);
        plumb_stage_input_value(stage, "steps", plumb_value_i64(inner));
        plumb_stage_output(stage, "out", inner % 2 ? &latents : &text);
        plumb_record_device_ns(plumb_node_get("denoise"), 1000u * (unsigned)frames);
    }
    for (int i = 0; i < inner; i++) {
        PLUMB_SPAN("inner");
        spin(300);
    }
    if (inner % 2) {
        PLUMB_STAGE(other, "nested");
        plumb_stage_input(other, "text", &text);
        spin(5000);
    }
    spin(3000);
    if (fails)
        plumb_span_fail(stage, "no memory");
}
static void decode(void)
{
    int64_t c[] = {3, 0};
    DLTensor frames[2] = {tensor(c, 2), tensor(c, 0)};
    plumb_value both[2] = {plumb_value_tensor(&frames[0]), plumb_value_tensor(&frames[1])};
    PLUMB_STAGE(stage, "decode");
    plumb_stage_input_value(stage, "frames", plumb_value_list(both, 2));
    plumb_stage_input_value(stage, "config", plumb_value_str("C"));
    spin(1000);
}
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "reset") == 0) {
        denoise(40, 3, 0);
        plumb_reset(NULL, NULL);
    }
    for (int i = 0; i < 5; i++)
        denoise(16, 100 + i, 0);
    {
        PLUMB_PHASE("train");
        for (int i = 0; i < 3; i++)
            denoise(32, 7, 0);
        denoise(48, 1, 1);
    }
    {
        PLUMB_PHASE("val");
        denoise(0, 3, 0);
        denoise(0, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        decode();
    for (int i = 0; i < 3; i++) {
        plumb_record_device_ns(plumb_node_get("denoise"), 1000);
        plumb_record_device_ns(plumb_node_get("decode"), 2000);
    }
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    return 0;
}
EOF
build -DPLUMB_LINKED shapes.c -o shapes -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# rows_are DIR ROWS: the JSON has these [name, shapes, count, own device time], in this order. Counts of
# a name add up to those of its nodes, unless a row is left for samples of a device.
rows_are() {
    [ "$(jq -c 'map([.name, .shapes, .count, .self_device_us])[]' "$1/summary_rank0.json")" = "$2" ] ||
        fail "$name: $(jq -c '.[]' "$1/summary_rank0.json")"
    jq -e 'all(.count > 0)' "$1/summary_rank0.json" >/dev/null || fail "$name: a row counts nothing"
    [ "$1" = l ] || jq -e --slurpfile rows "$1/summary_rank0.json" '
        .nodes | length > 0 and (group_by(.name) | all((map(.count) | add) ==
            (.[0].name as $n | [$rows[0][] | select(.name == $n).count] | add)))' \
        "$1/timing.json" >/dev/null || fail "$name: counts do not add up"
}
# own DIR NAME SHAPES: the row's own host time in the text, ms
own() {
    awk -v name="$2" -v shapes="$3" \
        '$1 == name && (shapes == "" ? NF == 5 : index($0, " " shapes " ")) { print $NF }' "$1/summary_rank0.txt"
}
# own_is DIR NAME SHAPES PHASE: it is that of the phase, up to the rounding of both
own_is() {
    jq -e --arg node "$2" --arg phase "$4" --arg own "$(own "$1" "$2" "$3")" '
        [.nodes[] | select(.name == $node and .phase == $phase).self_ms] | length == 1 and .[0] > 0 and
        ((.[0] - ($own | tonumber)) | fabs) < 0.00151' "$1/timing.json" >/dev/null ||
        fail "$name: $2 $3 has $(own "$1" "$2" "$3") ms: $(cat "$1/summary_rank0.txt")"
}
sums_are() {
    own_is "$1" denoise '[[1, 16, 64], [77, 768], []]' inference
    own_is "$1" denoise '[[1, 32, 64], [77, 768], []]' train
    own_is "$1" denoise '' val
    own_is "$1" decode '[[[3, 0], []], []]' inference
}
# Device time is with the shapes of the call that recorded it; 48 us are of the call that failed, 3 of
# none.
whole='["denoise","[[1, 16, 64], [77, 768], []]",5,80]
["denoise","[[1, 32, 64], [77, 768], []]",3,96]
["denoise","",2,51]
["inner","",535,0]
["nested","[[77, 768]]",7,0]
["decode","[[[3, 0], []], []]",4,6]'
# run_shapes NAME DIR [VARIABLE=VALUE]... COMMAND...
run_shapes() {
    name=$1
    shapes_dir=$2
    shift 2
    env PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR="$PWD/$shapes_dir" "$@" >out.txt 2>err.txt
}
run_shapes 'rows by shapes' h ./shapes || fail "$name: $(cat err.txt)"
rows_are h "$whole"
sums_are h
run_shapes 'a killed run' i ./shapes killed && fail "$name: it lived"
expect 'recovered, the same rows' 0 "$PLUMB_BIN" recover i
rows_are i "$whole"
sums_are i
run_shapes 'what was before a reset' k ./shapes reset || fail "$name: $(cat err.txt)"
rows_are k "$whole"
sums_are k
# The first two of each pipeline, phase and node leave no sample, of the host and of the device.
run_shapes 'warm-up' l PLUMB_SKIP_FIRST=2 ./shapes || fail "$name: $(cat err.txt)"
rows_are l '["denoise","[[1, 16, 64], [77, 768], []]",3,48]
["denoise","[[1, 32, 64], [77, 768], []]",1,32]
["denoise","",4,51]
["inner","",529,0]
["nested","[[77, 768]]",2,0]
["decode","[[[3, 0], []], []]",2,2]'
own_is l denoise '[[1, 16, 64], [77, 768], []]' inference
own_is l denoise '[[1, 32, 64], [77, 768], []]' train
run_shapes 'no signatures' m PLUMB_SIGNATURE=off ./shapes || fail "$name: $(cat err.txt)"
rows_are m '["denoise","",10,227]
["inner","",535,0]
["nested","",7,0]
["decode","",4,6]'

# Device time with what is nested: "model" holds "attn" of two shapes, which holds the plain span "block",
# which holds itself and "gemm". Each sample is once in each node around it.
cat >nested.c <<'EOF'
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <plumb/plumb.h>
#include <dlpack/dlpack.h>
static void attn(int64_t n, uint64_t ns)
{
    int64_t shape[] = {n, 64};
    DLTensor t = {.device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    plumb_span stage = plumb_begin_with(plumb_node_get("attn"), PLUMB_POINT_STAGE);
    plumb_stage_input(stage, "x", &t);
    {
        PLUMB_SPAN("block");
        {
            PLUMB_SPAN("block");
            {
                PLUMB_SPAN("gemm");
                plumb_record_device_ns(plumb_node_get("gemm"), ns);
            }
        }
    }
    plumb_record_device_ns(plumb_node_get("attn"), ns / 10);
    plumb_end(stage);
}
int main(int argc, char **argv)
{
    for (int step = 0; step < 4; step++) {
        PLUMB_STEP(step);
        PLUMB_STAGE(model, "model");
        for (int i = 0; i < 3; i++)
            attn(16, 1000000);
        for (int i = 0; i < 3; i++)
            attn(4096, 9000000);
    }
    if (argc > 1 && strcmp(argv[1], "killed") == 0) {
        {
            PLUMB_SPAN("late"); /* no stage ends after it: only the last records have it */
            plumb_record_device_ns(plumb_node_get("gemm"), 1000000);
        }
        raise(SIGKILL);
    }
    return 0;
}
EOF
build -DPLUMB_LINKED nested.c -o nested -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
# nested_is DIR ROWS: [name, shapes, count, own device time, device time], sorted by name and shapes, ms
nested_is() {
    [ "$(jq -c 'sort_by(.name, .shapes) | map([.name, .shapes, .count, .self_device_us / 1000,
        .device_us / 1000])[]' "$1/summary_rank0.json")" = "$2" ] ||
        fail "$name: $(jq -c '.[]' "$1/summary_rank0.json")"
}
nested='["attn","[[16, 64]]",12,1.2,13.2]
["attn","[[4096, 64]]",12,10.8,118.8]
["block","",48,0,120]
["gemm","",24,120,120]
["model","",4,0,132]'
run_shapes 'device time with what is nested' o ./nested || fail "$name: $(cat err.txt)"
nested_is o "$nested"
run_shapes 'nested, killed' p ./nested killed && fail "$name: it lived"
expect 'recovered, the same device time' 0 "$PLUMB_BIN" recover p
nested_is p "$(echo "$nested" | sed 's/^\["gemm".*/["gemm","",24,121,121]\n["late","",1,0,1]/')"
run_shapes 'nested, two steps' q PLUMB_TRACE=1 PLUMB_TRACE_STEPS=1,2 ./nested || fail "$name: $(cat err.txt)"
nested_is q '["attn","[[16, 64]]",6,0.6,6.6]
["attn","[[4096, 64]]",6,5.4,59.4]
["block","",24,0,60]
["gemm","",12,60,60]
["model","",2,0,66]'
# Calls that are skipped leave nothing of what is nested: here the first of each.
run_shapes 'nested, warm-up' r PLUMB_SKIP_FIRST=1 ./nested || fail "$name: $(cat err.txt)"
nested_is r '["attn","[[16, 64]]",11,1.1,12.1]
["attn","[[4096, 64]]",12,10.8,118.8]
["block","",47,0,119]
["gemm","",23,119,119]
["model","",3,0,99]'

# A signature for each call: those beyond the bound have no shapes.
cat >many.c <<'EOF'
#include <stddef.h>
#include <plumb/plumb.h>
#include <dlpack/dlpack.h>
int main(void)
{
    for (int64_t n = 0; n < 40; n++) {
        DLTensor t = {.device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLInt, 8, 1}, .shape = &n};
        PLUMB_STAGE(stage, "many");
        plumb_stage_input(stage, "x", &t);
    }
    return 0;
}
EOF
build -DPLUMB_LINKED many.c -o many -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
run_shapes 'too many shapes' n ./many || fail "$name: $(cat err.txt)"
jq -e 'length == 33 and .[31] == {name: "many", shapes: "[[31]]", self_device_us: 0, device_us: 0, count: 1} and
       .[32].shapes == "" and .[32].count == 8' n/summary_rank0.json >/dev/null ||
    fail "$name: $(cat n/summary_rank0.json)"
finish
