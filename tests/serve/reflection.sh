#!/bin/sh
# A client that knows only the address finds every service by reflection (v1alpha and v1), and calls it;
# an unknown method is UNIMPLEMENTED at once.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
run_python _reflection.py || fail 'reflection'
finish
