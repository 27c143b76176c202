#!/bin/sh
# plumb report memory --format svg: the golden picture, valid XML whatever the report holds, one
# request, nothing measured, and a real run.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
report() {
    "$PLUMB_BIN" report memory --format svg "$@"
}
check() {
    "$PLUMB_SOURCE_DIR/tests/cli/_check_svg.py" "$@" >counts.txt 2>check.txt ||
        fail "$name: $(tail -n 1 check.txt)"
}
cp "$data/served.json" "$data/golden.json" .

expect 'the golden picture' 0 report served.json
check out.txt
cmp -s out.txt "$data/served_memory.svg" ||
    fail "the picture differs: $(diff out.txt "$data/served_memory.svg" | head -n 20)"
has counts.txt '3 runs, 9 marks'
has out.txt 'memory of cuda:0' 'peak 300.0 MiB' '200.0 MiB frame' '100.0 MiB bad\xff name' \
    'after_frame' 'request bad\xff id' 'loaded (baseline)' 'frame: 20.00 ms'
# The check itself finds what is wrong.
for fault in 's/ cx="[0-9.]*"/ cx="1300"/' 's/ d="M/ d="V9999 M/' 's/ y1="[0-9.]*"/ y1="-nan"/' \
    '0,/ class="r"><title>.*<rect x="[0-9.]*"/s/<rect x="[0-9.]*"/<rect x="566"/'; do
    sed -E "$fault" out.txt >fault.svg
    "$PLUMB_SOURCE_DIR/tests/cli/_check_svg.py" fault.svg >counts.txt 2>check.txt &&
        fail "the check of pictures misses '$fault'"
done

expect 'one request' 0 report --request cat served.json
check out.txt
has out.txt 'Only the time of request cat'
has counts.txt '1 runs'
lacks out.txt 'request bad\xff id'
expect 'no such request' 2 report --request dog served.json
has err.txt "plumb report: no request 'dog' among the 3 of the run"
expect 'no requests' 2 report --request dog golden.json
has err.txt "no request 'dog': the run has none"
expect 'phase' 0 report --phase val served.json
check out.txt
has counts.txt '0 runs'
expect 'nothing measured' 0 report golden.json
check out.txt
has out.txt 'No memory was measured: record with PLUMB_MEMORY=stages (or all)'
expect 'no such form' 2 "$PLUMB_BIN" report memory --format xml served.json
[ "$(wc -l <err.txt)" = 1 ] || fail 'more than one line'

# Sizes and times that no process has, more devices and pools than there are panels and colours.
expect 'made by hand' 0 /usr/bin/python3 - <<'END'
import json

served = json.load(open("served.json"))
memory = served["memory"]


def pool(device, name, **more):
    return dict(memory["pools"][0], device=device, pool=name, **more)


def series(index, points):
    return {"index": index, "device": None, "pool": None, "points": points}


def write(path, pools, lines, **more):
    json.dump(dict(served, memory=dict(memory, pools=pools, series=lines, checkpoints=[]), **more),
              open(path, "w"))


most = 2**63 - 1
rest = memory["pools"][1:]
write("huge.json", [pool("cuda:0", "<b>&amp;", peak_at_ns=most, peak_allocated_bytes=most)] + rest,
      [series(None, [[0, 0, 0], [1, most, 0], [most, most, 0]]), series(0, [[most, most, most]])])
write("empty.json", [pool("", "", peak_allocated_bytes=0)] * 3, [series(None, []), series(0, [])])
write("many.json", [pool(f"d{i % 40}\x01", f"p{i}") for i in range(400)],
      [series(i, [[k * 1000, (k * 7919) % 1000003, 10**6] for k in range(3000)])
       for i in range(0, 400, 3)])
run = served["stage_runs"][0]
write("crowd.json", memory["pools"], [series(None, [[0, 1, 0]])], wall_clock_ns=0, stage_runs=[
    dict(run, tid=i % 50, begin_ns=i * 1000, duration_ns=(i * 7919) % 100000) for i in range(4096)])
END
for file in huge empty many crowd; do
    expect "$file" 0 report -o $file.svg $file.json
    check $file.svg
done
has many.svg 'pools are not drawn: there are more than 16 devices'
has crowd.svg 'runs of stages are not drawn'
[ "$(wc -c <many.svg)" -lt 4000000 ] || fail "the picture has $(wc -c <many.svg) bytes"

# A real run: stages on two threads, a pool, checkpoints. (A sanitizer would have to be in it too.)
[ "$PLUMB_BUILD_KIND" = plain ] || finish
[ "$PLUMB_BUILD_KIND" = plain ] || exit 0
cat >prog.c <<'END'
#include <plumb/plumb.h>
#include <pthread.h>
static void *other(void *arg)
{
    PLUMB_STAGE(stage, "prefetch");
    return arg;
}
int main(void)
{
    pthread_t thread;
    static char block[64];
    PLUMB_STAGE(stage, "denoise");
    plumb_mem_alloc("cuda:0", "caching", block, 1 << 20);
    plumb_checkpoint("loaded");
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    return 0;
}
END
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog \
    -L"$(dirname "$PLUMB_LIB")" -lplumb -Wl,-rpath,"$(dirname "$PLUMB_LIB")" -lpthread || exit 1
expect 'record' 0 "$PLUMB_BIN" record --run-dir run -- ./prog
expect 'a real run' 0 report -o run.svg run
check run.svg
has counts.txt '2 runs'
has run.svg 'memory of cuda:0' 'memory of the host' 'resident set: the highest sample is' \
    'peak allocated 1.0 MiB' '1.0 MiB denoise' 'title>loaded' 'while running: denoise'
finish
