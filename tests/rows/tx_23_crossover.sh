#!/bin/sh
# labels: plain
# TX-23: a sweep of both variants over sizes and element types finds the planted crossover of each type, and its file has
# the fields of a point.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >scan.c <<'END'
#include <stdlib.h>
#include <string.h>
/* scan sequential|parallel SIZE TYPE: the sequential one costs its size, the parallel one a start and an eighth of it;
 * the start is dear for f32. */
int main(int argc, char **argv)
{
    volatile double sum = 0;
    double size = argc > 3 ? atof(argv[2]) : 0, start = strcmp(argv[3], "f32") ? 5 : 60;
    double cost = strcmp(argv[1], "parallel") ? size : start + size / 8;
    for (double i = 0; i < cost * 1e5; i++)
        sum += i;
    return 0;
}
END
$CC -O1 -o scan scan.c || exit 1
expect 'a sweep' 0 "$PLUMB_BIN" ab --rounds 18 --sweep T=1,20,200 --types f64,f32 --out . --name threshold-cpu --host h1 \
    --field channels=2 --field device=cpu --field sections=6 --field fs=48000 -- \
    ./scan sequential '{T}' '{type}' ::: ./scan parallel '{T}' '{type}'
has out.txt 'crossover of f64: B is faster from T = 20 on' 'crossover of f32: B is faster from T = 200 on'
jq -e '[.benchmarks[] | select(.aggregate_name == "median")] |
    all(.channels == "2" and .device == "cpu" and .sections == "6" and .fs == "48000" and .samples == 18 and
        .min_us > 0 and .median_us >= .min_us and .p95_us >= .median_us) and
    ([.[] | select(.dtype == "f64") | [.T, .parallel_threshold]] | unique) == [[1, 20], [20, 20], [200, 20]] and
    ([.[] | select(.dtype == "f32") | .parallel_threshold] | unique) == [200]' threshold-cpu-h1.json >/dev/null ||
    fail "points: $(jq -c '.benchmarks[] | select(.aggregate_name == "median")' threshold-cpu-h1.json)"
finish
