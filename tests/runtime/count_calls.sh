#!/bin/sh
# labels: plain
# plumb record --count: every call of a function from another object counts once, for the node, phase and
# step that it was made in, and the program does what it does without, in whatever way functions are bound.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"
compiled host.o -DPLUMB_LINKED
compiled unlinked.o
compiled no_plt.o -DPLUMB_LINKED -fno-plt
compiled no_pie.o -DPLUMB_LINKED -fno-pie
linked lazy host.o -Wl,-z,lazy
linked now host.o -Wl,-z,now -Wl,-z,relro
linked no_plt no_plt.o -Wl,-z,now -Wl,-z,relro
linked no_pie no_pie.o -no-pie
cc unlinked.o -o unlinked libcounted.so.1 -Wl,-rpath,"$PWD" -ldl -lpthread -lrt
cc host.o -o holding libcounted.so.1 "$lib_dir/libplumb.a" -Wl,-rpath,"$PWD" -ldl -lpthread -lrt -lm

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
around inference -1 libcounted.so.1:wide_sum 2000' "$(calls run | grep -v widest_sum)"

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
exit $((failures > 0))
