#!/bin/sh
# timeout: 900
# Rules on counts over recordings of one program: unchanged code never fails, however busy the machine is (10 times, or
# TEST_GATES), and one extra dispatch, copy, launch or allocation fails every time and is named.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >host.c <<'END'
#include <stdlib.h>
#include <string.h>

#include <plumb/collector.h>
#include <plumb/fake.h>
#include <plumb/plumb.h>

static const char *extra = "";

/* A device that copies at once. */
static plumb_lane lane;
static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.name = "copy engine";
    o.device = "dma:0";
    return plumb_lane_open(&lane, self, &o, err);
}

/* Work that moves `bytes`; with `flops` it is a kernel. */
static void work(int64_t bytes, int64_t flops)
{
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_event_arg args[2] = {{.key = plumb_name_get("bytes"), .type = 1, .value = {.i64 = bytes}},
                               {.key = plumb_name_get("flops"), .type = 1, .value = {.i64 = flops}}};
    static const plumb_clock host;
    plumb_origin origin;
    plumb_origin_capture(&origin, lane, 0);
    e.name = plumb_name_get("work");
    e.begin = e.end = plumb_host_ticks();
    e.origin = &origin;
    e.args = args;
    e.arg_count = flops ? 2 : 1;
    if (plumb_emit(lane, host, &e) < 0)
        abort();
}

static void allocate(char *address, size_t bytes)
{
    plumb_mem_alloc("cpu", "pool", address, bytes);
    plumb_mem_free("cpu", "pool", address, bytes);
}

static void layer(int i)
{
    static char memory[2];
    PLUMB_SPAN("layer");
    plumb_dispatch("sos");
    work(512, 0);
    work(512, 1024);
    plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    allocate(memory, 4096);
    if (i != 7)
        return;
    if (strcmp(extra, "dispatch") == 0)
        plumb_dispatch("sos");
    if (strcmp(extra, "copy") == 0)
        work(512, 0);
    if (strcmp(extra, "launch") == 0)
        plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    if (strcmp(extra, "allocation") == 0)
        allocate(memory + 1, 4097);
}

int main(int argc, char **argv)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    extra = argc > 1 ? argv[1] : "";
    ops.name = "dma";
    ops.start = start;
    plumb_collector_register(&ops, NULL, NULL);
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
[one dispatch a layer]
metric = dispatches
node = layer
name = sos
per = call
limit = == 1
why = the layers are fused

[copies]
metric = copies
node = *
name = dma:*
limit = == old

[copied]
metric = copy_bytes
node = layer
per = call
limit = == 512 B

[launches]
metric = launches
node = layer
name = fake:*
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
    PLUMB_COLLECT=fake,dma PLUMB_CLOCK=virtual PLUMB_QUIET=1 PLUMB=1 PLUMB_RUN_DIR=$PWD/$run ./host "$@" >/dev/null 2>record.txt ||
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
    dispatch) has out.txt 'regression: one dispatch a layer (counts.rules:1): layer, sos: dispatches is 31, limit == 1; in 30 runs' ;;
    copy) has out.txt 'regression: copies (counts.rules:9): layer, dma:0: copies is 31, was 30' \
        'regression: copied (counts.rules:15): layer: copy_bytes is 15872 B, limit == 512 B; in 30 runs' ;;
    launch) has out.txt 'regression: launches (counts.rules:21): layer, fake:0: launches is 31, limit == 1; in 30 runs' ;;
    allocation) has out.txt \
        'regression: blocks (counts.rules:28): layer, cpu/pool: allocations is 31, was 30' \
        'regression: bytes (counts.rules:41): decode, cpu/pool: peak_bytes is 4097 B, was 4096 B' ;;
    grow) has out.txt 'regression: buffers (counts.rules:34): decode, gpu/pool: peak_allocated is 7823 MB, was 2955 MB (+164.7 %)' ;;
    esac
done
# Without the kind in any node, 0 cannot be told from not counted.
printf '[none]\nmetric = calls\nnode = layer\nlimit = == 0\n' >none.rules
expect 'not counted' 3 "$PLUMB_BIN" gate none.rules old
finish
