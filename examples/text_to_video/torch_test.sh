#!/bin/sh
# labels: plain, notsan
# timeout: 120
# The same weights in PyTorch (in_torch.py, traced by the hooks that are installed) agree with the C program
# block by block, and a block with a fault is named. One process for both runs: importing torch takes seconds.
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

PLUMB_RUN_DIR=$PWD/c "$1" --quick --steps 2 --frames 4 --size 32 --threads 1 --out a.mp4 --save-weights w.safetensors >/dev/null
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here $python - >out.txt <<'PY'
import os
import in_torch
in_torch.torch.set_num_threads(1)
for name, wrong in (("torch", None), ("wrong", "denoise_step.block.3.cross_attention")):
    os.environ["PLUMB_ACTIVATIONS_OUTPUT"] = name + ".jsonl"
    in_torch.run("w.safetensors", wrong)
PY

# What both have, each time: 6 blocks with their parts, 2 steps, with the prompt and without it.
"$PLUMB_BIN" diverge --format json --all c torch.jsonl >same.json || fail "$(jq -r .sentence same.json)"
jq -e '.kind == "same" and ([.rows[].verdict] - ["equal", "close"] == []) and
    ([.rows[].a | select(.module | test("\\.block\\.")) | .module] | unique | length) >= 24 and
    ([.rows[].a | select(.tensor == "out") | .module] | map(select(. == "denoise_step.block.5.mlp")) | length) == 4 and
    (["text_encode", "denoise", "denoise_step.project_out", "vae_decode"] - [.rows[].a.module] == [])' \
    same.json >/dev/null || fail "not what agrees: $(jq -c '{sentence, matched_by, only_in_a, only_in_b}' same.json)"

status=0
"$PLUMB_BIN" diverge c wrong.jsonl >wrong.txt || status=$?
[ "$status" = 1 ] || fail "exit status $status of a fault"
case $(head -1 wrong.txt) in
'first divergence: denoise_step.block.3.cross_attention out step 0: '*' B is A times 1.02 throughout, '*) ;;
*) fail "$(head -1 wrong.txt)" ;;
esac
