#!/bin/sh
# labels: plain
# timeout: 600
# plumb record --count: every call of a function from another object counts once, for the node, phase and
# step that it was made in, and the program does what it does without.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
if [ ! -e "$lib_dir/libplumb-count.so" ]; then
    echo 'no libplumb-count.so: it needs x86-64'
    exit 77
fi
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -O1 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$@" || exit 1
}
cc -O0 -fPIC -shared "$here/_count_lib.c" -o libcounted.so.1.2 -Wl,-soname,libcounted.so.1
ln -s libcounted.so.1.2 libcounted.so.1
cc -fPIC -shared "$here/_count_lib.c" -o libcounted_late.so
# host NAME FLAG...: the program, built in the ways in which functions are bound
host() {
    out=$1
    shift
    cc -mavx -DPLUMB_LINKED "$@" "$here/_count_host.c" -o "$out" libcounted.so.1 "$PLUMB_LIB" \
        -Wl,-rpath,"$PWD:$lib_dir" -ldl -lpthread -lrt
}
host lazy -Wl,-z,lazy
host now -Wl,-z,now -Wl,-z,relro
host no_plt -fno-plt -Wl,-z,now -Wl,-z,relro
host no_pie -fno-pie -no-pie
cc -mavx "$here/_count_host.c" -o unlinked libcounted.so.1 -Wl,-rpath,"$PWD" -ldl -lpthread -lrt
cc -mavx -DPLUMB_LINKED "$here/_count_host.c" -o holding libcounted.so.1 "$lib_dir/libplumb.a" \
    -Wl,-rpath,"$PWD" -ldl -lpthread -lrt -lm

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

for host in lazy now no_plt no_pie unlinked holding; do
    counted $host nodes
    cmp -s out.txt alone.txt || fail "$what: it prints other things"
    same "$what" 'inner inference 0 libcounted.so.1:plain 8
inner inference 1 libcounted.so.1:plain 8
inner inference 2 libcounted.so.1:plain 8
outer inference 0 libcounted.so.1:plain 2
outer inference 1 libcounted.so.1:plain 3
outer inference 2 libcounted.so.1:plain 4
outer train -1 libcounted.so.1:plain 1' "$(calls run)"

    case $host in unlinked | holding) continue ;; esac
    counted $host arguments
    same "$what" 'arguments inference -1 libcounted.so.1:large_of 2
arguments inference -1 libcounted.so.1:many 2
arguments inference -1 libcounted.so.1:small_of 2
arguments inference -1 libcounted.so.1:sum_of 2
arguments inference -1 libcounted.so.1:wide_sum 2
around inference -1 libcounted.so.1:sum_of 2000
around inference -1 libcounted.so.1:wide_sum 2000' "$(calls run)"

    # Pointers to a function are equal wherever they come from, and a call through one counts.
    counted $host addresses
    same "$what" '- inference -1 libcounted.so.1:call_back 5
- inference -1 libcounted.so.1:chosen 10
- inference -1 libcounted.so.1:plain 20' "$(calls run)"

    # longjmp() out of a counted call, a function that returns twice, recursion through the PLT.
    counted $host jumps
    same "$what" '- inference -1 libcounted.so.1:again 1
- inference -1 libcounted.so.1:deeper 100
- inference -1 libcounted.so.1:depth 101
jumps inference -1 libcounted.so.1:jump 1000' "$(calls run)"
done

counted lazy threads
same "$what" 10000000 "$(total run plain)"
same "$what, in the node" 5000000 "$(calls run | awk '$1 == "worker" && $4 ~ /:plain$/ { n += $5 } END { print n }')"
counted lazy short_threads
same "$what" 3000 "$(total run plain)"
counted lazy unload libcounted_late.so:call_back
same "$what" 3000 "$(total run call_back)"

# Handlers call the function too: the program knows how often.
rm -rf run
expect 'signals' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so.1:plain' -- ./lazy signals
same 'signals' "$(cat out.txt)" "$(total run plain)"

# A child counts from zero, in a run of its own; its parent's counts are as without a child.
rm -rf runs
expect 'children' 7 "$PLUMB_BIN" record --quiet --dir runs --count 'libcounted.so:plain' -- ./lazy children
for run in runs/lazy/*; do
    [ -L "$run" ] || calls "$run"
done | sort >counts.txt
same 'children' '- inference -1 libcounted.so.1:plain 11
child inference -1 libcounted.so.1:plain 100
child inference -1 libcounted.so.1:plain 100
child inference -1 libcounted.so.1:plain 100' "$(cat counts.txt)"

# Exceptions unwind through the frames around counted calls.
$CXX -std=c++17 -O1 -Wall -Wextra -Werror -fPIC -shared "$here/_count_throw_lib.cc" -o libthrow.so || exit 1
$CXX -std=c++17 -O1 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" -DPLUMB_LINKED "$here/_count_throw.cc" \
    -o throws libthrow.so "$PLUMB_LIB" -Wl,-rpath,"$PWD:$lib_dir" || exit 1
rm -rf run
expect 'exceptions' 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libthrow.so:*,libstdc++.so.6:__cxa_throw' -- ./throws
[ "$(cat out.txt)" = '1000 1000' ] || fail "exceptions: $(cat out.txt)"
same 'exceptions' 'throws inference -1 libstdc++.so.6:__cxa_throw 1000
throws inference -1 libthrow.so:_Z7betweeni 500
throws inference -1 libthrow.so:_Z8throw_ifbPKc 1500' "$(calls run)"

# ---- What cannot be counted is said ----------------------------------------------------------------
expect 'a name that is not there' 7 "$PLUMB_BIN" record --quiet --run-dir run2 \
    --count 'libcounted.so:plain,libcounted.so:plane,libnone.so:*' -- ./lazy nodes
has err.txt "no call of 'libcounted.so:plane' crossed a dynamic symbol" "no call of 'libnone.so:*'"
lacks err.txt "'libcounted.so:plain'"
for list in , 'a,,b' 'lib:' ':f' 'a b' 'lib:f:g'; do
    expect "a wrong list: $list" 125 "$PLUMB_BIN" record --count "$list" -- ./lazy nodes
    has err.txt "--count: '$list'"
done
printf 'int main(void) { return 0; }\n' >trivial.c
for flag in -static -static-pie; do
    cc $flag trivial.c -o still
    expect "a program linked with $flag" 125 "$PLUMB_BIN" record --count f -- ./still
    has err.txt "'./still' is statically linked" 'no dynamic linker'
done
cp ./lazy with_rights
if [ "$(id -u)" = 0 ] && chown 65534 with_rights && chmod u+s with_rights; then
    expect 'a program with rights' 125 "$PLUMB_BIN" record --count f -- ./with_rights
    has err.txt 'the loader ignores LD_AUDIT'
fi
expect 'an auditor of the user stays' 7 env LD_AUDIT=/no/such.so "$PLUMB_BIN" record --quiet --run-dir run3 \
    --count 'libcounted.so:plain' -- ./lazy nodes
[ "$(total run3 plain)" = 34 ] || fail "with another auditor: $(total run3 plain)"
expect 'the report' 0 "$PLUMB_BIN" report counts run3
has out.txt 'libcounted.so.1:plain'
expect 'PLUMB=0' 7 env PLUMB=0 "$PLUMB_BIN" record --count 'libcounted.so:plain' -- ./lazy nodes
exit $((failures > 0))
