#!/bin/sh
# labels: plain
# A C++ exception and a cancellation that go through a C frame built without -fexceptions leave the
# spans of that frame open: they are counted as unbalanced under their names, and the spans round them
# stay whole. Built with -fexceptions the frame ends its spans itself.
set -u
lib_dir=$(dirname "$PLUMB_LIB")
here=$PLUMB_SOURCE_DIR/tests/runtime
flags="-O2 -DPLUMB_LINKED -I$PLUMB_SOURCE_DIR/include"
failures=0

fail() {
    echo "FAIL: $kind: $*" >&2
    failures=$((failures + 1))
}

# figures NODE: "count failures unbalanced" of a node of the report
figures() {
    /usr/bin/python3 - "$1" <<END
import json, sys
for n in json.load(open("run-$kind/timing.json"))["nodes"]:
    if n["name"] == sys.argv[1]:
        host = n.get("host", n)
        print(host.get("count", n.get("count")), n["failures"], n["unbalanced"])
END
}

expect() {
    got=$(figures "$1")
    [ "$got" = "$2" ] || fail "$1 has '$got', not '$2'"
}

run() {
    kind=$1
    shift
    # shellcheck disable=SC2086 # words
    ${CC:-cc} $flags "$@" -c "$here/_through_c.c" -o through_c.o &&
        ${CXX:-c++} $flags "$here/_through_c.cc" through_c.o -o program -L"$lib_dir" -lplumb \
            -lpthread -Wl,-rpath,"$lib_dir" || fail 'does not build'
    PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR="run-$kind" ./program || fail "exit status $?"
    expect frame '100 0 0'
    expect attempt '100 0 0'
    expect after '100 0 0'
    expect c.done '101 0 0'
}

run plain -fno-exceptions
expect c.outer '50 0 51'
expect c.inner '50 0 51'
run unwinding -fexceptions
expect c.outer '101 0 0'
expect c.inner '101 0 0'
[ "$failures" = 0 ]
