#!/bin/sh
# labels: plain
# AT-8: labels are paths: sequences, mappings, nested ones; a value that is not a tensor is skipped.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'labels' 0 a ./layers labels
same a/activations.jsonl 'map(.tensor)' '["out","out[0]","out[2]","out.k","out.x[0]","out.x[2]","out[0].k","out[0].x[0]","out[0].x[2]","in","in[0]","grad.w","inner","in.cond.k","in.cond.x[0]","in.cond.x[2]"]'
same a/activations.jsonl 'map(.io)[9:13]' '["in","in","grad","out"]'
jq -e '.stages.stage.inputs | keys == ["cond.k", "cond.name", "cond.x"]' a/timing_io_signature.json >/dev/null ||
    jq -e '[.. | strings] | any(. == "cond.k")' a/timing_io_signature.json >/dev/null ||
    jq -e '[paths | map(tostring) | join("/")] | any(contains("cond.k"))' a/timing_io_signature.json >/dev/null ||
    fail "the signature lacks the fields: $(cat a/timing_io_signature.json)"
finish
