#!/bin/sh
# labels: notsan
# (libgomp and oneDNN are not instrumented.)
# The numbers of the pipeline: equal seeds give equal hashes, another precision passes, and each kind of fault
# that can be planted is found where it was planted.
#
#   numerics_test.sh TEXT_TO_VIDEO
set -eu
program=$1
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY PLUMB_QUIET=1 PLUMB_ACTIVATIONS_STATS=abs_mean,sum,min,max,std,nan,inf,hash,hash_any

fail()
{
    echo "text_to_video: $*" >&2
    exit 1
}

# record RUN [OPTION...]: a run of eight steps.
record()
{
    run=$1
    shift
    PLUMB_ACTIVATIONS=1 PLUMB_RUN_DIR=$PWD/$run "$program" --tiny --steps 8 --out a.mp4 "$@" >out.txt 2>err.txt
}

record a
record same
jq -c 'del(.time)' a/activations.jsonl >a.jsonl
jq -c 'del(.time)' same/activations.jsonl >same.jsonl
cmp a.jsonl same.jsonl || fail "equal seeds gave other numbers"
grep -q '"hash":"' a.jsonl || fail "no hashes"
for module in embedding text.1.mlp.up text.1 text_norm denoise_step.time_in denoise_step.patch_in \
    denoise_step.block.5.modulation denoise_step.block.5.self_attention.heads denoise_step.block.5 \
    denoise_step.project_out denoise_step.euler vae.in vae.2.residual.1 vae.2 vae.out text_encode denoise vae_decode \
    to_video; do
    grep -q "{\"module\":\"$module\"," a.jsonl || fail "nothing is told of $module"
done

"$PLUMB_BIN" diverge a same >diverge.txt || fail "a run differs from itself: $(head -1 diverge.txt)"
for precision in bf16 f16; do
    record $precision --precision $precision || fail "$(cat err.txt)"
    "$PLUMB_BIN" diverge a $precision >diverge.txt || fail "f32 and $precision differ: $(head -1 diverge.txt)"
    head -1 diverge.txt | grep -q '^no divergence' || fail "f32 and $precision: $(head -1 diverge.txt)"
done
grep -q '"module":"denoise_step.block.0".*"dtype":"bfloat16"' bf16/activations.jsonl || fail "bf16 is none"
grep -q '"module":"denoise_step.block.0".*"dtype":"float16"' f16/activations.jsonl || fail "f16 is none"

# Where oneDNN computes in float32 alone, bf16 is rounded to, and that is said.
ONEDNN_MAX_CPU_ISA=AVX2 record rounded --precision bf16 || fail "$(cat err.txt)"
grep -q 'oneDNN has no bf16' err.txt || fail "bf16 on AVX2 without a word: $(cat err.txt)"
"$PLUMB_BIN" diverge a rounded >diverge.txt || fail "f32 and rounded bf16 differ: $(head -1 diverge.txt)"

# planted FAULT MODULE STEP: what it is called, where and when it shows.
planted()
{
    rm -rf wrong
    status=0
    record wrong --fault "$1" || status=$?
    case $1 in
    nan:*) [ "$status" = 1 ] && grep -q 'not finite' err.txt || fail "$1: exit status $status" ;;
    *) [ "$status" = 0 ] || fail "$1: $(cat err.txt)" ;;
    esac
    status=0
    "$PLUMB_BIN" diverge a wrong >diverge.txt || status=$?
    [ "$status" = 1 ] || fail "$1: not found"
    case $(head -1 diverge.txt) in
    "first divergence: $2 out$3: "*) ;;
    *) fail "$1: $(head -1 diverge.txt)" ;;
    esac
}

planted scale:block.3 denoise_step.block.3 ' step 0'
planted transposed:block.2.cross_attention.q denoise_step.block.2.cross_attention.q ' step 0'
planted nan:block.4.self_attention:7 denoise_step.block.4.self_attention ' step 7'
planted no-residual:block.1.mlp:3 denoise_step.block.1.mlp ' step 3'
planted swapped-heads:block.5.self_attention denoise_step.block.5.self_attention.heads ' step 0'
planted softmax:text.1.attention text.1.attention.heads ''
planted scale:vae.1.residual.0:-:0.001 vae.1.residual.0 ''

refuses()
{
    status=0
    "$program" --tiny --out a.mp4 "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -gt 0 ] && [ "$(wc -l <err.txt)" = 1 ] || fail "exit status $status of: $*"
}

refuses --precision f8
refuses --fault nonsense:block.0
refuses --fault scale:block.0:x
refuses --fault scale:block.6
refuses --fault transposed:block.0.mlp.up
