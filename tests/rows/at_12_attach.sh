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
has err.txt 'activation trace: nothing matched: the program reports no activations'
# Modules that come after the first step: the line corrects itself at the end.
trace 'later modules' 0 e ./layers late
has err.txt "plumb: activation trace attached to 1 module (pattern='', stats=[abs_mean, sum])" \
    "plumb: activation trace attached to 3 modules, 2 of them after the first step (pattern='', stats=[abs_mean, sum])"
[ "$(grep -c 'attached to' err.txt)" = 2 ] || fail "$name: $(cat err.txt)"
trace 'later modules alone' 0 f PLUMB_QUIET=1 PLUMB_ACTIVATIONS_LAYERS='m.[12]' ./layers late
has err.txt "attached to 0 modules (pattern='m.[12]'" \
    "attached to 2 modules, 2 of them after the first step (pattern='m.[12]'"
finish
