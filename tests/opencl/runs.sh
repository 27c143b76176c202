#!/bin/sh
# labels: plain
# Each recording of a process has the commands that were enqueued in it, on clocks and lanes of its own; a command that
# outlives its recording is said to be missing, and is in no other one.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"
build _runs.c runs -DPLUMB_LINKED -lOpenCL "$PLUMB_LIB" "-Wl,-rpath,$lib_dir" || exit 1

name=runs
for check in '' timer wrong-timer; do
    rm -rf first second
    CHECK=$check OPENCL_LAYERS=$PWD/check.so:$layer ./runs >out.txt 2>err.txt || fail "'$check': status $?: $(cat err.txt)"
    # Events of each recording, and one wait. Times of a clock that is not believed yet may be refused: they are counted.
    [ "$(state first '.lanes[0] | .events + .refused_times')" = 6 ] || fail "'$check': first: $(state first .)"
    [ "$(state second '.lanes[0] | .events + .refused_times')" = 8 ] || fail "'$check': second: $(state second .)"
    if [ "$check" != wrong-timer ]; then
        [ "$(events first | sort | uniq -c | tr -s ' ')" = ' 5 opencl:0: queue 0|fill buffer|span||1024' ] || fail "'$check': first: $(events first)"
        [ "$(events second | sort | uniq -c | tr -s ' ')" = ' 7 opencl:0: queue 0|fill buffer|span||1024' ] || fail "'$check': second: $(events second)"
    fi
    state first .why | grep -q '1 command had not completed' || fail "'$check': $(state first .)"
    [ "$(state second '"\(.state) \(.lanes | length) \(.clocks | length)"')" = 'stopped 1 1' ] || fail "'$check': $(state second .)"
done
exit "$((failures > 0))"
