#!/bin/sh
# labels: plain
# Every C and C++ file has the format of .clang-format.
set -eu
exec "$PLUMB_SOURCE_DIR/tools/format.sh"
