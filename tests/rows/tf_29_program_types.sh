#!/bin/sh
# labels: plain
# TF-29: a generated program declares the interface of stage libraries itself, without a header of plumb. Its
# structs lie in memory as those of the public headers do.
set -eu
here=$PLUMB_SOURCE_DIR/tests/rows
# shellcheck disable=SC2086 # words
$CC -std=gnu11 -I "$PLUMB_SOURCE_DIR/include" "$here/_program_types.c" -o headers
# shellcheck disable=SC2086 # words
$CC -std=gnu11 -DBODY -I "$PLUMB_SOURCE_DIR/src" "$here/_program_types.c" -o body
./headers >headers.txt
./body >body.txt
[ "$(wc -l <headers.txt)" -gt 50 ]
diff headers.txt body.txt
