#!/bin/sh
# CV-14: the last line divides by frames minus skip, else by the runs of the first row; it is left out
# when that is 0; (+) one line for each phase, outermost nodes only.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

# average NAME LINE ARGUMENT...
average() {
    name=$1
    want=$2
    shift 2
    expect "$name" 0 "$PLUMB_BIN" report "$@"
    got=$(grep '^Average' out.txt)
    [ "$got" = "$want" ] || fail "$name: '$got', not '$want'"
}

average 'frames minus skip' 'Average per-frame pipeline time: 15.00 ms (66.7 FPS)' \
    "$data/golden.json" --frames 103
average 'first row' 'Average per-frame pipeline time: 15.00 ms (66.7 FPS)' "$data/golden.json"
average 'other frames' 'Average per-frame pipeline time: 30.00 ms (33.3 FPS)' \
    "$data/golden.json" --frames 53
average 'all frames skipped' '' "$data/golden.json" --frames 3
average 'phases' \
    'Average per-frame pipeline time [inference]: 27.14 ms (36.8 FPS)
Average per-frame pipeline time [val]: 20.00 ms (50.0 FPS)' \
    "$data/rich.json" --pipeline prog
average 'one phase' 'Average per-frame pipeline time: 20.00 ms (50.0 FPS)' \
    "$data/rich.json" --pipeline prog --phase val
# decode (20 ms) runs inside frame (190 ms): TOTAL has it once; val has 40 ms.
name=total
grep -qE '^TOTAL +0.230$' out.txt && fail 'the filtered total is that of all'
expect 'total' 0 "$PLUMB_BIN" report --pipeline prog "$data/rich.json"
grep -qE '^TOTAL +0.230$' out.txt || fail 'TOTAL counts nested nodes twice'
finish
