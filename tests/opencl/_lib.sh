# What the tests of the OpenCL layer share: the programs, and how they are recorded. Skips where there is
# no layer or no PoCL. Sourced after tests/cli/_lib.sh.
# shellcheck shell=sh
lib_dir=$(dirname "$PLUMB_LIB")
layer=$lib_dir/libplumb-opencl.so
here=$PLUMB_SOURCE_DIR/tests/opencl

skip() {
    echo "skipped: $*" >&2
    exit 77
}

case $PLUMB_BUILD_KIND in
asan) sanitizer=-fsanitize=address,undefined ;;
tsan) sanitizer=-fsanitize=thread ;;
*) sanitizer= ;;
esac
# PoCL, its threads and LLVM are not ours to check; PoCL holds more locks than can be watched for
# deadlocks.
export LSAN_OPTIONS=detect_leaks=0 ASAN_OPTIONS=detect_leaks=0
export TSAN_OPTIONS="$TSAN_OPTIONS:detect_deadlocks=0:ignore_noninstrumented_modules=1:suppressions=$here/tsan.supp"

# build SOURCE OUT [FLAG]...: a program of the tests
build() {
    source=$1
    out=$2
    shift 2
    # shellcheck disable=SC2086 # words
    $CC -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Wno-deprecated-declarations $sanitizer \
        "-I$PLUMB_SOURCE_DIR/include" "$here/$source" -o "$out" "$@"
}

[ -e "$layer" ] || skip "the OpenCL layer was not built"
[ -e /etc/OpenCL/vendors/pocl.icd ] || skip "no PoCL (pocl-opencl-icd)"
# Programs with a sanitizer cannot have libplumb preloaded: they are linked with it, and have no marks.
linked="-Wl,--no-as-needed $PLUMB_LIB -Wl,--as-needed -Wl,-rpath,$lib_dir"
[ "$PLUMB_BUILD_KIND" != plain ] || linked=
# shellcheck disable=SC2086 # words
build _prog.c prog -lOpenCL -lpthread $linked 2>build.txt || skip "no OpenCL loader to link (ocl-icd-opencl-dev): $(head -n 1 build.txt)"
build _check_layer.c check.so -shared -fPIC || exit 1

# Of all drivers PoCL alone, whose compiled kernels are kept in the test's folder.
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$PWD/cache
mkdir -p "$POCL_CACHE_DIR"

# record DIR COMMAND...: with the layer, and into DIR
record() {
    dir=$PWD/$1
    shift
    if [ "$PLUMB_BUILD_KIND" = plain ] && [ -n "$PLUMB_BIN" ]; then
        "$PLUMB_BIN" record --collect opencl --run-dir "$dir" -- "$@"
    else
        OPENCL_LAYERS=${OPENCL_LAYERS:+$OPENCL_LAYERS:}$layer PLUMB=1 PLUMB_TRACE=1 \
            PLUMB_COLLECT=opencl PLUMB_RUN_DIR=$dir "$@"
    fi
}

# events DIR: "LANE|NAME|KIND|GRID|BYTES" of each event on a queue. The driver may report a command after the next one,
# which puts it on a second track of the queue ("queue 0 2"): here it is one of the queue.
events() {
    "$PLUMB_BIN" export --format csv -o - "$1" 2>/dev/null | /usr/bin/python3 -c '
import csv, json, re, sys
for row in csv.DictReader(sys.stdin):
    if row["lane"].startswith("opencl:") and "waits" not in row["lane"]:
        args = json.loads(row["args"] or "{}")
        lane = re.sub(r"(: queue \d+( \(out of order\))?) \d+$", r"\1", row["lane"])
        print(lane, row["name"], row["kind"], args.get("grid", ""), args.get("bytes", ""), sep="|")'
}

# state DIR FILTER: what timing.json has of the collector
state() {
    jq -r ".collectors[] | select(.name == \"opencl\") | $2" "$1/timing.json"
}
