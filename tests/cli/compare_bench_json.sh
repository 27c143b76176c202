#!/bin/sh
# plumb compare on benchmark files of our own: verdicts, exit status, and what is refused.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_history.sh"
compare() {
    "$PLUMB_BIN" compare "$@"
}
google a.json 1 decode=1000 encode=5000
google slow.json 2 decode=1100 encode=5000
expect 'slower' 1 compare a.json slow.json
has out.txt 'decode' 'U Test, Repetitions: 3 vs 3' 'worse: decode +10.0 %' 'OVERALL_GEOMEAN'
expect 'faster' 0 compare slow.json a.json
has out.txt 'better: decode -9.1 %'
expect 'equal' 0 compare a.json a.json
expect 'threshold' 0 compare --threshold 20 a.json slow.json
expect 'any difference' 1 compare --threshold 0 a.json slow.json
expect 'csv' 1 compare --format csv a.json slow.json
has out.txt 'benchmark,unit,time_a,time_b,time_percent'
expect 'md' 1 compare --format md a.json slow.json
has out.txt '| worse |'
# Nine repetitions that overlap: beyond the threshold, and the test cannot tell.
jq -n '{context: {}, benchmarks: [range(9) | {name: "x", real_time: (100 + 40 * (. % 3)), cpu_time: 1, time_unit: "ns"}]}' >noisy_a.json
jq -n '{context: {}, benchmarks: [range(9) | {name: "x", real_time: (112 + 38 * ((. * 2) % 3)), cpu_time: 1, time_unit: "ns"}]}' >noisy_b.json
expect 'unclear' 0 compare --threshold 5 noisy_a.json noisy_b.json
has out.txt 'unclear: x'
lacks out.txt WARNING
# Interleaved at random: families come in their order, repetitions before aggregates, and are paired by number.
jq -n '[range(3) as $family | range(3) as $i | {name: "f\($family)", run_type: "iteration", family_index: $family,
    per_family_instance_index: 0, repetition_index: $i, real_time: (100 * $family + $i + 1), cpu_time: 1, time_unit: "ns"}] +
    [{name: "f0_mean", run_type: "aggregate", aggregate_name: "mean", family_index: 0, per_family_instance_index: 0,
    real_time: 2, cpu_time: 1, time_unit: "ns"}] | {context: {}, benchmarks: .}' >order.json
jq '.benchmarks |= [.[9, 7, 2, 4, 0, 8, 5, 1, 6, 3]]' order.json >shuffled.json
expect 'interleaved at random' 0 compare --threshold 0 shuffled.json order.json
lines=$(awk 'NR > 2 && $1 !~ /_pvalue/ {printf "%s %s,", $1, $2}' out.txt)
[ "$lines" = 'f0 +0.0000,f0 +0.0000,f0 +0.0000,f0_mean +0.0000,f1 +0.0000,f1 +0.0000,f1 +0.0000,f2 +0.0000,f2 +0.0000,f2 +0.0000,OVERALL_GEOMEAN +0.0000,' ] ||
    fail "$name: $lines"
# From nine repetitions a side on, p is that of compare.py, which does not count it out (0.0244).
jq -n 'def bench(v): {context: {}, benchmarks: [v[] | {name: "ü", real_time: ., cpu_time: ., time_unit: "ns"}]};
    bench([1, 2, 3, 4, 5, 6, 7, 8, 9.5])' >nine_a.json
jq '.benchmarks |= [[., [4.5, 5.5, 6.5, 7.5, 8.5, 10, 11, 12, 13]] | transpose[] | .[0] + {real_time: .[1], cpu_time: .[1]}]' \
    nine_a.json >nine_b.json
expect 'nine repetitions' 1 compare nine_a.json nine_b.json
has out.txt 'ü_pvalue                        0.0273          0.0273      U Test, Repetitions: 9 vs 9'
# A time of 0 has no logarithm: compare.py then has no geometric mean, and a narrower first column.
jq '.benchmarks[0] |= . + {real_time: 0, cpu_time: 0}' nine_a.json >zero.json
expect 'no geometric mean' 0 compare --threshold 1000 zero.json nine_a.json
lacks out.txt GEOMEAN
has out.txt 'ü_pvalue                '
[ "$(sed -n 2p out.txt | tr -d '\n' | wc -c)" = 104 ] || fail "$name: $(cat out.txt)"
# Thousands of benchmarks fit into little memory.
jq -n '{context: {}, benchmarks: [range(6000) | {name: "b\(.)", real_time: ., cpu_time: 1, time_unit: "ns"}]}' >thousands.json
[ "$PLUMB_BUILD_KIND" != plain ] || expect 'thousands of benchmarks' 0 sh -c 'ulimit -v 500000; "$1" compare --format csv thousands.json thousands.json' sh "$PLUMB_BIN"
expect 'no common benchmark' 2 compare a.json noisy_a.json
has err.txt 'no benchmark has the same name and time unit in both files'
expect 'a filter' 0 compare --filter-a '^en' --filter-b '^de' a.json a.json
has out.txt '.code' '-0.7998'
expect 'not a filter' 2 compare --filter-a '(' --filter-b x a.json a.json
has err.txt "'(' is not a regular expression"
expect 'one filter' 2 compare --filter-a x a.json a.json
expect 'a run and a benchmark' 2 compare a.json foreign.json
mkdir runs
expect 'options of runs' 2 compare --by mean a.json slow.json
has err.txt '--by is for runs, not for files of benchmarks'
expect 'options of benchmarks' 2 compare --aggregates missing_a missing_b
expect 'to a file' 1 compare -o out.md --format md a.json slow.json
[ -s out.md ] || fail 'no file'
expect 'not over an input' 2 compare -o a.json a.json slow.json
finish
