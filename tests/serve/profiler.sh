#!/bin/sh
# plumb.v1.Profiler: every method on a real process, and on runs.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_host.c" host
run_python _profiler.py all || fail 'plumb.v1.Profiler'
finish
