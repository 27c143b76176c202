#!/bin/sh
# CV-22: a stock client of the published service, made from the .proto text, sets profiling and reads
# the rows of a running process.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/serve/_host.c" host
run_python _cuvis.py clients || fail 'ten clients'
finish
