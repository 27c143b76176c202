#!/bin/sh
# labels: plain
# How an object that holds the header alone finds libplumb: it asks little of the process, wherever
# its first trace point lies, believes nothing but the page of a runtime, and always finds that.
set -eu
here=$PLUMB_SOURCE_DIR/tests/runtime
lib_dir=$(dirname "$PLUMB_LIB")
cc() {
    # shellcheck disable=SC2086 # words
    $CC -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I"$PLUMB_SOURCE_DIR/include" "$@"
}
fail() {
    echo "lookup: $*" >&2
    exit 1
}
cc -fPIC -Wl,-z,now "$here/_lookup.c" -o lookup -ldl -lpthread
cc -fno-builtin -fPIC -shared "$here/_lookup_malloc.c" -o marked_malloc.so
cc "$here/_lookup_host.c" -o host -lpthread
cc "$here/_lookup_host.c" -o host_linked -lpthread -Wl,--no-as-needed -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir"
cc "$here/_host.c" -o host_early -ldl
cc -fPIC -shared -DPLUG_NAME='"alone"' "$here/_plug.c" -o plug_alone.so
cc -fPIC -shared -DPLUMB_LINKED "$here/_plug.c" -o plug_linked.so -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir"

# count NODE: of the run in ./run
count() {
    [ -f run/timing.json ] || fail "$case: no run"
    jq -r --arg node "$1" '[.nodes[] | select(.name == $node) | .count] | add // 0' run/timing.json
}
# ends STATUS COMMAND...: in a limited time
ends() {
    wanted=$1
    shift
    case=$*
    status=0
    timeout 60 "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "$case: status $status, not $wanted: $(cat err.txt)"
}
# records COMMAND...: as above, with a run in ./run
records() {
    rm -rf run
    ends 0 env PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR="$PWD/run" "$@"
}

# The whole of what the header asks the linker for: nothing that allocates, locks or can be cancelled.
cc -DPLUG_NAME='"x"' -c "$here/_plug.c" -o plug.o
nm -u plug.o | awk '{ print $2 }' | LC_ALL=C sort | tr '\n' ' ' >asks.txt
wanted='_GLOBAL_OFFSET_TABLE_ __errno_location plumb_api_1 strcmp syscall '
[ "$(cat asks.txt)" = "$wanted" ] || fail "the header needs $(cat asks.txt)"

# Without a runtime: everything is off, and nothing breaks.
for role in in_malloc on_a_small_stack with_a_pending_cancel without_descriptors among_decoys; do
    ends 0 env PLUMB=1 ./lookup $role
done
i=0
while [ $((i += 1)) -le 10 ]; do
    ends 0 env PLUMB=1 ./lookup under_signals
done
for plumb in 0 1; do
    ends 0 env PLUMB=$plumb LD_PRELOAD="$PWD/marked_malloc.so" ./host
    [ "$(cat out.txt)" = 'done' ] || fail "$case: $(cat out.txt)"
done

# With one: it is found, from wherever, and by each thread.
records ./lookup among_decoys "$PLUMB_LIB"
[ "$(count passed)" = 1 ] || fail "$case: $(count passed) spans"
records ./lookup in_two_threads "$PLUMB_LIB"
[ "$(count passed)" = 2 ] || fail "$case: $(count passed) spans"
records ./lookup inside_itself "$PLUMB_LIB"
[ "$(count passed)" = 2 ] || fail "$case: $(count passed) spans" # the third met the lookup
ends 0 ./lookup in_a_forked_child "$PLUMB_LIB"

# An allocator with trace points, which the birth of the runtime itself goes through.
for way in "env LD_PRELOAD=$PWD/marked_malloc.so ./host_linked" \
    "env LD_PRELOAD=$PWD/marked_malloc.so:$PLUMB_LIB ./host" \
    "env LD_PRELOAD=$PLUMB_LIB:$PWD/marked_malloc.so ./host"; do
    ends 0 env PLUMB=0 $way
    records $way
    [ "$(cat out.txt)" = 'done' ] || fail "$case: $(cat out.txt)"
    [ "$(count realloc)" -ge 2000 ] || fail "$case: $(count realloc) spans of realloc"
done

# In a folder of the page's name.
mkdir -p folder/plumb-runtime-1
cp lookup folder/plumb-runtime-1/
(
    cd folder/plumb-runtime-1
    ends 0 ./lookup among_decoys
    records ./lookup among_decoys "$PLUMB_LIB"
    [ "$(count passed)" = 1 ] || fail "$case, in a folder of that name: $(count passed) spans"
)

# An object that found no runtime stays off; one that looks later finds a runtime loaded in the meantime.
records ./host_early ./plug_linked.so ./plug_alone.so
[ "$(count host)" = 0 ] || fail "$case: $(count host) spans of the host"
[ "$(count plug)" = 100 ] || fail "$case: $(count plug) spans of the plug-in"
[ "$(count alone)" = 100 ] || fail "$case: $(count alone) spans of the plug-in without libplumb"
