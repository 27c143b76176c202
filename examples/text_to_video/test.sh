#!/bin/sh
# labels: notsan
# (libgomp and oneDNN are not instrumented: ThreadSanitizer does not see their barriers.)
# The promises of the example: a video that decodes, equal bytes for equal seeds, other bytes for another
# prompt, and the same bytes with trace points recording, idle and compiled out.
#
#   test.sh TEXT_TO_VIDEO TEXT_TO_VIDEO_DISABLED CHECK_VIDEO
set -eu
program=$1
disabled=$2
check=$3
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY

fail()
{
    echo "text_to_video: $*" >&2
    exit 1
}

same()
{
    cmp "$1" "$2" || fail "$3"
}

differ()
{
    ! cmp -s "$1" "$2" || fail "$3"
}

"$program" --quick --out a.mp4 >a.txt
"$program" --quick --out b.mp4 >b.txt
same a.mp4 b.mp4 "two equal runs made different videos"

"$program" --quick --out prompt.mp4 --prompt "a red car in the rain" >/dev/null
differ a.mp4 prompt.mp4 "another prompt made the same video"
"$program" --quick --out seed.mp4 --seed 2 >/dev/null
differ a.mp4 seed.mp4 "another seed made the same video"
"$program" --quick --out steps.mp4 --steps 5 >/dev/null
differ a.mp4 steps.mp4 "another number of steps made the same video"

PLUMB_RUN_DIR=$PWD/run PLUMB_QUIET=1 "$program" --quick --out recorded.mp4 >/dev/null
same a.mp4 recorded.mp4 "recording changed the video"
for node in text_encode denoise denoise_step block.0 block.5 self_attention cross_attention mlp \
    vae_decode to_video; do
    grep -qF "\"$node\"" run/timing.json || fail "timing.json lacks the node $node"
done
# A trace that is restricted to regions has their spans alone.
PLUMB_REGIONS=model_loading,inference_denoising PLUMB_RUN_DIR=$PWD/regions PLUMB_QUIET=1 "$program" --quick \
    --out regions.mp4 >/dev/null
same a.mp4 regions.mp4 "tracing changed the video"
for name in plumb.region::profiler_region_model_loading plumb.region::profiler_region_inference_denoising \
    denoise_step; do
    grep -qaF "$name" regions/trace.pftrace || fail "the trace of its regions lacks $name"
done
! grep -qaF vae_decode regions/trace.pftrace || fail "the trace of its regions has more than these"
"$disabled" --quick --out disabled.mp4 >disabled.txt
same a.mp4 disabled.mp4 "PLUMB_DISABLE changed the video"
! nm -u "$disabled" | grep plumb_ || fail "PLUMB_DISABLE left references to plumb"

# The weights: a file that plumb reads as values, of every layer and of the noise that the run began with.
"$program" --quick --out weights.mp4 --save-weights w.safetensors >/dev/null
same a.mp4 weights.mp4 "saving the weights changed the video"
for entry in '"text.1.mlp.down.weight":{"dtype":"F32","shape":[1024,256]' '"dit.5.cross.kv.bias":{"dtype":"F32","shape":[512]' \
    '"vae.2.up.weight":{"dtype":"F32","shape":[16,32,3,3,3]' '"input.latents":{"dtype":"F32","shape":[32,32]'; do
    grep -qaF "$entry" w.safetensors || fail "the weights lack $entry"
done
if [ -x "${PLUMB_BIN:-}" ]; then
    "$PLUMB_BIN" activations w.safetensors >weights.txt || fail "plumb cannot read the weights"
fi
mkdir folder
status=0
"$program" --quick --out weights.mp4 --save-weights folder >/dev/null 2>err.txt || status=$?
[ "$status" = 1 ] && grep -q 'folder: .*not a regular file' err.txt || fail "weights into a folder: $status"

# Frames, size, and a picture with something in it.
"$check" a.mp4 >seen.txt
read -r frames size spread <seen.txt
[ "$frames $size" = "8 64x64" ] || fail "a.mp4 is $frames frames of $size"
[ "$spread" -ge 20 ] || fail "the picture is empty: its pixels differ by $spread"
"$program" --quick --out odd.mp4 --frames 5 --size 80x48 --prompt "" >/dev/null
case $("$check" odd.mp4) in
"5 80x48 "*) ;;
*) fail "--frames 5 --size 80x48 made $("$check" odd.mp4)" ;;
esac

# The work is counted from shapes: per stage, and the stages sum up.
awk '$1 == "total" { exit !($2 == sum && sum > 1e9) } $2 + 0 > 0 { sum += $2 }' a.txt ||
    fail "the FLOPs of the stages do not sum up"
grep -q '^denoise ' a.txt || fail "no FLOPs of denoise"

refuses()
{
    status=0
    "$program" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = 2 ] || fail "exit status $status, not 2, of: $*"
    [ "$(wc -l <err.txt)" = 1 ] && [ ! -s out.txt ] || fail "not one line on stderr of: $*"
}

refuses --nonsense
refuses stray
refuses --prompt
refuses --steps 0
refuses --size 100
refuses --size 1024 --frames 256
refuses --guidance nan
refuses --save-weights ""
refuses --prompt "$(printf '%256s' '')"
"$program" --help | grep -q 'example:' || fail "no example in --help"

status=0
"$program" --quick --out missing/a.mp4 >/dev/null 2>err.txt || status=$?
[ "$status" = 1 ] && grep -q 'missing/a.mp4' err.txt || fail "a file that cannot be written: $status"
mkfifo pipe
status=0
"$program" --quick --out pipe >/dev/null 2>err.txt || status=$?
[ "$status" = 1 ] && [ -p pipe ] && [ "$(wc -l <err.txt)" = 1 ] && grep -q 'pipe: .*not a regular file' err.txt ||
    fail "a place that is no regular file: $status, $(cat err.txt)"
[ -z "$(find . -name '*.part')" ] || fail "an unfinished file was left"
