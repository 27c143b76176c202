#!/bin/sh
# labels: plain
# AT-11: after kill -9 every line of the file is whole, however often, and whatever reads the run finds
# all records that were made: those that were waiting for their lines too.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

whole() {
    [ ! -s "$1" ] || [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ] || fail "run $i: a torn line"
    jq -e -s 'map(.seq) == [range(length)]' "$1" >/dev/null || fail "run $i: not every line is a record"
}

for i in 1 2 3 4 5 6; do
    rm -rf run
    mkfifo "go$i"
    PLUMB_RUN_DIR=$PWD/run PLUMB_ACTIVATIONS=1 PLUMB_ACTIVATIONS_STATS=abs_mean,sum,hash,sample \
        ./layers endless >"go$i" 2>err.txt &
    pid=$!
    read -r word <"go$i"
    [ "$word" = go ] || fail "it said '$word'"
    # Killed at once, and in the middle of its writing.
    while [ $((i % 2)) = 0 ] && [ "$(wc -l <run/activations.jsonl)" -lt 20000 ]; do
        :
    done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    whole run/activations.jsonl
    [ -e run/activations.jsonl.pending ] || fail "run $i: nothing waits"
    expect "the first reader $i" 0 "$PLUMB_BIN" activations run
    whole run/activations.jsonl
    # 'go' was said after four steps of 50.
    jq -e -s 'length >= 200' run/activations.jsonl >/dev/null || fail "run $i: records are missing"
    [ ! -e run/activations.jsonl.pending ] || fail "run $i: they still wait"
    cp run/activations.jsonl before.jsonl
    expect "the second reader $i" 0 "$PLUMB_BIN" activations run
    cmp -s before.jsonl run/activations.jsonl || fail "run $i: the second reader changed the file"
done

# A reader that may not write has all of them all the same.
rm -rf run
mkfifo go
PLUMB_RUN_DIR=$PWD/run PLUMB_ACTIVATIONS=1 ./layers endless >go 2>err.txt &
pid=$!
read -r word <go
kill -9 "$pid"
wait "$pid" 2>/dev/null
cp run/activations.jsonl.pending saved
expect "one that writes" 0 "$PLUMB_BIN" activations --format json run
mv out.txt all.json
cp saved run/activations.jsonl.pending
expect "the same again" 0 "$PLUMB_BIN" activations --format json run
cmp -s out.txt all.json || fail "records are there twice"
printf 'plumbact and no more' >run/activations.jsonl.pending
expect "damaged" 0 "$PLUMB_BIN" activations --format json run
cmp -s out.txt all.json || fail "a damaged file changed the answer"
finish
