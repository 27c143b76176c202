#!/bin/sh
# labels: plain
# plumb ab: variants measured in turn, decided by rules; sweeps and element types; the files that it writes. The variants
# differ by so much that few machines are too busy to tell; there it is tried again.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
ab() {
    "$PLUMB_BIN" ab "$@"
}
# A program that needs as much processor time as its argument says, and one that records a node.
cat >spin.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    volatile double sum = 0;
    double work = atof(argv[1]);
    if (argc > 2 && strcmp(argv[2], "f32") == 0)
        work /= 8;
    for (double i = 0; i < work * 4e4; i++)
        sum += i;
    return argc > 3 ? atoi(argv[3]) : 0;
}
END
$CC -O1 -o spin spin.c || exit 1
build_linked "$PLUMB_SOURCE_DIR/tests/cli/_prog.c" prog

# ---- Decisions -----------------------------------------------------------------------------------
decided 'much slower' 1 ab --rounds 18 -- ./spin 1 ::: ./spin 100
has out.txt 'Gate built-in: regression' 'B against A' 'wall_clock' '<= old + 5 %'
decided 'much faster' 0 ab --rounds 18 -- ./spin 100 ::: ./spin 1
has out.txt 'Gate built-in: pass'
printf "[any]\nmetric = wall_clock\nlimit = <= old * 1000\n" >any.rules
cat >g.rules <<'END'
[cpu]
metric = cpu_time
limit = < old * 0.5
rounds = 18
[frames]
metric = runs
node = frame
limit = == old
[frame]
metric = time
node = frame
limit = <= old * 1000
rounds = 6
END
decided 'one rule of a file' 0 ab --rule g.rules:cpu -- ./spin 400 ::: ./spin 1
has out.txt 'cpu_time'
expect 'no such rule' 2 ab --rule g.rules:none -- ./spin 1 ::: ./spin 1
expect 'a rule about recordings' 0 ab --rule g.rules:frames --rounds 6 -- ./prog ::: ./prog
has out.txt 'frames' '20'
expect 'a time of recordings' 0 ab --rule g.rules:frame -- ./prog ::: ./prog
expect 'a node' 2 ab --node nothing --rounds 6 -- ./prog ::: ./prog
has err.txt "the recording has no time of node 'nothing'"
expect 'medians of a node' 0 ab --node frame --types f32,f64 --rounds 6 --out noded --host h --rule any.rules -- ./prog print {type}
expect 'their error' 0 jq -e '[.benchmarks[] | select(.run_type == "iteration").plumb.resolution > 0.0077] | length == 12 and all' \
    noded/ab-h.json

# ---- What is refused -----------------------------------------------------------------------------
expect 'no commands' 2 ab
has err.txt 'wants two commands: -- A... ::: B...'
expect 'one command' 2 ab -- ./spin 1
expect 'nothing after :::' 2 ab -- ./spin 1 :::
expect 'a command that fails' 2 ab --rounds 6 -- ./spin 1 ::: ./spin 1 f64 3
has err.txt 'B ended with status 3: nothing is compared'
expect 'a command that is not there' 2 ab --rounds 6 -- ./nothing ::: ./spin 1
has err.txt 'cannot be started'
expect 'a command that is killed' 2 ab --rounds 6 -- sh -c 'kill -9 $$' ::: ./spin 1
has err.txt 'A was ended by signal 9: nothing is compared'

# ---- Input, and the end by a signal --------------------------------------------------------------
cat >reads.sh <<'END'
[ "$(cat)" = "$1" ]
END
printf 'first\nrest' >input.txt
expect 'a file as input, for each run' 0 ab --rounds 6 --rule any.rules -- sh ./reads.sh "$(cat input.txt)" ::: \
    sh ./reads.sh "$(cat input.txt)" <input.txt
expect 'from where the shell left it' 0 sh -c 'read -r line; "$1" ab --rounds 6 --rule any.rules -- sh ./reads.sh rest ::: \
    sh ./reads.sh rest' sh "$PLUMB_BIN" <input.txt
echo text | expect 'no input of a pipe, which the first run would take' 0 ab --rounds 6 --rule any.rules -- sh ./reads.sh '' ::: \
    sh ./reads.sh ''
mkdir own
TMPDIR=$PWD/own "$PLUMB_BIN" ab -- sh -c 'touch started; exec sleep 100' ::: true 2>stop.txt &
while [ ! -e started ]; do sleep 0.05; done
kill -TERM $!
wait $!
status=$?
[ $status = 143 ] || fail "SIGTERM: status $status: $(cat stop.txt)"
[ -z "$(ls -A own)" ] || fail "SIGTERM left $(ls own)"

expect 'sizes that no command takes' 2 ab --sweep n=1,2 -- true n ::: true {type}
has err.txt 'no command has {n}, so it would be the same for each'
expect 'types that no command takes' 2 ab --types f64,f32 -- true type
has err.txt 'no command has {type}'
expect 'one type twice' 2 ab --types f64,f64 -- true {type}
has err.txt "--types takes each name once, not 'f64'"
expect 'a falling sweep' 2 ab --sweep n=3,2 -- ./spin {n} ::: ./spin {n}
has err.txt '--sweep takes NAME=N,N,... in rising order'
for sweep in n n= =3 n=x n=3.. n=3..2 n=0 n=1,,2 n=1..2x n=1,18446744073709551616 n=1..99999999999999999999; do
    expect "sweep $sweep" 2 ab --sweep $sweep -- true {n} ::: true {n}
    has err.txt '--sweep takes NAME=N,N,... in rising order'
done
expect 'rounds' 2 ab --rounds 5 -- ./spin 1 ::: ./spin 1
expect 'a host with a slash' 2 ab --host a/b -- ./spin 1 ::: ./spin 1
expect 'a field without a key' 2 ab --field x -- ./spin 1 ::: ./spin 1

# ---- Files ---------------------------------------------------------------------------------------
cat >loose.rules <<'END'
[loose]
metric = wall_clock
limit = <= old * 1000
END
for host in h1 h2; do
    expect "files of $host" 0 ab --rounds 6 --out res --name cpu --host $host --field fs=48000 --rule loose.rules -- \
        ./spin 1 ::: ./spin 1
done
[ "$(ls res | tr '\n' ' ')" = 'cpu-h1.json cpu-h2.json summary.csv summary.txt ' ] || fail "files: $(ls res)"
[ "$(grep -c 'cpu-h[12].json' res/summary.csv)" = 4 ] || fail "summary: $(cat res/summary.csv)"
has res/summary.txt 'Benchmark' 'res/cpu-h2.json'
head -1 res/summary.csv | grep -q 'extra.fs' || fail "no fields: $(head -1 res/summary.csv)"
jq -e '.context.host_name == "h1" and .plumb.ab.in_turn and ([.benchmarks[] | select(.run_type == "iteration")] | length) == 12 and
    ([.benchmarks[] | select(.aggregate_name == "median")] | length == 2 and all(.samples == 6 and .p95_us >= .median_us and
        .median_us >= .min_us and .fs == "48000"))' res/cpu-h1.json >/dev/null || fail "samples: $(cat res/cpu-h1.json)"
expect 'a gate on the samples' 0 "$PLUMB_BIN" gate loose.rules res/cpu-h1.json
has out.txt 'wall_clock'

printf '[size]\nmetric = time\nnode = n:2/f32\nlimit = <= old * 1000\n' >size.rules
expect 'files of a sweep' 0 ab --rounds 6 --out sizes --host h1 --sweep n=1,2 --types f32,f64 --rule size.rules -- \
    ./spin 1 {n} {type} ::: ./spin 1 {n} {type}
expect 'a gate on one size' 0 "$PLUMB_BIN" gate size.rules sizes/ab-h1.json --format json
jq -e '.checks | length == 1 and .[0].node == "n:2/f32" and .[0].statistics.new_samples == 6' out.txt >/dev/null ||
    fail "$name: $(cat out.txt)"

# ---- Sweeps --------------------------------------------------------------------------------------
cat >cross.rules <<'END'
[crossover]
metric = crossover
limit = <= 100
why = below this size the fast path is not worth its start
END
# A costs its size, B a tenth of that and a start.
cat >b.sh <<'END'
exec ./spin "$(awk "BEGIN { print 30 + $1 / 10 }")"
END
# The rule needs the crossover alone; on a busy machine it is decided before the smallest size is.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    decided 'a sweep' 0 ab --rounds 18 --sweep n=1,100 --rule cross.rules --out sweep --host h -- ./spin '{n}0' ::: sh ./b.sh '{n}0'
    grep -q 'cannot tell' out.txt || break
done
has out.txt 'crossover: B is faster from n = 100 on' 'pass' 'slower' 'faster'
jq -e '[.benchmarks[] | select(.aggregate_name == "median") | [.T, .parallel_threshold]] ==
    [[1, 100], [1, 100], [100, 100], [100, 100]]' sweep/ab-h.json >/dev/null || fail "sweep: $(cat sweep/ab-h.json)"
sed 's/<= 100/<= 10/' cross.rules >low.rules
decided 'a crossover beyond its limit' 1 ab --rounds 18 --sweep n=1,100 --rule low.rules -- ./spin '{n}0' ::: sh ./b.sh '{n}0'
expect 'no crossover' 3 ab --rounds 18 --sweep n=1,2 --rule cross.rules -- ./spin '{n}' ::: ./spin '{n}00'
has out.txt 'crossover: none' 'B is not faster at the largest size'
expect 'a range' 0 ab --rounds 6 --sweep n=256..32768 -- true {n} ::: true {n}
[ "$(awk '$1 ~ /^[0-9]+$/ { print $1 }' out.txt | tr '\n' ' ')" = '256 341 453 603 802 1067 1419 1888 2511 3341 4444 5912 7865 10463 13918 18516 24632 32768 ' ] ||
    fail "range: $(cat out.txt)"

# ---- Element types -------------------------------------------------------------------------------
decided 'two types' 0 ab --rounds 18 --types f64,f32 -- ./spin 100 {type}
has out.txt 'f32 beats f64: '
awk '$1 == "0" { ok = ($2 / $3 - $4 < 0.01 && $4 - $2 / $3 < 0.01 && $4 > 2) } END { exit !ok }' out.txt ||
    fail "the speed-up is not the ratio of the medians: $(cat out.txt)"
decided 'the slower type' 1 ab --rounds 18 --types f32,f64 -- ./spin 100 {type}
has out.txt 'f64 does not beat f32: 0.'
finish
