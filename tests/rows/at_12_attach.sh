#!/bin/sh
# labels: plain
# AT-12: how many modules matched, by which pattern, for which statistics; none is a warning.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

trace 'some' 0 a PLUMB_ACTIVATIONS_LAYERS='layers\.\d$' ./layers
has err.txt "plumb: activation trace attached to 2 modules (pattern='layers\\.\\d\$', stats=[abs_mean, sum])"
trace 'one, quietly' 0 b PLUMB_QUIET=1 PLUMB_ACTIVATIONS_LAYERS='0.mlp' ./layers
[ ! -s err.txt ] || fail "$name: $(cat err.txt)"
trace 'none' 0 c PLUMB_QUIET=1 PLUMB_ACTIVATIONS_LAYERS='nowhere' ./layers
has err.txt 'activation trace: nothing matched: no module has that in its path' \
    "attached to 0 modules (pattern='nowhere', stats=[abs_mean, sum])"
trace 'nothing told' 0 d ./layers nothing
has err.txt 'activation trace: nothing matched: the program tells of no activations'
finish
