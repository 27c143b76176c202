#!/bin/sh
# Trace of plumb.v1.Profiler: a trace of a running process, over the network, in chunks.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_host.c" host
status=0
run_python _profiler.py trace || status=$?
if [ "$status" = 77 ]; then
    echo 'the process cannot switch a trace in an open run yet'
    exit 77
fi
[ "$status" = 0 ] || fail 'Trace'
finish
