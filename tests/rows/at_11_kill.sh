#!/bin/sh
# labels: plain
# AT-11: after kill -9 every line of the file is whole, however often.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

for i in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf run
    mkfifo "go$i"
    PLUMB_RUN_DIR=$PWD/run PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=abs_mean,sum,hash,sample \
        ./layers endless >"go$i" 2>err.txt &
    pid=$!
    read -r word <"go$i"
    [ "$word" = go ] || fail "it said '$word'"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    [ "$(tail -c 1 run/activations.jsonl | od -An -c | tr -d ' ')" = '\n' ] || fail "run $i: a torn line"
    jq -e -s 'length > 100 and (map(.seq) == [range(length)])' run/activations.jsonl >/dev/null ||
        fail "run $i: not every line is a record"
done
finish
