#!/bin/sh
# labels: plain
# (The generated programs are built without the sanitizers of the stage library.)
# Each stage of the pipeline runs alone from its signature: exactly the wanted steps, a small trace, a breakdown,
# and a program that computes the same without plumb, whichever compiler builds it.
#
#   bench_test.sh TEXT_TO_VIDEO LIBT2V_STAGES
set -u
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY
library=$2
failures=0

fail()
{
    echo "text_to_video: $1" >&2
    failures=$((failures + 1))
}

"$PLUMB_BIN" record --run-dir run -- "$1" --tiny --out a.mp4 >record.txt 2>&1 || fail "recording: $(cat record.txt)"
"$PLUMB_BIN" bench --list-stages run >stages.txt || fail 'the stages are not listed'
printf '  - %s\n' text_encode denoise vae_decode to_video | cmp -s - stages.txt || fail "stages: $(cat stages.txt)"

# spans FILE NAME: how often a trace has it.
spans()
{
    gzip -dc "$1" | jq --arg name "$2" '[.traceEvents[] | select(.ph == "X" and .name == $name)] | length'
}

# is STAGE JQ: holds for bench.json
is()
{
    jq -e "$2" "run/bench$1.json" >/dev/null || fail "$1: $2: $(jq -c .plumb "run/bench$1.json")"
}

# built STAGE COMPILER: by the first line of the program, in a folder of its own; twice, each time in an empty one
built()
{
    rm -rf alone && mkdir alone alone/first alone/second && cp "run/profile_$1-alone.c" alone && cd alone || return 1
    command=$(sed -n '1s,^/\* cc ,,p' "profile_$1-alone.c")
    # shellcheck disable=SC2086 # words
    [ -n "$command" ] && "$2" $command || return 1
    for folder in first second; do
        (cd $folder && "../profile_$1-alone" >../$folder.json) || return 1
        [ -z "$(ls -A $folder)" ] || return 1
        jq -e --slurpfile bench "../run/bench-alone.json" '.runs == 5 and .warmup == 1 and
            .output_hash == $bench[0].plumb.output_hash and .steps == $bench[0].plumb.steps and
            .first_step == $bench[0].plumb.first_step' $folder.json >/dev/null || {
            cat $folder.json >&2
            return 1
        }
    done
}

# recorded STAGE NODE COUNT: the program built last, as plumb records it: its trace, and the breakdown of the stage
recorded()
{
    PLUMB_TRACE=1 PLUMB_TRACE_NODES=$1 "$PLUMB_BIN" record --run-dir "recorded.$1" -- "alone/profile_$1-alone" \
        --warmup 0 --runs 2 >recorded.json 2>recorded.txt || return 1
    "$PLUMB_BIN" report trace --format json "recorded.$1" >trace.json || return 1
    jq -e --arg node "$2" --argjson count "$3" 'any(.nodes[]; .name == $node and .count == $count)' trace.json \
        >/dev/null || return 1
    jq -e . "recorded.$1/$1_rank0.breakdown.json" >/dev/null
}

# breakdown STAGE NODE COUNT KINDS: of three runs: NODE as an operator, and so many primitives of oneDNN of each kind
# as the model has, whichever implementation the processor gets. No time counts twice. Reorders depend on the processor.
breakdown()
{
    jq -e --arg stage "$1" --arg node "$2" --argjson count "$3" --argjson kinds "$4" '.name == $stage and .threads == 1 and
        any(.top_ops[]; .name == $node and .count == $count) and
        any(.top_ops[]; .name == "bench" and .count == 3) and
        ([.top_kernels[] | select(.name | startswith("reorder") | not)] | group_by(.name | split(" ")[0]) |
            map({(.[0].name | split(" ")[0]): (map(.count) | add)}) | add // {}) == $kinds and
        all(.top_kernels[]; .stage == $stage and .cuda_ms == null and .cpu_ms == .ms) and
        .launches == ([.top_kernels[].count] | add // 0) and
        (.total_kernel_time_ms > 0) == ($kinds != {}) and
        .total_op_time_ms + .total_kernel_time_ms <= .wall_ms + 0.01 * (.num_ops + .num_kernels)' \
        "run/$1-alone_breakdown.json" >/dev/null || fail "$1: breakdown: $(cat "run/$1-alone_breakdown.json")"
}

# alone STAGE STEPS NODE COUNT KINDS: runs it three times, after the warm-up; COUNT is how often NODE is in the trace
alone()
{
    "$PLUMB_BIN" bench --stage "$1" --from "$library" --repeat 3 --suffix=-alone run >out.txt 2>err.txt || {
        fail "$1: $(cat err.txt)"
        return
    }
    for line in Setup Inputs Warm-up Profile Trace Breakdown Program 'Average iteration time'; do
        grep -q "^\[Harness\] $line" err.txt || fail "$1: no line '[Harness] $line'"
    done
    is -alone ".plumb | .warmups == 1 and .steps == 1 and .loop_steps == $2 and .outputs_vary == false"
    is -alone '([.benchmarks[] | select(.run_type == "iteration")] | length) == 3'
    [ "$(wc -c <"run/$1-alone_trace.json.gz")" -lt 10485760 ] || fail "$1: a trace of 10 MB or more"
    [ "$(spans "run/$1-alone_trace.json.gz" bench)" = 3 ] || fail "$1: not three runs in the trace"
    [ "$(spans "run/$1-alone_trace.json.gz" "$3")" = "$4" ] ||
        fail "$1: $(spans "run/$1-alone_trace.json.gz" "$3") of $3 in the trace, not $4"
    breakdown "$1" "$3" "$4" "$5"
    for compiler in gcc clang clang-14; do
        command -v $compiler >/dev/null || continue
        (built "$1" $compiler) || fail "$1: the program, built by $compiler"
    done
    recorded "$1" "$3" "$(($4 * 2 / 3))" || fail "$1: the program, recorded: $(cat recorded.txt)"
}

alone text_encode -1 text_encode 3 '{"matmul": 72, "layer_normalization": 30, "softmax": 12}'
alone denoise 4 denoise_step 3 '{"matmul": 468, "layer_normalization": 114, "softmax": 72}'
alone vae_decode -1 vae_decode 3 '{"convolution": 33, "layer_normalization": 21, "eltwise": 21, "resampling": 9}'
alone to_video -1 to_video 3 '{}'
jq -e '.plumb.pipeline | .node == "to_video" and .count == 1' run/bench-alone.json >/dev/null ||
    fail "to_video: $(jq -c .plumb.pipeline run/bench-alone.json)"

# Steps 1 and 2 of 4, with no warm-up: the nodes inside a step as often as in two steps, and those before the loop.
"$PLUMB_BIN" bench --stage denoise --from "$library" --first-step 1 --steps 2 --warmup 0 --repeat 1 --suffix=-two run \
    >out.txt 2>err.txt || fail "two steps: $(cat err.txt)"
is -two '.plumb | .warmups == 0 and .first_step == 1 and .steps == 2 and .loop_steps == 4'

# Step 2 with the inputs that it had in the pipeline gives out what it gave out there, to the last bit.
PLUMB_CAPTURE=denoise:2 "$PLUMB_BIN" record --run-dir captured -- "$1" --tiny --out b.mp4 >record.txt 2>&1 ||
    fail "capturing: $(cat record.txt)"
"$PLUMB_BIN" bench --stage denoise --from "$library" --repeat 1 captured >out.txt 2>err.txt || fail "captured: $(cat err.txt)"
jq -e '.plumb | .inputs == "captured" and .first_step == 2 and .outputs_equal == true' captured/bench.json >/dev/null ||
    fail "captured: $(jq -c .plumb captured/bench.json)"
is -two '.plumb.pipeline | .node == "denoise_step" and .count == 4'
[ "$(spans run/denoise-two_trace.json.gz denoise_step)" = 2 ] || fail 'two steps: not two'
[ "$(spans run/denoise-two_trace.json.gz self_attention)" = 24 ] ||
    fail "two steps: $(spans run/denoise-two_trace.json.gz self_attention) attentions, not 24"
exit $((failures > 0))
