# Shared by the tests of NVTX; sourced after _lib.sh: builds the tool and the program, or skips.
# shellcheck shell=sh
if "$PLUMB_BIN" doctor | grep -q 'nvtx .*built without'; then
    echo 'this plumb is built without the nvtx3 headers'
    exit 77
fi
lib_dir=$(dirname "$PLUMB_LIB")
nvtx=$(sed -n 's/^NVTX3_INCLUDE_DIR:PATH=//p' "$PLUMB_BUILD_DIR/CMakeCache.txt")
# shellcheck disable=SC2086 # words
build() {
    $CC -std=c11 -D_GNU_SOURCE -O1 "-I$PLUMB_SOURCE_DIR/include" -isystem "$nvtx" "$@" || exit 1
}
build -shared -fPIC "$PLUMB_SOURCE_DIR/tests/rows/_nvtx_tool.c" -o tool.so
build "$PLUMB_SOURCE_DIR/tests/rows/_nvtx_prog.c" -DPLUMB_LINKED -o prog -L"$lib_dir" -lplumb \
    -lpthread -Wl,-rpath,"$lib_dir"
NVTX_INJECTION64_PATH=$PWD/tool.so
NVTX_LOG=$PWD/nvtx.log
export NVTX_INJECTION64_PATH NVTX_LOG
