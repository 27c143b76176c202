#!/bin/sh
# Drivers that refuse what the layer needs, and programs that end in the midst of their commands: the program does what it
# does without the layer, and what is missing is said.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"

# over CHECK WAY STATUS [ARGUMENT]...: recorded into WAY.run
over() {
    check=$1
    way=$2
    wanted=$3
    name="$way ($check)"
    shift 3
    rm -rf "$way.run"
    status=0
    CHECK=$check CHECK_OUT=$PWD/check.txt OPENCL_LAYERS=$PWD/check.so record "$way.run" ./prog "$way" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "$name: status $status, not $wanted: $(cat err.txt)"
}

./prog in_order >alone.txt || exit 1

over no-profiling in_order 0
cmp alone.txt out.txt || fail "$name: another output"
[ "$(state in_order.run '.lanes[0] | "\(.launch_only) \(.launches)"')" = 'true 7' ] || fail "$name: $(state in_order.run .)"
grep -q 'left 0' check.txt || fail "$name: $(cat check.txt)"

over no-callback in_order 0
cmp alone.txt out.txt || fail "$name: another output"
grep -q '7 commands could not be followed' err.txt || fail "$name: $(cat err.txt)"
grep -q 'left 0' check.txt || fail "$name: $(cat check.txt)"

# Nobody says that a command has completed: they are looked for at the end.
over lost-callback in_order 0
cmp alone.txt out.txt || fail "$name: another output"
[ "$(state in_order.run '.lanes[0].events - .lanes[0].launches')" = 1 ] || fail "$name: $(state in_order.run .)"
grep -q 'left 0' check.txt || fail "$name: $(cat check.txt)"

over no-times in_order 0
cmp alone.txt out.txt || fail "$name: another output"
grep -q '7 commands came back without times' err.txt || fail "$name: $(cat err.txt)"
grep -q 'left 0' check.txt || fail "$name: $(cat check.txt)"

# An exit with commands that never ran, and with commands that the device still has.
over '' held 7 300
grep -q "collector 'opencl' reports: 300 commands had not completed" err.txt || fail "held: $(cat err.txt)"
over '' exits 7
[ "$(state exits.run '.lanes[0].launches')" = 21 ] || fail "exits: $(state exits.run .)"

# More commands on their way than are followed: bounded, counted, and none is lost without a word.
over '' held 7 40000
grep -q '32768 commands had not completed' err.txt && grep -q '7232 commands could not be followed' err.txt ||
    fail "many held: $(cat err.txt)"

# Many that come and go.
over '' many 0 20000
followed=$(state many.run '.lanes[0].launches')
missed=$(sed -n "s/.* \([0-9]*\) commands could not be followed.*/\1/p" err.txt)
[ "$((followed + ${missed:-0}))" = 20000 ] || fail "many: $followed followed, ${missed:-0} not"
grep -q 'left 0' check.txt || fail "many: $(cat check.txt)"

exit "$((failures > 0))"
