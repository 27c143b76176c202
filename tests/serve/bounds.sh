#!/bin/sh
# labels: notsan
# plumb serve: what clients that never finish a request, or never begin one, can cost it.
. "$PLUMB_SOURCE_DIR/tests/serve/_serve.sh"
run_python _bounds.py || fail 'bounds'
finish
