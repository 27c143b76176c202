#!/bin/sh
# labels: traces
# AT-16 on recordings of real engines (llama2.c, llm.c, PyTorch): two that are right agree, with a map and
# without; a planted bug is the first record that can show it, or lies between the two that are named;
# what differs below the tolerance after a beginning that is equal to the last bit is a divergence.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
engines=${PLUMB_TRACES:-}/../engines
[ -f "$engines/README.md" ] || {
    echo "no recordings of engines: set PLUMB_TRACES, which they lie next to"
    exit 77
}
# pair STATUS A B [OPTION...]: exit status; the first line is in line.txt
pair() {
    want=$1 a=$2 b=$3
    shift 3
    expect "$a $b $*" "$want" "$PLUMB_BIN" diverge "$@" "$engines/$a.jsonl.gz" "$engines/$b.jsonl.gz"
    head -1 out.txt >line.txt
}
map=$engines/cross_map.txt
for steps in '' _7steps; do
    for options in '' "--map $map" "--map $map --only mapped"; do
        # shellcheck disable=SC2086 # options are several words
        pair 0 cross_torch_sound$steps cross_c_sound$steps $options
        has line.txt 'no divergence: ' ' pairs of records are within tolerance'
        # shellcheck disable=SC2086
        pair 0 cross_c_sound$steps cross_torch_sound$steps
    done
done
pair 0 cross_torch_sound cross_c_sound --map "$map"
has line.txt '816 pairs'
for options in '' "--map $map" "--map $map --only mapped"; do
    # shellcheck disable=SC2086
    pair 1 cross_torch_sound cross_c_theta $options
    has line.txt 'first divergence: layers.3.attention.wo out step 1 (in B: token.forward.layer.3.wo)'
    # shellcheck disable=SC2086
    pair 1 cross_torch_theta cross_c_sound $options
    has line.txt 'first divergence: layers.3.attention.wo out step 1 (in B: token.forward.layer.3.wo)'
done
pair 1 torch_sound torch_theta
has line.txt 'first divergence: blocks.3.attn.out out step 0' \
    'inside blocks.3.attn, between blocks.3.attn.qkv out step 0 (equal) and it'
pair 0 torch_sound torch_theta --expect close
has line.txt 'within 0.5 %: element types unknown'
has out.txt 'equal to the last bit up to blocks.3.attn.qkv out step 0 (33 records); first difference at blocks.3.attn.out'
pair 1 torch_sound torch_gelu
has line.txt 'first divergence: blocks.4.mlp.act out step 0'
has out.txt 'equal to the last bit up to blocks.4.mlp.a out step 0'
pair 1 torch_inputs_sound torch_inputs_mask
has line.txt 'inside blocks.2.attn, between blocks.2.attn.qkv out step 0 (equal) and blocks.2.attn.out in step 0'
lacks out.txt 'seed'
pair 1 llmc_sound llmc_gelu_backward
has line.txt 'first divergence: gpt2_backward.h.2.fch grad step 0'
has out.txt '(260 records)' 'add in varying order' '--expect close'
pair 1 llama_sound llama_heads
has line.txt 'token.forward.layer.2.attention out step 1' 'beyond tolerance first at token.forward.layer.2.wo out step 1'
has out.txt "LAYERS='^token\\.forward\\.layer\\.2(\\.|\$)'" hash,hash_any
lacks out.txt 'seed'
finish
