#!/bin/sh
# labels: plain
# However copies of libplumb and marked objects come together in a process, there is one runtime and
# one run directory with every node in it.
set -eu
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
static="$lib_dir/libplumb.a -lpthread -ldl"
shared="-L$lib_dir -lplumb -Wl,-rpath,$lib_dir"
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -O2 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$@"
}
fail() {
    echo "one_runtime: $*" >&2
    exit 1
}

# expect COUNT NODE: the run in ./run/ has so many spans of the node.
expect() {
    got=$(jq -r --arg node "$2" '[.nodes[] | select(.name == $node) | .count] | add // 0' \
        run/*/latest/timing.json) || fail "$case: no report: $(find run)"
    [ "$got" = "$1" ] || fail "$case: $got spans of '$2', not $1"
}

# one CASE COMMAND...: runs it, recording; it must leave one run.
one() {
    case=$1
    shift
    rm -rf run
    PLUMB=1 PLUMB_QUIET=1 PLUMB_DIR=$PWD/run "$@" >out.txt || fail "$case: status $?"
    grep -q 'done' out.txt || fail "$case: printed '$(cat out.txt)'"
    [ "$(find run -mindepth 2 -maxdepth 2 -type d | wc -l)" = 1 ] || fail "$case: $(find run)"
}

# shellcheck disable=SC2086 # words
{
    cc -DPLUMB_LINKED "$here/_host.c" -o host_static $static -ldl
    cc -DPLUMB_LINKED "$here/_host.c" -o host_shared $shared -ldl
    cc -DHOST_LATE "$here/_host.c" -o host_alone -ldl
    cc -DPLUMB_LINKED -fPIC -shared "$here/_plug.c" -o plug_linked.so $shared
    cc -DPLUMB_LINKED -fPIC -shared "$here/_plug.c" -o plug_symbolic.so $shared -Wl,-Bsymbolic
    cc -DPLUMB_LINKED -fPIC -shared "$here/_plug.c" -o plug_static.so $static
    cc -DPLUMB_LINKED -fPIC -shared "$here/_plug.c" -o plug_static_symbolic.so $static \
        -Wl,-Bsymbolic
    cc -fPIC -shared -DPLUG_NAME='"alone"' "$here/_plug.c" -o plug_alone.so
}
cp host_static host_stripped
strip -s host_stripped
nm -D host_stripped | grep -q plumb_api_1 && fail 'the stripped host exports the runtime'

one 'static host, plug-in that needs libplumb.so' ./host_static ./plug_linked.so
expect 200 host
expect 100 plug
one 'plug-in and its libplumb.so opened RTLD_LOCAL' ./host_alone ./plug_linked.so
expect 100 host
expect 100 plug
one 'shared host, plug-in opened RTLD_LOCAL' ./host_shared ./plug_linked.so
expect 200 host
expect 100 plug
for plug in plug_symbolic plug_static plug_static_symbolic; do
    for host in host_static host_shared; do
        one "$host, $plug" ./$host ./$plug.so
        expect 200 host
        expect 100 plug
    done
    one "host without libplumb, $plug" ./host_alone ./$plug.so
    expect 100 host
    expect 100 plug
done
one 'static host that is stripped, plug-in with the header alone' ./host_stripped ./plug_alone.so
expect 200 host
expect 100 alone
one 'every copy at once' ./host_stripped ./plug_alone.so ./plug_static.so ./plug_linked.so \
    ./plug_static_symbolic.so
expect 500 host
expect 300 plug
expect 100 alone
one 'preloaded beside a static copy' env LD_PRELOAD="$PLUMB_LIB" ./host_static ./plug_alone.so
expect 200 host
expect 100 alone

# Without any libplumb everything runs, and is off.
rm -rf run
case='no libplumb at all'
PLUMB=1 PLUMB_DIR=$PWD/run ./host_alone ./plug_alone.so >out.txt || fail "$case: status $?"
grep -q 'done' out.txt || fail "$case"
[ ! -e run ] || fail "$case: left $(find run)"

# Objects that go away, and come again.
one 'a plug-in is closed and opened again' ./host_shared ./plug_alone.so close ./plug_alone.so close \
    ./plug_linked.so close ./plug_alone.so
expect 500 host
expect 300 alone
expect 100 plug
one 'the plug-in that holds the runtime is closed' ./host_alone ./plug_static.so close \
    ./plug_alone.so close ./plug_static.so
expect 300 host
expect 200 plug
expect 100 alone

# Python loads libplumb and a marked library through ctypes, both RTLD_LOCAL.
cat >two.py <<'PY'
import ctypes, sys
ctypes.CDLL(sys.argv[1])
work = ctypes.CDLL(sys.argv[2]).plug_work
assert work(100) == 100
print("done")
PY
one 'python, ctypes' python3 two.py "$PLUMB_LIB" ./plug_alone.so
expect 100 alone

# Before main, at the end of a thread, after main.
if [ -n "${CXX:-}" ]; then
    for unit in MAIN OTHER; do
        # shellcheck disable=SC2086 # words
        $CXX -std=c++11 -O2 -Wall -Wextra -Werror -DPLUMB_LINKED -D$unit -I"$PLUMB_SOURCE_DIR/include" \
            -c "$here/_ends.cc" -o ends_$unit.o
    done
    # shellcheck disable=SC2086 # words
    {
        $CXX ends_MAIN.o ends_OTHER.o -o ends_shared $shared -lpthread
        $CXX ends_MAIN.o ends_OTHER.o -o ends_static $static -lpthread
        $CXX -Wl,--start-group "$lib_dir/libplumb.a" ends_OTHER.o ends_MAIN.o -Wl,--end-group \
            -o ends_static_first -lpthread -ldl
    }
    for program in ends_shared ends_static ends_static_first; do
        one "$program" sh -c "./$program && echo done"
        expect 2 constructor
        expect 2 destructor
        expect 4 again
        expect 2 'static object'
        expect 2 'thread object'
        expect 4 'object begins'
        expect 2 atexit
    done
fi

# The needs of the library in a process.
tls=$(($(readelf -lW "$PLUMB_LIB" | awk '$1 == "TLS" { print $6 }')))
[ "$tls" -le 64 ] || fail "$tls bytes of thread-local storage"
readelf -dW "$PLUMB_LIB" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r needed; do
    case $needed in
    libc.so.* | libpthread.so.* | libdl.so.* | ld-linux*.so.*) ;;
    *) fail "libplumb.so needs $needed" ;;
    esac
done
readelf -dW "$PLUMB_LIB" | grep -q 'FLAGS_1.*NODELETE' || fail 'libplumb.so can be unloaded'
