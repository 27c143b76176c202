#!/bin/sh
# Trace of plumb.v1.Profiler: a trace of a running process, over the network, in chunks.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_host.c" host
run_python _profiler.py trace || fail 'Trace'
finish
