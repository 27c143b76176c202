#!/bin/sh
# TF-32 (+): labels and raw names, long and wide forms, units, thousands separators: a row for each of
# several kernels.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
corpus=$PLUMB_SOURCE_DIR/tests/fuzz/corpus/ncu
# rows REPORT ROW...: name, duration in ns, memory, multiprocessors and occupancy in %, of each kernel
rows() {
    expect "$1" 0 "$PLUMB_BIN" deep --format json "$corpus/$1"
    shift
    jq -c '.kernels[] | [.name, .duration_ns, .dram_throughput_pct, .sm_throughput_pct, .occupancy_pct]' out.txt >got.txt
    printf '%s\n' "$@" | cmp - got.txt >/dev/null || fail "$name: $(cat got.txt)"
}
rows details_labels.csv '["void rms_norm<float, 4>(const float *, float *)",1205500,81,10,92.31]' \
    '["gemm_bf16(int, int)",2500000,10,61,null]'
rows raw_wide.csv '["memory(float *)",1234567,81,10,88.5]' '["compute(float *)",2000,10,61,50]' \
    '["latency(float *)",3000,10,10,3.1]' '["no_counters(float *)",4000,null,null,null]' '["memory(float *)",1000,80,60,88.5]'
rows metrics_names.csv '["saxpy",211940,null,75,null]' '["saxpy",203020,33.25,20.75,null]'
rows summary.csv '["saxpy(float, const float *)",10000,84.92,null,null]' '["saxpy(float, const float *)",null,4.92,null,null]'
finish
