#!/bin/sh
# Programs that use OpenCL in different ways do the same with the layer as without: output, status, what they see of
# queues and events. And the recording has each of their commands.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/opencl/_lib.sh"

# both WAY STATUS [ARGUMENT]...: alone and recorded, with the layer that counts below
both() {
    way=$1
    wanted=$2
    shift 2
    name=$way
    status=0
    ./prog "$way" "$@" >"$way.alone" 2>alone.err || status=$?
    [ "$status" = "$wanted" ] || fail "$way alone: status $status: $(cat alone.err)"
    status=0
    CHECK_OUT=$PWD/$way.check OPENCL_LAYERS=$PWD/check.so record "$way.run" ./prog "$way" "$@" >"$way.out" 2>"$way.err" || status=$?
    [ "$status" = "$wanted" ] || fail "$way: status $status, not $wanted: $(cat "$way.err")"
    cmp "$way.alone" "$way.out" || fail "$way: another output"
    [ "$way" = copies ] || grep -q '^made [0-9]* left 0 profiled' "$way.check" || fail "$way: $(cat "$way.check"), events leaked"
}

# count DIR PATTERN NUMBER: that many events
count() {
    n=$(events "$1" | grep -c -x -- "$2")
    [ "$n" = "$3" ] || fail "$1: $n events '$2', not $3, of: $(events "$1")"
}

both in_order 0
both out_of_order 0
both threads 0
both copies 0
both info 0
both errors 0
both user_events 0
both forks 0
both destroys 0
[ "$failures" = 0 ] || exit 1
[ -n "$PLUMB_BIN" ] || exit 0

count in_order.run 'opencl:0: queue 0|twice|span|4096x1x1/64x1x1|' 3
count in_order.run 'opencl:0: queue 0|add|span|4096x1x1|' 2
count in_order.run 'opencl:0: queue 0|write buffer|span||16384' 1
count in_order.run 'opencl:0: queue 0|read buffer|span||16384' 1
count in_order.run '.*' 7
"$PLUMB_BIN" export --format csv -o - in_order.run 2>/dev/null | grep -c '^span,.*queue 0: thread [0-9]* waits,.*,waiting,' >waits.txt
[ "$(cat waits.txt)" = 1 ] || fail "in_order: $(cat waits.txt) waits"
count out_of_order.run 'opencl:0: queue 0 (out of order).*|twice|span|4096x1x1|' 8
count out_of_order.run 'opencl:0: queue 0 (out of order).*|read buffer|span||16384' 8
count out_of_order.run '.*' 24
count threads.run 'opencl:0: queue [0-9].*|twice|span|4096x1x1|' 80
count threads.run '.*' 96
events copies.run >copies.txt
for what in 'fill buffer|span||16384' 'write buffer|span||1024' 'write buffer|span||256' 'copy buffer|span||2048' \
    'copy buffer|span||256' 'read buffer|span||256' 'map buffer|span||512' 'unmap|span||512' 'fill image|span||512' \
    'write image|span||512' 'copy image|span||512' 'copy image to buffer|span||512' 'copy buffer to image|span||512' \
    'map image|span||512' 'read image|span||512' 'migrate|span||16384' 'read buffer|span||16384'; do
    grep -qF -- "opencl:0: queue 0|$what" copies.txt || fail "copies: no '$what'"
done
count copies.run 'opencl:0: queue 0.*|marker|instant||' 1
count user_events.run '.*|twice|span|.*' 1
count user_events.run '.*|failed command|instant||' 1
count info.run '.*|marker|instant||' 12
# One in the parent's first part, one after its children.
count forks.run '.*|twice|span|.*' 6
for way in in_order out_of_order threads copies info errors user_events forks destroys; do
    [ "$(state $way.run .state)" = stopped ] || fail "$way: $(state $way.run .)"
    [ "$(state $way.run '[.refused_late, .lanes[].dropped, .lanes[].refused_times] | add')" = 0 ] ||
        fail "$way: events were lost: $(state $way.run .)"
done
# Ten queues, one after the other, are one lane.
[ "$(state destroys.run '.lanes | length')" = 1 ] || fail "destroys: $(state destroys.run '.lanes | length') lanes"
# Seven commands of the program, and eight markers that the clock is measured with.
grep -q '^made 15 left 0 profiled 1 timers none' in_order.check || fail "in_order: $(cat in_order.check)"
exit "$((failures > 0))"
