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
