#!/bin/sh
# labels: plain
# plumb help coming-from and plumb doctor know the names of the systems that plumb succeeds.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
ask() {
    "$PLUMB_BIN" help coming-from "$@"
}

# ---- Names

expect 'all' 0 ask
empty err.txt
[ "$(wc -l <out.txt)" -gt 500 ] || fail "all: $(wc -l <out.txt) lines"
has out.txt 'FASTVIDEO_TORCH_PROFILER_DIR' '/tmp/fv_trace_<pid>.jsonl' 'log_performance' \
    'cuvis_ai.v1.CuvisAIService' '[Harness] <text>'
expect 'a name' 0 ask FASTVIDEO_STAGE_LOGGING
has out.txt 'FASTVIDEO_STAGE_LOGGING (variable of FastVideo, FV-20)' 'status    works' \
    'in plumb  PLUMB=1 PLUMB_LOG=info' 'remark    '
empty err.txt
expect 'a name of two systems' 0 ask count
has out.txt 'count (field of FastVideo, FV-12)' 'count (field of CUVIS.AI, CV-11)'
expect 'a name that is not built' 0 ask DASHBOARD_DAYS
has out.txt 'status    not yet'
lacks out.txt 'in plumb'
expect 'an option' 0 ask --max-intra-batch-regression
has out.txt 'option of FastVideo, FV-44'
expect 'a call' 0 ask 'set_profiling(True, reset=True)'
has out.txt 'set_profiling (function of CUVIS.AI, CV-2)' 'plumb_configure(pipeline, config, err)'
expect 'a file' 0 ask summary_rank7.json
has out.txt 'summary_rank<R>.json (file of FastVideo, FV-12)'
expect 'a line' 0 ask '[Rank 0] [Timing] vae: 12.34 ms, memory: 1.0/2.0 MB (peak: 3.0/4.0 MB)'
has out.txt 'line of TeleFuser, TF-7'
expect 'the best of several' 0 ask launches-cuda-host7.json
[ "$(grep -c '^  status' out.txt)" = 1 ] || fail "the best of several: $(cat out.txt)"
has out.txt 'launches-cuda-<host>.json'

expect 'a value' 0 ask TELEFUSER_PROFILE_DEBUG=true
has out.txt 'value     TELEFUSER_PROFILE_DEBUG=true' 'set       PLUMB=1 PLUMB_DEBUG=1'
expect 'a bad value' 0 ask TELEFUSER_PROFILE_DEBUG=1
has out.txt "(off there, where only 'true' was on)" 'PLUMB_DEBUG=1, if it is to be on'
expect 'a value that is off' 0 ask FASTVIDEO_STAGE_LOGGING=0
has out.txt 'FASTVIDEO_STAGE_LOGGING=0 (off)'
lacks out.txt '  set '

expect 'a misspelt name' 0 ask FASTVIDEO_STAGE_LOGING
has err.txt "no name 'FASTVIDEO_STAGE_LOGING'; the nearest is 'FASTVIDEO_STAGE_LOGGING'"
has out.txt 'FASTVIDEO_STAGE_LOGGING (variable'
expect 'a part of names' 0 ask joules
has err.txt "no name 'joules'; these have it in them"
has out.txt cpu_joules gpu_joules
for nothing in frobnicate_everything '' '=' 'x=1' '(' "$(printf '\033[31m')" "$(head -c 5000 /dev/zero | tr '\0' a)"; do
    expect "'$nothing'" 2 ask "$nothing"
    has err.txt 'no name like' "'plumb help coming-from' lists all"
    empty out.txt
    [ "$(wc -c <err.txt)" -lt 200 ] && ! grep -q "$(printf '\033')" err.txt ||
        fail "'$nothing': $(cat -v err.txt)"
done
expect 'two names' 2 ask a b
expect 'another topic' 2 "$PLUMB_BIN" help coming
expect 'no man page' 2 "$PLUMB_BIN" help --man coming-from
expect 'a full disk' 2 sh -c '"$0" help coming-from >/dev/full' "$PLUMB_BIN"

# The page and the command say the same.
expect 'markdown' 0 "$PLUMB_BIN" help --markdown
for heading in '(FV)' '(AT)' '(TF)' '(TX)' '(CV)'; do
    has out.txt "$heading"
done
ask | tail -n +2 | wc -l >all.txt
grep -c '^| `' out.txt | cmp - all.txt || fail 'the page and the list differ in length'

# ---- Variables in the environment

doctor() {
    env "$@" "$PLUMB_BIN" doctor
}
"$PLUMB_BIN" doctor >out.txt 2>err.txt
want=$?
name='none set'
lacks out.txt FastVideo
expect 'several' $want doctor FASTVIDEO_STAGE_LOGGING=1 TELEFUSER_PROFILE_DEBUG=true \
    TELEFUSER_PROFILER_OUTPUT_DIR='/some where' ENABLE_PROFILER_NAMES='*' PERF_REPORTS_DIR=4 \
    TORCHFX_PROFILE_OUT=/data/out WAN_DEBUG_DRILL_LAYER=3 RANK=0 WORLD_SIZE=2
empty err.txt
has out.txt "FASTVIDEO_STAGE_LOGGING=1: log lines of each stage" '(cure: PLUMB=1 PLUMB_LOG=info)' \
    '(cure: PLUMB=1 PLUMB_DEBUG=1)' '(cure: PLUMB=1 PLUMB_DIR="$TELEFUSER_PROFILER_OUTPUT_DIR")' \
    'ENABLE_PROFILER_NAMES=*: nodes' 'PERF_REPORTS_DIR=4 (not built yet)' \
    '(cure: PLUMB_TRACE=1 PLUMB_DIR=/data/out)' 'WAN_DEBUG_DRILL_LAYER=3: layer whose' \
    'RANK=0 (plumb reads it too)' 'WORLD_SIZE=2 (plumb reads it too)'
[ "$(grep -cE '^(seen|not seen) +(FastVideo|TeleFuser|TorchFX|CUVIS.AI) ' out.txt)" = 9 ] ||
    fail "several: $(cat out.txt)"
grep -vE '^(seen|not seen|blocked) +[a-zA-Z]' out.txt && fail 'a line that is no check'
expect 'bad values' $want doctor FASTVIDEO_STAGE_LOGGING=true FASTVIDEO_TRACE_ACTIVATIONS=false \
    TELEFUSER_PROFILE_DEBUG=1 RANK=first TELEFUSER_PIPELINE_NAME="$(printf 'a\033[31m\nb')"
has out.txt 'FASTVIDEO_STAGE_LOGGING=true (no integer, which was an error there)' \
    "TELEFUSER_PROFILE_DEBUG=1 (off there, where only 'true' was on)" 'RANK=first (not taken)' \
    'TELEFUSER_PIPELINE_NAME=a\x1b[31m\x0ab: ' 'PLUMB_PIPELINE="$TELEFUSER_PIPELINE_NAME"'
expect 'set already' $want doctor FASTVIDEO_STAGE_LOGGING=1 PLUMB=1 PLUMB_LOG=info
grep -qE '^seen +FastVideo +FASTVIDEO_STAGE_LOGGING=1 \(what plumb calls it is set\)' out.txt ||
    fail "set already: $(cat out.txt)"
expect 'with a program' $want env FASTVIDEO_STAGE_LOGGING=1 "$PLUMB_BIN" doctor -- ./linked
has out.txt 'FASTVIDEO_STAGE_LOGGING=1' '1 of 1 processes'

# The cures work: what the old variable gave, the new one gives.
cat >cured.c <<'END'
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_STAGE(stage, "decode");
    PLUMB_SPAN_DEBUG("tile");
    return 0;
}
END
build -DPLUMB_LINKED cured.c -o cured -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
# cured NAME=VALUE: runs the program with what doctor proposes for it
cured() {
    name=$1
    "$PLUMB_BIN" help coming-from "$1" | sed -n 's/^  set       //p' >cure.txt
    # shellcheck disable=SC2046 # assignments, one a word
    env $(cat cure.txt) ./cured >out.txt 2>err.txt || fail "$1: $(cat err.txt)"
}
cured FASTVIDEO_STAGE_LOGGING=1
has err.txt '[decode|cured] Starting execution' '[decode|cured] Execution completed in '
cured TELEFUSER_PROFILE_DEBUG=true
has err.txt 'plumb: 2 nodes, 2 spans'
cured TELEFUSER_PROFILER_OUTPUT_DIR=out%put
[ -f "out%put/cured/latest/timing.json" ] || fail "TELEFUSER_PROFILER_OUTPUT_DIR: $(cat err.txt)"
PLUMB=1 cured TELEFUSER_PIPELINE_NAME=wan
[ -f plumb-out/wan/latest/timing.json ] || fail "TELEFUSER_PIPELINE_NAME: $(cat err.txt)"
# General profilers are known by what they can do, under every name of theirs; the page has the same lines.
for tool in perf nsys tracy torch.profiler caliper 'Nsight Systems' Kineto 'PyTorch Profiler' CALI; do
    expect "$tool" 0 "$PLUMB_BIN" help coming-from "$tool"
    [ "$(wc -l <out.txt)" -ge 11 ] || fail "$tool: $(cat out.txt)"
    while read -r line; do
        grep -qF -- "$line" "$PLUMB_SOURCE_DIR/docs/coming-from.md" || fail "docs/coming-from.md lacks: $line"
    done <out.txt
done
expect 'the help of help names them' 0 "$PLUMB_BIN" help help
has out.txt 'perf, nsys, tracy, torch.profiler'
finish
