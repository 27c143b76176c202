#!/bin/sh
# labels: plain, notsan
# The same weights in PyTorch (in_torch.py, traced by the hooks that are installed) agree with the C program
# block by block and operation by operation, and a fault on either side is named. One process for both runs of
# PyTorch, because importing it takes seconds.
#
#   torch_test.sh TEXT_TO_VIDEO
set -eu
python=/usr/bin/python3
here=$PLUMB_SOURCE_DIR/examples/text_to_video
if ! $python -c 'import importlib.util as u; exit(not u.find_spec("torch"))'; then
    echo 'text_to_video: no torch for /usr/bin/python3 (package python3-torch)' >&2
    exit 77
fi
: "${OMP_WAIT_POLICY:=passive}"
export OMP_WAIT_POLICY
export PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=abs_mean,sum,std,max,shape,dtype PLUMB_QUIET=1

fail()
{
    echo "text_to_video: $*" >&2
    exit 1
}

PLUMB_RUN_DIR=$PWD/c "$1" --tiny --threads 1 --out a.mp4 --save-weights w.safetensors >/dev/null
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here $python - >out.txt <<'PY'
import os
import in_torch
in_torch.torch.set_num_threads(1)
for name, wrong in (("torch", None), ("wrong", "denoise_step.block.3.cross_attention")):
    os.environ["PLUMB_ACTIVATIONS_OUTPUT"] = name + ".jsonl"
    in_torch.run("w.safetensors", wrong)
PY

# Every record of PyTorch has its partner: 6 blocks with what they are made of, 4 steps, two passes each.
"$PLUMB_BIN" diverge --format json --all c torch.jsonl >same.json || fail "$(jq -r .sentence same.json)"
jq -e '.kind == "same" and ([.rows[].verdict] - ["equal", "close"] == []) and .only_in_b == [] and
    ([.rows[].a | select(.module == "denoise_step.block.5.mlp.up")] | length) == 8 and
    (["text.1.attention.heads", "text_encode", "denoise_step.euler", "denoise", "vae.2", "vae_decode"] -
        [.rows[].a.module] == [])' same.json >/dev/null ||
    fail "not what agrees: $(jq -c '{sentence, matched_by, only_in_a, only_in_b}' same.json)"
PLUMB_RUN_DIR=$PWD/bf16 "$1" --tiny --threads 1 --out a.mp4 --precision bf16 >/dev/null
"$PLUMB_BIN" diverge torch.jsonl bf16 >bf16.txt || fail "in bf16: $(head -1 bf16.txt)"

# named BEGINNING A B: that is the sentence.
named()
{
    status=0
    "$PLUMB_BIN" diverge "$2" "$3" >found.txt || status=$?
    [ "$status" = 1 ] || fail "$3: exit status $status: $(head -1 found.txt)"
    case $(head -1 found.txt) in
    "first divergence: $1"*) ;;
    *) fail "$3: $(head -1 found.txt)" ;;
    esac
}

named 'denoise_step.block.3.cross_attention out step 0: ' c wrong.jsonl
grep -q '^first divergence: .* B is A times 1.02 throughout, inputs within tolerance' found.txt ||
    fail "$(head -1 found.txt)"
PLUMB_RUN_DIR=$PWD/transposed "$1" --tiny --threads 1 --out a.mp4 --fault transposed:block.2.self_attention.out >/dev/null
named 'denoise_step.block.2.self_attention out step 0: ' torch.jsonl transposed
# The video fails for it, and what was recorded until then is there.
status=0
PLUMB_RUN_DIR=$PWD/nan "$1" --tiny --threads 1 --out a.mp4 --fault nan:block.4.self_attention.heads:2 >/dev/null 2>&1 ||
    status=$?
[ "$status" = 1 ] || fail "exit status $status of latents that are no numbers"
named 'denoise_step.block.4.self_attention.heads out step 2: NaN is born here' torch.jsonl nan
