#!/bin/sh
# labels: plain
# (The stage library is without the sanitizers' runtime that a preloaded libplumb would need.)
# The stage `blur` runs alone on its device from its signature: `plumb bench` adds the OpenCL layer itself, its kernels
# are in the trace and in the breakdown, and the picture is that of plain C to the last byte, with the layer and without.
#
#   bench_test.sh OPENCL_BLUR TEXT_TO_VIDEO LIBOPENCL_BLUR_STAGES
set -u
program=$1
library=$3

fail()
{
    echo "opencl_blur: $*" >&2
    exit 1
}

export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$PWD/cache
mkdir cache
if [ ! -e "$OCL_ICD_VENDORS" ]; then
    echo "skipped: no PoCL (pocl-opencl-icd)" >&2
    exit 77
fi
nm -D "$library" | grep -w U | grep -q plumb && fail 'the stage library needs libplumb'
PLUMB=0 "$2" --tiny --out in.mp4 >out.txt 2>&1 || fail "no video: $(cat out.txt)"
PLUMB_CAPTURE=blur "$PLUMB_BIN" record --run-dir device -- "$program" in.mp4 >out.txt 2>&1 || fail "$(cat out.txt)"
PLUMB_CAPTURE=reference "$PLUMB_BIN" record --run-dir plain -- "$program" in.mp4 --reference >out.txt 2>&1 ||
    fail "$(cat out.txt)"

# bench RUN STAGE SUFFIX OPTION...: three runs after a warm-up
bench()
{
    run=$1 stage=$2 suffix=$3
    shift 3
    "$PLUMB_BIN" bench --stage "$stage" --from "$library" --repeat 3 --suffix="$suffix" "$@" "$run" >out.txt 2>err.txt ||
        fail "$stage$suffix: $(cat err.txt)"
    jq -e '.plumb | .inputs == "captured" and .outputs == 1 and .outputs_vary == false' "$run/bench$suffix.json" \
        >/dev/null || fail "$stage$suffix: $(jq -c .plumb "$run/bench$suffix.json")"
}
hash()
{
    jq -r .plumb.output_hash "$1"
}

bench plain reference ''
bench device blur ''
PLUMB=0 bench device blur -quiet
[ "$(hash plain/bench.json)" = "$(hash device/bench.json)" ] || fail 'the device makes another picture'
[ "$(hash plain/bench.json)" = "$(hash device/bench-quiet.json)" ] || fail 'the layer changes the picture'

# Eight commands a run, of the measured runs alone.
gzip -dc device/blur_trace.json.gz | jq -e '[.traceEvents[] | select(.ph == "X" and (.args.grid != null or .args.bytes != null)) | .name] | sort |
    group_by(.) | map([.[0], length]) == [["blur_columns", 9], ["blur_rows", 9], ["read buffer", 3], ["write buffer", 3]]' \
    >/dev/null || fail "the trace: $(gzip -dc device/blur_trace.json.gz | jq -c '[.traceEvents[] | .name]')"
jq -e '([.top_kernels[] | select(.name | startswith("blur_"))] | length == 2 and
        all(.count == 9 and .device_ms == .ms and .ms > 0 and .cuda_ms == null and .cpu_ms == 0 and .stage == "blur")) and
    .launches == 24 and .unlinked == 0 and .queues == 1 and
    .total_kernel_time_ms <= .wall_ms + 0.01 * .num_kernels' device/blur_breakdown.json >/dev/null ||
    fail "the breakdown: $(cat device/blur_breakdown.json)"

# Collectors that are named without it leave queues as they are.
PLUMB_COLLECT=none bench device blur -none
jq -e '.launches == 0 and .top_kernels == []' device/blur-none_breakdown.json >/dev/null ||
    fail "none: $(cat device/blur-none_breakdown.json)"
[ "$(hash plain/bench.json)" = "$(hash device/bench-none.json)" ] || fail 'PLUMB_COLLECT=none makes another picture'
