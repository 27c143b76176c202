# Shared by the tests of plumb-serve, which source it.
# shellcheck shell=sh
# Makes ./gen: the messages and stubs of share/proto, by protoc and gRPC's own plug-in for Python, and the
# variable `python`, which runs a script with them.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

if [ ! -x "${PLUMB_BIN%/*}/plumb-serve" ]; then
    echo 'this build has no plumb-serve' >&2
    exit 77
fi
"${PLUMB_BIN%/*}/plumb-serve" --listen=unix:/nonexistent/x 2>err.txt
if grep -q 'built without gRPC' err.txt; then
    echo 'this plumb-serve has no gRPC' >&2
    exit 77
fi
plugin=$(command -v grpc_python_plugin) && /usr/bin/python3 -c 'import grpc' 2>/dev/null || {
    echo 'needs gRPC for Python: python3-grpcio, protobuf-compiler-grpc' >&2
    exit 77
}
proto=$PLUMB_SOURCE_DIR/share/proto
mkdir -p gen
protoc -I "$proto" --python_out=gen --grpc_out=gen "--plugin=protoc-gen-grpc=$plugin" \
    "$proto/plumb/v1/profiler.proto" "$proto/cuvis_ai/v1/cuvis_ai.proto" || exit 1
# gRPC for Python has a package `grpc` of its own, so these come without their folders.
protoc -I "$proto/grpc/health/v1" --python_out=gen "$proto/grpc/health/v1/health.proto" || exit 1

# The folder of control sockets: tests at the same time must not see each other's processes.
export XDG_RUNTIME_DIR="$TMPDIR"

export TSAN_OPTIONS="suppressions=$PLUMB_SOURCE_DIR/tests/serve/tsan.supp:$TSAN_OPTIONS"

# run_python SCRIPT ARGUMENT...: SCRIPT lies in tests/serve
run_python() {
    script=$PLUMB_SOURCE_DIR/tests/serve/$1
    shift
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD/gen:$PLUMB_SOURCE_DIR/tests/serve" TEST_BIN="$PLUMB_BIN" \
        TEST_KIND="$PLUMB_BUILD_KIND" /usr/bin/python3 "$script" "$@"
}
