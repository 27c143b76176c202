#!/bin/sh
# labels: plain
# A buffer that has grown from 2955 to 7823 MB, while no stage became slower, makes `plumb compare` end with
# status 1 and name the pool that it came from; the same run twice does not.
set -eu

cat >runner.c <<'END'
#include <plumb/plumb.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    uint64_t bytes = strtoull(argv[argc - 1], NULL, 10) << 20;
    plumb_node node = plumb_node_get("compute");
    PLUMB_STAGE(stage, "vae_decode");
    plumb_mem_reserve("cuda:0", "vae_runner", (void *)4096, bytes);
    plumb_mem_alloc("cuda:0", "vae_runner", (void *)4096, bytes);
    plumb_record_ns(node, 1000000000);
    plumb_mem_free("cuda:0", "vae_runner", (void *)4096, bytes);
    plumb_mem_release("cuda:0", "vae_runner", (void *)4096, bytes);
    plumb_span_abandon(stage); /* its time is nobody's business here */
    return 0;
}
END
$CC -std=c11 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" runner.c -o runner "$PLUMB_LIB" \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")"
for megabytes in 2955 7823; do
    PLUMB_RUN_DIR=$PWD/run-$megabytes PLUMB_QUIET=1 PLUMB_MEMORY=off ./runner "$megabytes"
done

status=0
"$PLUMB_BIN" compare run-2955 run-7823 --threshold 50 >grown.txt || status=$?
if [ "$status" != 1 ] || ! grep -Eq 'allocated.*vae_runner.*2955.000 +7823.000.*worse' grown.txt; then
    cat grown.txt >&2
    echo "status $status, or the pool's growth is not told" >&2
    exit 1
fi
cp -r run-2955 run-again
"$PLUMB_BIN" compare run-2955 run-again >same.txt || {
    cat same.txt >&2
    echo "the same figures are told to be worse" >&2
    exit 1
}
