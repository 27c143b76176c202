#!/bin/sh
# labels: plain
# No function with which a program records changes errno: without a runtime, with recording off, with
# all of it on, and with PLUMB_DISABLE.
set -u
lib_dir=$(dirname "$PLUMB_LIB")
failures=0

build() {
    "$CC" -std=gnu11 -O2 -Wall -Wextra -pthread -I"$PLUMB_SOURCE_DIR/include" "$PLUMB_SOURCE_DIR/tests/runtime/_errno.c" "$@" || exit 1
}
build -o bare
build -DPLUMB_DISABLE -o disabled
build -DPLUMB_LINKED -o linked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# check WHAT COMMAND...
check() {
    what=$1
    shift
    "$@" >out.txt 2>err.txt
    status=$?
    [ "$status" = 0 ] && return
    echo "FAIL: $what: status $status" >&2
    cat out.txt >&2
    failures=$((failures + 1))
}

on="env PLUMB=1 PLUMB_QUIET=1 PLUMB_TRACE=1 PLUMB_TRACE_STACK=1 PLUMB_TRACE_SHAPES=1 PLUMB_MEMORY=all PLUMB_SIGNATURE=full
PLUMB_MEMORY_CHECKPOINTS=1 PLUMB_ACTIVATIONS=1 PLUMB_VERIFY=warn PLUMB_COLLECT=fake PLUMB_REGIONS=* PLUMB_DEBUG=1 PLUMB_SYNC=1 PLUMB_LOG=debug"
set -f
check 'with PLUMB_DISABLE' ./disabled
check 'without a runtime' ./bare
check 'switched off' ./linked
check 'on' env PLUMB=1 PLUMB_DIR=plain ./linked
check 'everything on' $on PLUMB_DIR=all ./linked
check 'found by its page' env LD_PRELOAD="$PLUMB_LIB" PLUMB=1 PLUMB_DIR=preloaded ./bare
check 'where nothing can be written' env PLUMB=1 PLUMB_TRACE=1 PLUMB_DIR=/proc/nowhere ./linked
call=0
while ./bare $call; [ $? != 2 ]; do
    check 'first, without a runtime' ./bare $call
    check 'first, without a runtime and descriptors' ./bare $call none
    call=$((call + 10))
done
for call in 0 8 13 15 16 20 22 24 27 30 31 32 36 46 47 48; do
    check 'first, everything on' $on PLUMB_DIR=first ./linked $call
    check 'first, on, without descriptors' env PLUMB=1 PLUMB_TRACE=1 PLUMB_DIR=none ./linked $call none
done
[ "$failures" = 0 ]
