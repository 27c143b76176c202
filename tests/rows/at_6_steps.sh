#!/bin/sh
# labels: plain
# AT-6: a list of steps, or ranges; a warning when the program never opened one.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

steps='map(.step) | unique'
trace 'a list' 0 list PLUMB_ACTIVATIONS_STEPS=0,2 ./layers 4
same list/activations.jsonl "$steps" '[0,2]'
trace 'ranges' 0 range PLUMB_ACTIVATIONS_STEPS=' 1-3 , 7, 9-100' ./layers 10
same range/activations.jsonl "$steps" '[1,2,3,7,9]'
trace 'all' 0 all ./layers 2
same all/activations.jsonl "$steps" '[null,0,1]'
trace 'no step scope' 0 none PLUMB_ACTIVATIONS_STEPS=0 ./layers no_steps
has err.txt 'PLUMB_ACTIVATIONS_STEPS chose steps, and the program opened none'
[ ! -s none/activations.jsonl ] || fail "$name: $(cat none/activations.jsonl)"
trace 'steps of another thread' 0 thread PLUMB_ACTIVATIONS_STEPS=0 ./layers other_thread
has err.txt 'PLUMB_ACTIVATIONS_STEPS chose steps, and no layer ran inside one: a step is open on its own thread'
lacks err.txt 'opened none'
[ ! -s thread/activations.jsonl ] || fail "$name: $(cat thread/activations.jsonl)"
for bad in x 1- 3-1 1,,2 -1 '1;2' 99999999999999999999; do
    rm -rf bad
    trace "bad: $bad" 0 bad PLUMB_ACTIVATIONS_STEPS="$bad" ./layers
    has err.txt "PLUMB_ACTIVATIONS_STEPS: '$bad' is not a list of steps, as 0,5-9: '"
    has err.txt '; no activations are recorded'
done
finish
