#!/bin/sh
# timeout: 300
# Recordings that begin and end while threads enqueue commands, on a clock that is read and on one that commands show. And
# one that ends while the driver refuses to call back: what it refuses is counted, and nobody waits for it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"
build _turns.c turns -DPLUMB_LINKED -lOpenCL -lpthread "$PLUMB_LIB" "-Wl,-rpath,$lib_dir" || exit 1

name=turns
for check in '' timer slow-callback; do
    rm -rf turn[0-9]
    CHECK=$check CHECK_OUT=$PWD/check.txt OPENCL_LAYERS=$PWD/check.so:$layer ./turns turns >out.txt 2>err.txt ||
        fail "'$check': status $?: $(cat err.txt)"
    for turn in turn0 turn1 turn2 turn3 turn4 turn5; do
        [ "$(state $turn .state)" = stopped ] || fail "'$check': $turn: $(state $turn .)"
        [ "$(state $turn '.lanes | length')" = 3 ] || fail "'$check': $turn: $(state $turn .)"
        [ "$(state $turn '[.lanes[].launches] | min >= 5')" = true ] || fail "'$check': $turn: $(state $turn .)"
    done
done

CHECK=late-refusal CHECK_OUT=$PWD/check.txt OPENCL_LAYERS=$PWD/check.so:$layer ./turns refused >out.txt 2>err.txt ||
    fail "refused: status $?: $(cat err.txt)"
[ "$(state refused .state)" = stopped ] || fail "refused: $(state refused .)"
state refused .why | grep -q '^1 command could not be followed' || fail "refused: $(state refused .)"
exit "$((failures > 0))"
