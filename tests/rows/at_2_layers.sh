#!/bin/sh
# labels: plain
# AT-2: a regular expression searched in dotted module paths; a bad one is a clear error at start.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

modules='map(.module) | unique'
trace 'all' 0 all ./layers
same all/activations.jsonl "$modules" \
    '["block.layers.0","block.layers.0.mlp","block.layers.1","block.layers.1.mlp","denoise"]'
trace 'anchored' 0 anchored PLUMB_ACTIVATIONS_LAYERS='^block\.layers\.[0-9]+$' ./layers
same anchored/activations.jsonl "$modules" '["block.layers.0","block.layers.1"]'
trace 'classes of Python' 0 classes PLUMB_ACTIVATIONS_LAYERS='^\w+\.[\w]+\.[\d]\.mlp$' ./layers
same classes/activations.jsonl "$modules" '["block.layers.0.mlp","block.layers.1.mlp"]'
trace 'searched for' 0 found PLUMB_ACTIVATIONS_LAYERS='s.1' ./layers
same found/activations.jsonl "$modules" '["block.layers.1","block.layers.1.mlp"]'
trace 'bad' 0 bad PLUMB_ACTIVATIONS_LAYERS='block[' ./layers
has err.txt "plumb: PLUMB_ACTIVATIONS_LAYERS: 'block[' is not a regular expression: a bracket is not closed; no activations are recorded"
[ -f bad/timing.json ] && [ ! -e bad/activations.jsonl ] || fail "$name: left $(ls bad)"
finish
