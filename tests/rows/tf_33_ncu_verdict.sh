#!/bin/sh
# TF-33: memory above 80 %, otherwise multiprocessors above 60 %, otherwise latency; (+) unknown when a
# metric is missing.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
# verdict DRAM SM WANT
verdict() {
    cat >report.csv <<END
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","k","DRAM Throughput","%","$1"
"0","k","Compute (SM) Throughput","%","$2"
END
    expect "memory $1 %, multiprocessors $2 %" 0 "$PLUMB_BIN" deep --format json report.csv
    got=$(jq -r '.kernels[0].bottleneck' out.txt)
    [ "$got" = "$3" ] || fail "$name: $got, not $3"
}
verdict 81 10 memory_bound
verdict 10 61 compute_bound
verdict 10 10 latency_bound
verdict 80 60 latency_bound
verdict 81 99 memory_bound
verdict n/a 10 unknown
verdict 10 n/a unknown
verdict n/a 99 unknown
verdict n/a n/a unknown
finish
