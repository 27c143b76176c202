#!/bin/sh
# labels: plain
# (The stage library is without the sanitizers' runtime that a preloaded libplumb would need.)
# TX-16: four named scenarios are listed, build, and run on each device, from a file of shapes alone; the device's
# samples are those of the processor; where there is no device, one line says what to do.
set -u
library=$PLUMB_BUILD_DIR/examples/audio_scenarios/libaudio_scenarios.so
[ -e "$library" ] || { echo 'the example audio_scenarios is not built'; exit 77; }
failures=0

fail()
{
    echo "audio_scenarios: $*" >&2
    failures=$((failures + 1))
}

# The shapes as they are, and a thousandth of the long ones, which are minutes of audio.
file=$PLUMB_SOURCE_DIR/examples/audio_scenarios/scenarios.json
"$PLUMB_BIN" bench --list-stages "$file" >stages.txt || fail 'the scenarios are not listed'
printf '  - %s\n' offline_chain offline_batch realtime_cpu realtime_gpu | cmp -s - stages.txt || fail "$(cat stages.txt)"
jq -c '[.stages[].input_signatures.samples.shape] == [[2, 28800000], [32, 2, 480000], [2, 512], [2, 512]]' "$file" |
    grep -qx true || fail 'other shapes'
jq '(.stages[].input_signatures.samples.shape[-1] | select(. > 512)) /= 1000' "$file" >short.json

# bench SCENARIO SUFFIX OPTION...: three runs after a warm-up
bench()
{
    scenario=$1 suffix=$2
    shift 2
    "$PLUMB_BIN" bench --stage "$scenario" --from "$library" --repeat 3 --out . --suffix="$suffix" "$@" short.json \
        >out.txt 2>err.txt
}

hash()
{
    jq -r .plumb.output_hash "$1"
}

for scenario in offline_chain offline_batch realtime_cpu realtime_gpu; do
    bench $scenario -$scenario-cpu --config device=cpu || fail "$scenario: $(cat err.txt)"
    jq -e '.plumb | .outputs == 1 and .outputs_vary == false and .mean_ms > 0' bench-$scenario-cpu.json >/dev/null ||
        fail "$scenario: $(jq -c .plumb bench-$scenario-cpu.json)"
done
[ "$(hash bench-realtime_cpu-cpu.json)" != "$(hash bench-offline_chain-cpu.json)" ] || fail 'one result of two inputs'
bench realtime_cpu -other --config device=abacus && fail 'another device'
grep -q 'the configuration is neither' err.txt || fail "$(cat err.txt)"

# Realtime: the block's deadline.
bench realtime_cpu -deadline --deadline 10.667ms || fail "$(cat err.txt)"
jq -e '.plumb.deadline | .deadline_ms == 10.667 and .overruns >= 0 and .latency_max_ms > 0' bench-deadline.json >/dev/null ||
    fail "deadline: $(jq -c .plumb bench-deadline.json)"

OCL_ICD_VENDORS=$PWD/none bench realtime_gpu -none && fail 'a device that is not there'
grep -q 'device=cpu' err.txt || fail "no device: $(cat err.txt)"

export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$PWD/cache
mkdir cache
[ -e "$OCL_ICD_VENDORS" ] || exit $((failures > 0))
for scenario in offline_chain offline_batch realtime_cpu realtime_gpu; do
    bench $scenario -$scenario-opencl --config device=opencl || fail "$scenario: $(cat err.txt)"
    [ "$(hash bench-$scenario-cpu.json)" = "$(hash bench-$scenario-opencl.json)" ] ||
        fail "$scenario: the device has other samples"
    jq -e --arg scenario $scenario '[.top_kernels[] | select(.name == "cascade")] == [] or
        all(.top_kernels[]; .stage == $scenario)' $scenario-$scenario-opencl_breakdown.json >/dev/null ||
        fail "$scenario: $(cat $scenario-$scenario-opencl_breakdown.json)"
done
jq -e '[.top_kernels[] | select(.name == "cascade" and .device_ms > 0)] | length == 1' \
    offline_chain-offline_chain-opencl_breakdown.json >/dev/null || fail 'no kernel on the device'
bench realtime_gpu -itself || fail "$(cat err.txt)"
[ "$(hash bench-itself.json)" = "$(hash bench-realtime_gpu-cpu.json)" ] || fail 'realtime_gpu: other samples'
jq -e '.launches == 9' realtime_gpu-itself_breakdown.json >/dev/null || fail 'realtime_gpu is not on the device by itself'
bench realtime_cpu -itself || fail "$(cat err.txt)"
jq -e '.launches == 0' realtime_cpu-itself_breakdown.json >/dev/null || fail 'realtime_cpu is on the device by itself'
exit $((failures > 0))
