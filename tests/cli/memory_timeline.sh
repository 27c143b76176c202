#!/bin/sh
# labels: plain, traces
# A memory timeline that PyTorch recorded (16845 allocations, releases and changes of category), replayed
# through the allocator interface with a pool for each category: after the 745th moment, and at the end,
# every pool holds what the timeline says, to the byte, and its peak is the timeline's.
set -eu

cat >replay.c <<'END'
#include <plumb/plumb.h>
#include <stdio.h>

/* Lines "a|f POOL ADDRESS BYTES"; "=" prints what the pools hold. */
int main(void)
{
    static const char *const pools[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    unsigned long long address, bytes;
    char what[4];
    int pool;
    plumb_checkpoint("begin");
    while (scanf("%3s", what) == 1) {
        if (what[0] == '=') {
            for (int i = 0; i < 8; i++) {
                plumb_memory m = {.size = sizeof m};
                plumb_memory_now(&m, "cuda:0", pools[i]);
                printf("%llu%s", (unsigned long long)m.allocated, i < 7 ? " " : "\n");
            }
            continue;
        }
        if (scanf("%d %llu %llu", &pool, &address, &bytes) != 3)
            return 1;
        if (what[0] == 'a')
            plumb_mem_alloc("cuda:0", pools[pool], (void *)(uintptr_t)address, bytes);
        else
            plumb_mem_free("cuda:0", pools[pool], (void *)(uintptr_t)address, bytes);
    }
    return 0;
}
END
$CC -std=c11 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" replay.c -o replay "$PLUMB_LIB" \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")"

cat >convert.py <<'END'
import gzip, json, sys
rows = json.loads(gzip.open(sys.argv[1]).read())
held, peak, blocks, next_address = [0] * 8, [0] * 8, {}, 4096
moments, out = 0, open("ops.txt", "w")
for i, (time, action, size, category) in enumerate(rows):
    if size >= 0 and action != 4:
        next_address += 4096
        blocks.setdefault((category, size), []).append(next_address)
        out.write(f"a {category} {next_address} {size}\n")
        held[category] += size
    else:
        address = blocks[(category, abs(size))].pop()
        out.write(f"f {category} {address} {abs(size)}\n")
        held[category] -= abs(size)
    peak[category] = max(peak[category], held[category])
    if i + 1 == len(rows) or rows[i + 1][0] != time:
        moments += 1
        if moments == 745 or i + 1 == len(rows):
            out.write("=\n")
assert len(rows) == 16845, len(rows)
json.dump({"held": held, "peak": peak}, open("want.json", "w"))
END
/usr/bin/python3 convert.py "$PLUMB_TRACES/hta/memory_analysis/memory_timeline.raw.gz"

PLUMB_RUN_DIR=$PWD/run PLUMB_QUIET=1 ./replay <ops.txt >got.txt
want='102440608 102228128 19395584 0 2618160128 58417152 41811968 25494440'
if [ "$(sed -n 1p got.txt)" != "$want" ]; then
    echo "the 745th moment is $(sed -n 1p got.txt), not $want" >&2
    exit 1
fi
/usr/bin/python3 - <<'END'
import json
want = json.load(open("want.json"))
got = [int(x) for x in open("got.txt").read().splitlines()[1].split()]
assert got == want["held"], (got, want["held"])
pools = json.load(open("run/timing.json"))["memory"]["pools"]
for p in pools:
    i = int(p["pool"])
    assert p["allocated_bytes"] == want["held"][i], p
    assert p["peak_allocated_bytes"] == want["peak"][i], (p, want["peak"][i])
    assert p["unknown_frees"] == 0 and p["untracked"] == 0, p
assert len(pools) == sum(peak > 0 for peak in want["peak"]), len(pools)
END
