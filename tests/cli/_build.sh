# Builds the marked program of _prog.c in every way it can meet libplumb; sourced after _lib.sh.
# shellcheck shell=sh
lib_dir=$(dirname "$PLUMB_LIB")
flags="-std=c11 -D_GNU_SOURCE -O1 -I$PLUMB_SOURCE_DIR/include"
prog=$PLUMB_SOURCE_DIR/tests/cli/_prog.c
build() {
    # shellcheck disable=SC2086 # words
    $CC $flags "$@" || exit 1
}
build "$prog" -o bare
build -DPLUMB_LINKED "$prog" -o linked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
build -DPLUMB_LINKED "$prog" -o holding "$lib_dir/libplumb.a" -lpthread -ldl -lm
build -static "$prog" -o static
build -DPLUMB_DISABLE "$prog" -o unmarked
