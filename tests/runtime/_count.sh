# shellcheck shell=sh
# Shared by the tests of plumb record --count, which source it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
if [ ! -e "$lib_dir/libplumb-count.so" ]; then
    echo 'no libplumb-count.so: it needs x86-64'
    exit 77
fi
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -O1 -Wall -Wextra -Werror -Wno-psabi -I"$PLUMB_SOURCE_DIR/include" "$@" || exit 1
}
# library OUT FLAG...: of the functions that are counted
library() {
    out=$1
    shift
    cc -O0 -fPIC -shared "$here/_count_lib.c" -o "$out" "$@"
}
# compiled OUT FLAG...: an object of the program
compiled() {
    out=$1
    shift
    cc -mavx -c "$@" "$here/_count_host.c" -o "$out"
}
# linked OUT OBJECT FLAG...: the program with libplumb
linked() {
    out=$1
    shift
    cc "$@" -o "$out" libcounted.so.1 "$PLUMB_LIB" -Wl,-rpath,"$PWD:$lib_dir" -ldl -lpthread -lrt
}
library libcounted.so.1.2 -Wl,-soname,libcounted.so.1
ln -s libcounted.so.1.2 libcounted.so.1

# calls RUN: "node phase step library:function calls" of all cells, sorted
calls() {
    jq -r '.count_cells // [] | .[] | select(.kind == 12) |
        "\(if .node == "" then "-" else .node end) \(.phase) \(.step) \(.name) \(.calls)"' "$1/timing.json" | sort
}
# total RUN FUNCTION: of all nodes
total() {
    calls "$1" | awk -v f="$2" '$4 ~ ":" f "$" { n += $5 } END { print n + 0 }'
}
# counted HOST WAY [LIST]: ends with the same status and output as alone; the run is in run/
counted() {
    rm -rf run
    list=${3:-libcounted.so:*}
    what="$1 $2"
    expect "$what, alone" 7 "./$1" "$2"
    cp out.txt alone.txt
    expect "$what" 7 "$PLUMB_BIN" record --quiet --run-dir run --count "$list" -- \
        "./$1" "$2"
    empty err.txt
    [ -f run/timing.json ] || fail "$what: no run"
}
same() { # NAME WANTED GOT
    [ "$2" = "$3" ] || fail "$1: $(printf '\n%s\nnot\n%s' "$3" "$2")"
}
