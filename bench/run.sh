#!/bin/sh
# Runs the benchmarks of a build and writes bench-results.json into it.
#
#   bench/run.sh [--quick] [--only NAME[,NAME...]] [BUILD_DIR]    default: build/release
#   bench/run.sh --check [BUILD_DIR]      which targets the last figures meet; runs nothing
#   bench/run.sh --list
#
# --only keeps the other figures of an earlier run. --quick takes fewer blocks, for a first look. A
# program that fails leaves its keys as they were, and the run ends with status 1 after all others.
set -u
here=$(cd "$(dirname "$0")" && pwd)
all="machine payload span traced snapshot control signature activation decode torch memory collect malloc count opencl onednn trace read metrics switch jsonl export diverge compare gate serve peers uftrace t2v stage"

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

quick=
only=$all
check=0
list=0
build=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=--quick ;;
    --only)
        [ $# -ge 2 ] || usage
        only=$(echo "$2" | tr ',' ' ')
        shift
        ;;
    --check) check=1 ;;
    --list) list=1 ;;
    -*) usage ;;
    *)
        [ -z "$build" ] || usage
        build=$1
        ;;
    esac
    shift
done

# how NAME: the command that measures it. How often a program runs: where its memory lies is luck.
how() {
    case $1 in
    machine | snapshot | control | signature | decode | memory | collect | malloc | trace | read | metrics | switch | jsonl) echo "own $1 1" ;;
    payload | span | traced) echo "own $1 5" ;;
    activation) echo "own $1 9" ;;
    count | opencl | onednn | torch | export | diverge | compare | gate | serve | peers | uftrace | t2v | stage) echo "run_$1" ;;
    *) return 1 ;;
    esac
}

for name in $only; do
    how "$name" >/dev/null || {
        echo "bench: no benchmark '$name' (have: $all)" >&2
        exit 2
    }
done
if [ "$list" = 1 ]; then
    echo "$all"
    exit 0
fi
build=$(cd "${build:-$here/../build/release}" && pwd) || exit 1
results=$build/bench-results.json
if [ "$check" = 1 ]; then
    [ -f "$results" ] || { echo "bench: no $results yet" >&2; exit 1; }
    exec /usr/bin/python3 "$here/report.py" "$results" --check
fi

# Variables of ours must not change what is measured.
for name in $(env | sed -n 's/^\(PLUMB[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
tmp=$(mktemp -d "$build/bench-tmp-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM
export TMPDIR="$tmp"
failed=

# missing PART NAME KEY REASON: NAME cannot be run, and its part says why.
missing() {
    printf '{\n  "%s": null,\n  "%s_reason": "%s"\n}\n' "$3" "$3" "$4" >"$tmp/$1.json"
    echo "$2: $4"
}

run_uftrace() {
    if ! command -v uftrace >/dev/null 2>&1; then
        missing uftrace bench_uftrace uftrace_x_floor "uftrace is not installed"
        return 0
    fi
    uftrace record --no-libcall -d "$tmp/uftrace" "$build/bench/bench_uftrace" \
        --json "$tmp/uftrace.json" --tmp "$tmp" $quick || return 1
    find "$tmp/uftrace" -name '*.dat' -printf '%s\n' |
        awk '{ n += $1 } END { printf "{\"uftrace_trace_bytes\": %d}\n", n }' >"$tmp/uftrace_size.json"
}

run_export() {
    if [ ! -x "$build/bench/bench_export" ]; then
        missing export bench_export chrome_gz_x_zlib "zlib is not installed"
        return 0
    fi
    own export 1
}

run_onednn() {
    if [ ! -x "$build/bench/bench_onednn" ]; then
        missing onednn bench_onednn onednn_hook_ns_per_call "oneDNN (libdnnl-dev) is not installed"
        return 0
    fi
    own onednn 1
}
run_opencl() {
    if [ ! -x "$build/bench/bench_opencl" ]; then
        missing opencl bench_opencl opencl_hook_ns_per_call "the OpenCL headers are not installed"
        return 0
    fi
    own opencl 1
}

run_count() {
    if [ ! -x "$build/bench/bench_count" ]; then
        missing count bench_count audit_ns_per_call "calls are counted on x86-64 only"
        return 0
    fi
    own count 1 && "$here/count.py" "$build/bench/count_host" --json "$tmp/count_peers.json" --tmp "$tmp" $quick
}

run_pairs() {
    program=$build/examples/text_to_video/text_to_video_pairs
    if [ ! -x "$program" ]; then
        missing pairs text_to_video_pairs diverge_wrong_culprits "the example was not built"
        return 0
    fi
    echo "text_to_video_pairs"
    count=1000
    [ -z "$quick" ] || count=50
    (cd "$tmp" && OMP_WAIT_POLICY=passive "$program" "$count" 1 "$tmp/pairs.json" 2>"$tmp/pairs.err")
    status=$?
    [ "$status" -le 1 ] || tail -3 "$tmp/pairs.err" >&2
    return "$status"
}

run_diverge() {
    run_pairs && own diverge 1 && "$here/diverge.py" "$build/bin/plumb" --json "$tmp/diverge_speed.json" --tmp "$tmp" $quick
}

run_compare() {
    echo "plumb compare, on runs of compare_host"
    "$here/compare.py" "$build/bin/plumb" "$build/bench/compare_host" --json "$tmp/compare.json" --tmp "$tmp" $quick
}

run_gate() {
    echo "plumb gate, on times of gate_host"
    "$here/gate.py" "$build/bin/plumb" "$build/bench/gate_host" --json "$tmp/gate.json" --tmp "$tmp" $quick
}

run_serve() {
    if [ ! -x "$build/bench/serve_client" ]; then
        missing serve serve.py grpc_summary_p50_us "gRPC (libgrpc-dev) is not installed"
        return 0
    fi
    echo "plumb serve, and a Python server of the same service"
    "$here/serve.py" "$build/bin/plumb" "$build/bench/serve_host" "$build/bench/serve_client" \
        --json "$tmp/serve.json" --tmp "$tmp" $quick
}

# Nine processes, as for the activations.
run_torch() {
    times=9
    [ -z "$quick" ] || times=1
    while [ "$times" -gt 0 ]; do
        "$here/beside_torch.py" "$build/bench/libbench_torch.so" --json "$tmp/torch.$times.json" \
            --tmp "$tmp" $quick || return 1
        times=$((times - 1))
    done
}

run_t2v() {
    program=$build/examples/text_to_video/text_to_video
    if [ ! -x "$program" ]; then
        missing t2v t2v.py t2v_overhead_pct "the example was not built"
        return 0
    fi
    rounds=300
    [ -z "$quick" ] || rounds=40
    echo "text_to_video, every other run recorded"
    OMP_WAIT_POLICY=passive "${program}_overhead" "$rounds" "$tmp/t2v-run" "$tmp/t2v.json" || return 1
    "$here/t2v.py" "$program" "$build/bin/plumb" --json "$tmp/t2v_whole.json" --tmp "$tmp" $quick
}

run_stage() {
    program=$build/examples/text_to_video/text_to_video
    if [ ! -x "$program" ]; then
        missing stage stage.py bench_vs_insitu_pct "the example was not built"
        return 0
    fi
    "$here/stage.py" "$program" "$build/examples/text_to_video/libt2v_stages.so" "$build/bin/plumb" \
        --json "$tmp/stage.json" --tmp "$tmp" $quick
}

# own NAME TIMES [WRAPPER]: bench_NAME in so many processes: where a process's memory lies is luck, and worth
# some percent. A part each.
own() {
    name=$1
    times=$2
    shift 2
    [ -z "$quick" ] || times=1
    while [ "$times" -gt 0 ]; do
        "$@" "$build/bench/bench_$name" --json "$tmp/$name.$times.json" --tmp "$tmp" $quick || return 1
        times=$((times - 1))
    done
}

run_peers() {
    BENCH_LTTNG_JSON=$tmp/lttng_size.json own peers 1 "$here/lttng.sh"
}

for name in $only; do
    $(how "$name") || failed="$failed $name"
done

set --
for part in "$tmp"/*.json; do
    [ ! -f "$part" ] || set -- "$@" "$part"
done
/usr/bin/python3 "$here/report.py" "$results" "$@" || exit 1
echo "$results"
if [ -n "$failed" ]; then
    echo "bench: failed:$failed" >&2
    exit 1
fi
