# Shared by the tests of regions; sourced after _lib.sh: builds _regions.c as ./prog.
# shellcheck shell=sh
lib_dir=$(dirname "$PLUMB_LIB")
# shellcheck disable=SC2086 # words
$CC -std=c11 -D_GNU_SOURCE -O1 "-I$PLUMB_SOURCE_DIR/include" ${sanitizer:-} \
    "$PLUMB_SOURCE_DIR/tests/rows/_regions.c" -DPLUMB_LINKED -o prog -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" || exit 1
