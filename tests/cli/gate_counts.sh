#!/bin/sh
# timeout: 900
# Rules on counts over recordings of one program: unchanged code never fails, however busy the machine is (10 times, or
# TEST_GATES), and one extra dispatch, copy, launch, wait, allocation, block of malloc, call of a library or user count
# fails every time and is named.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >host.c <<'END'
#include <stdlib.h>
#include <string.h>

#include <plumb/collector.h>
#include <plumb/fake.h>
#include <plumb/plumb.h>

void called(void); /* of a library */

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
    void *volatile kept;
    PLUMB_SPAN("layer");
    plumb_dispatch("sos");
    work(512, 0);
    work(512, 1024);
    uint64_t kernel = plumb_fake_enqueue(0, 0, "kernel", 1000);
    plumb_fake_wait(kernel);
    allocate(memory, 4096);
    plumb_counter_add("tokens", 16);
    called();
    kept = malloc(100);
    free(kept);
    if (i != 7)
        return;
    if (strcmp(extra, "dispatch") == 0)
        plumb_dispatch("sos");
    if (strcmp(extra, "copy") == 0)
        work(512, 0);
    if (strcmp(extra, "launch") == 0)
        plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000));
    if (strcmp(extra, "wait") == 0)
        plumb_fake_wait(kernel);
    if (strcmp(extra, "allocation") == 0)
        allocate(memory + 1, 4097);
    if (strcmp(extra, "malloc") == 0) {
        kept = malloc(100);
        free(kept);
    }
    if (strcmp(extra, "call") == 0)
        called();
    if (strcmp(extra, "user") == 0)
        plumb_counter_add("tokens", 1);
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
printf 'void called(void);\nvoid called(void)\n{\n}\n' >called.c
$CC -fPIC -shared called.c -o libcalled.so || exit 1
build_linked host.c host libcalled.so "-Wl,-rpath,$PWD"
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

[waits]
metric = synchronisations
node = layer
limit = == old

[tokens]
metric = user
node = layer
name = tokens
limit = == old

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
for extra in dispatch copy launch wait user allocation grow; do
    record new $extra
    expect "an extra $extra" 1 "$PLUMB_BIN" gate counts.rules new --old old
    case $extra in
    dispatch) has out.txt 'regression: one dispatch a layer (counts.rules:1): layer, sos: dispatches is 31, limit == 1; in 30 runs' ;;
    copy) has out.txt 'regression: copies (counts.rules:9): layer, dma:0: copies is 31, was 30' \
        'regression: copied (counts.rules:15): layer: copy_bytes is 15872 B, limit == 512 B; in 30 runs' ;;
    launch) has out.txt 'regression: launches (counts.rules:21): layer, fake:0: launches is 31, limit == 1; in 30 runs' ;;
    wait) has out.txt 'regression: waits (counts.rules:28): layer: synchronisations is 31, was 30' ;;
    user) has out.txt 'regression: tokens (counts.rules:33): layer, tokens: user is 481, was 480' ;;
    allocation) has out.txt \
        'regression: blocks (counts.rules:39): layer, cpu/pool: allocations is 31, was 30' \
        'regression: bytes (counts.rules:52): decode, cpu/pool: peak_bytes is 4097 B, was 4096 B' ;;
    grow) has out.txt 'regression: buffers (counts.rules:45): decode, gpu/pool: peak_allocated is 7823 MB, was 2955 MB (+164.7 %)' ;;
    esac
done

# Blocks of malloc, and calls of a library that is not rebuilt: where there are interposers.
if [ "$PLUMB_BUILD_KIND" = plain ] && [ -e "$(dirname "$PLUMB_LIB")/libplumb-count.so" ]; then
    cat >interposed.rules <<'END'
[malloc]
metric = allocations
node = layer
name = cpu/malloc
per = call
limit = == 1

[bytes of malloc]
metric = allocated_bytes
node = layer
name = cpu/malloc
limit = == old

[called]
metric = calls
node = layer
name = libcalled.so:called
limit = == old
END
    interposed() {
        run=$1
        shift
        rm -rf "$run"
        PLUMB_COLLECT=fake,dma PLUMB_CLOCK=virtual "$PLUMB_BIN" record --quiet --malloc --count 'libcalled.so:*' --run-dir "$run" \
            -- ./host "$@" >/dev/null 2>record.txt || fail "the program failed: $(cat record.txt)"
    }
    interposed with
    interposed new
    expect 'unchanged, interposed' 0 "$PLUMB_BIN" gate interposed.rules new --old with
    for extra in malloc call; do
        interposed new $extra
        expect "an extra $extra" 1 "$PLUMB_BIN" gate interposed.rules new --old with
        case $extra in
        malloc) has out.txt 'regression: malloc (interposed.rules:1): layer, cpu/malloc: allocations is 31, limit == 1; in 30 runs' \
            'regression: bytes of malloc (interposed.rules:8): layer, cpu/malloc: allocated_bytes is' ;;
        call) has out.txt 'regression: called (interposed.rules:14): layer, libcalled.so:called: calls is 31, was 30' ;;
        esac
    done
fi
# Without the kind in any node, 0 cannot be told from not counted.
printf '[none]\nmetric = calls\nnode = layer\nlimit = == 0\n' >none.rules
expect 'not counted' 3 "$PLUMB_BIN" gate none.rules old
finish
