#!/bin/sh
# Whatever a file of activations claims, plumb activations and plumb diverge refuse it in one line that
# names the file and the place, with exit status 2, and print nothing else.
set -eu
/usr/bin/python3 "$PLUMB_SOURCE_DIR/tests/cli/_hostile.py" "$PLUMB_BIN" "$PLUMB_BUILD_KIND"
