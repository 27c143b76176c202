#!/bin/sh
# labels: plain
# timeout: 300
# Every C and C++ file has the format of .clang-format.
set -eu
exec "$PLUMB_SOURCE_DIR/tools/format.sh"
