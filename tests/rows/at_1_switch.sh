#!/bin/sh
# labels: plain
# AT-1: one switch. Off (also by `false` or an empty value): no records, no file.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

for value in 0 false off no ''; do
    rm -rf run
    expect "PLUMB_ACTIVATIONS='$value'" 0 env PLUMB_RUN_DIR="$PWD/run" PLUMB_ACTIVATIONS="$value" ./layers
    [ -f run/timing.json ] && [ ! -e run/activations.jsonl ] || fail "$name: left $(ls run)"
    lacks err.txt 'activation'
done
for value in 1 true yes on; do
    rm -rf plumb-out
    expect "PLUMB_ACTIVATIONS='$value' alone" 0 env PLUMB_ACTIVATIONS="$value" ./layers
    [ "$(wc -l <plumb-out/layers/latest/activations.jsonl)" = 18 ] || fail "$name: not 18 records"
done
rm -rf plumb-out
expect 'PLUMB=0 wins' 0 env PLUMB=0 PLUMB_ACTIVATIONS=1 ./layers
[ ! -e plumb-out ] || fail "$name: left $(ls plumb-out)"
finish
