#!/bin/sh
# labels: notsan
# (text_to_video makes the video; PoCL, libgomp and oneDNN are not instrumented.)
# What the example promises: the device's frames are those of plain C byte for byte, on queues of either kind, from one
# thread and from several, recorded or not; and the recording has every command of every frame.
#
#   test.sh OPENCL_BLUR TEXT_TO_VIDEO
set -eu
# PoCL and its LLVM leak at their end.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
program=$1
text_to_video=$2

fail()
{
    echo "opencl_blur: $*" >&2
    exit 1
}

refused()
{
    wanted=$1
    text=$2
    shift 2
    status=0
    "$program" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status, not $wanted, of: $*"
    grep -qF -- "$text" err.txt || fail "no '$text' in: $(cat err.txt)"
}

PLUMB=0 "$text_to_video" --quick --out in.mp4 >/dev/null
"$program" in.mp4 --reference --out reference.y4m >reference.txt || fail "the reference fails"
grep -qx 'reference.y4m: 8 frames of 64x64, radius 8' reference.txt || fail "$(cat reference.txt)"
[ "$(head -c 54 reference.y4m | head -n 1)" = 'YUV4MPEG2 W64 H64 F8:1 Ip A1:1 C420jpeg' ] || fail "$(head -n 1 reference.y4m)"
[ "$(wc -c <reference.y4m)" = $((40 + 8 * (6 + 64 * 64 * 3 / 2))) ] || fail "$(wc -c <reference.y4m) bytes"
"$program" in.mp4 --reference --radius 1 --out other.y4m >/dev/null
! cmp -s reference.y4m other.y4m || fail 'the radius changes nothing'

refused 2 'Usage:'
refused 2 "not a number of 1 to 32" in.mp4 --radius 33
refused 1 'cannot be read as a video' missing.mp4
refused 1 'cannot be written' in.mp4 --reference --out missing/a.y4m
OCL_ICD_VENDORS=$PWD/none refused 1 'there is no device' in.mp4

export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$PWD/cache
mkdir cache
if [ ! -e "$OCL_ICD_VENDORS" ]; then
    echo "skipped: no PoCL (pocl-opencl-icd)" >&2
    exit 77
fi

# equal NAME ARGUMENT...: the reference's frames
equal()
{
    name=$1
    shift
    "$program" in.mp4 --out "$name.y4m" "$@" >out.txt 2>err.txt || fail "$name: status $?: $(cat err.txt)"
    cmp reference.y4m "$name.y4m" || fail "$name: other frames"
}

equal ordered
equal unordered --out-of-order
equal threads --threads 3 --out-of-order
layer=$(dirname "$PLUMB_LIB")/libplumb-opencl.so
if [ -z "$PLUMB_BIN" ] || [ ! -e "$layer" ]; then
    exit 0
fi

# recorded NAME ARGUMENT...: with each of its commands, eight a frame
recorded()
{
    name=$1
    shift
    OPENCL_LAYERS=$layer PLUMB=1 PLUMB_TRACE=1 PLUMB_COLLECT=opencl PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/$name equal "$name" "$@"
    "$PLUMB_BIN" export --format csv -o "$name.csv" "$PWD/$name" >out.txt 2>&1 || fail "$name: $(cat out.txt)"
    /usr/bin/python3 - "$name.csv" <<'P' || fail "$name: the commands are not those of 8 frames"
import collections, csv, json, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["lane"].startswith("opencl:") and r["kind"] == "span"
        and "waits" not in r["lane"]]
args = [json.loads(r["args"]) for r in rows]
seen = collections.Counter((r["name"], a.get("grid"), a.get("bytes"), a["node"]) for r, a in zip(rows, args))
wanted = {("write buffer", None, 6144, "blur"): 8, ("read buffer", None, 6144, "blur"): 8}
for kernel in "blur_rows", "blur_columns":
    wanted[kernel, "64x64x1/16x1x1", None, "blur"] = 8
    wanted[kernel, "32x32x1/16x1x1", None, "blur"] = 16
assert seen == wanted, seen
assert all(a["queued_us"] >= 0 and a["submit_us"] >= 0 for a in args)
P
    "$PLUMB_BIN" report "$PWD/$name" >out.txt 2>&1
    grep -q '^blur .* 64 ' out.txt || fail "$name: not 64 works of blur in: $(cat out.txt)"
}

recorded recorded_ordered
recorded recorded_unordered --out-of-order
recorded recorded_threads --threads 3 --out-of-order
