#!/bin/sh
# timeout: 900
# Rules on counts over recordings of one program: unchanged code never fails, however busy the machine is (10 times, or
# TEST_GATES), and one extra dispatch, copy, launch or allocation fails every time and is named.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >host.c <<'END'
#include <stdlib.h>
#include <string.h>

#include <plumb/fake.h>
#include <plumb/plumb.h>

static const char *extra = "";

static void allocate(char *address, size_t bytes)
{
    plumb_counter_add("allocations", 1);
    plumb_mem_alloc("cpu", "pool", address, bytes);
    plumb_mem_free("cpu", "pool", address, bytes);
}

static void layer(int i)
{
    static char memory[2];
    PLUMB_SPAN("layer");
    plumb_counter_add("native", 1);
    plumb_counter_add("copies", 1);
    plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    allocate(memory, 4096);
    if (i != 7)
        return;
    if (strcmp(extra, "dispatch") == 0)
        plumb_counter_add("native", 1);
    if (strcmp(extra, "copy") == 0)
        plumb_counter_add("copies", 1);
    if (strcmp(extra, "launch") == 0)
        plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    if (strcmp(extra, "allocation") == 0)
        allocate(memory + 1, 4097);
}

int main(int argc, char **argv)
{
    extra = argc > 1 ? argv[1] : "";
    PLUMB_STAGE(decode, "decode");
    /* Only said to be allocated. */
    plumb_mem_alloc("gpu", "pool", &extra, strcmp(extra, "grow") == 0 ? 7823000000u : 2955000000u);
    for (int i = 0; i < 30; i++)
        layer(i);
    plumb_mem_free("gpu", "pool", &extra, 0);
    return 0;
}
END
build_linked host.c host
cat >counts.rules <<'END'
[one native call a layer]
metric = user
node = layer
name = native
per = call
limit = == 1
why = the layers are fused

[copies]
metric = user
node = *
name = copies
limit = == old

[allocations]
metric = user
node = layer
name = allocations
per = call
limit = == 1

[launches]
metric = launches
node = layer
per = call
limit = == 1

[blocks]
metric = allocations
node = layer
name = cpu/*
limit = == old

[buffers]
metric = peak_allocated
node = *
name = gpu/*
limit = <= old + 5 %
floor = 256 MB

[bytes]
metric = peak_bytes
node = decode
name = cpu/*
limit = <= old
END
record() {
    run=$1
    shift
    rm -rf "$run"
    PLUMB_COLLECT=fake PLUMB_CLOCK=virtual PLUMB_QUIET=1 PLUMB=1 PLUMB_RUN_DIR=$PWD/$run ./host "$@" >/dev/null 2>record.txt ||
        fail "the program failed: $(cat record.txt)"
}
record old
# Two processes that keep the machine busy meanwhile.
for _ in 1 2; do
    sh -c 'while :; do :; done' &
    busy="${busy-} $!"
done
trap 'kill $busy 2>/dev/null' EXIT
i=0
while [ "$i" -lt "${TEST_GATES:-10}" ]; do
    record new
    expect "unchanged, $i" 0 "$PLUMB_BIN" gate counts.rules new --old old
    i=$((i + 1))
done
[ "$failures" = 0 ] || cat out.txt >&2
for extra in dispatch copy launch allocation grow; do
    record new $extra
    expect "an extra $extra" 1 "$PLUMB_BIN" gate counts.rules new --old old
    case $extra in
    dispatch) has out.txt 'regression: one native call a layer (counts.rules:1): layer, native: user is 31, limit == 1; in 30 runs' ;;
    copy) has out.txt 'regression: copies (counts.rules:9): layer, copies: user is 31, was 30' ;;
    launch) has out.txt 'launches (counts.rules:22): layer: launches is 31, limit == 1; in 30 runs' ;;
    allocation) has out.txt 'regression: allocations (counts.rules:15): layer, allocations: user is 31, limit == 1; in 30 runs' \
        'regression: blocks (counts.rules:28): layer, cpu/pool: allocations is 31, was 30' \
        'regression: bytes (counts.rules:41): decode, cpu/pool: peak_bytes is 4097 B, was 4096 B' ;;
    grow) has out.txt 'regression: buffers (counts.rules:34): decode, gpu/pool: peak_allocated is 7823 MB, was 2955 MB (+164.7 %)' ;;
    esac
done
# A copy more, as the counts of a collector have it.
"$PLUMB_BIN" report counts old --format json -o old.json || fail 'no counts'
jq '.counts += [{pipeline: "host", phase: "inference", node: "layer", step: null, kind: "copies", name: "q", calls: 3, value: 3,
    runs: 30}]' old.json >copies.json
jq '(.counts[] | select(.kind == "copies") | .value) = 4' copies.json >copied.json
printf '[copies]\nmetric = copies\nnode = layer\nlimit = == old\n' >copies.rules
expect 'no extra copy' 0 "$PLUMB_BIN" gate copies.rules copies.json --old copies.json
expect 'an extra copy' 1 "$PLUMB_BIN" gate copies.rules copied.json --old copies.json
has out.txt 'copies is 4, was 3'
# Without the kind in any node, 0 cannot be told from not counted.
printf '[none]\nmetric = copies\nnode = layer\nlimit = == 0\n' >none.rules
expect 'not counted' 3 "$PLUMB_BIN" gate none.rules old
finish
