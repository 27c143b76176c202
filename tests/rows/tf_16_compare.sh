#!/bin/sh
# TF-16: two reports compare over the union of their nodes. Markers begin beyond 5 % either way, not at it; a
# node that one side lacks is 0; a baseline of 0 is never divided by; peak memory is a row with real values.
#
# The goldens of tests/cli/data/compare.* are those of the two runs below; each figure in them was
# counted out: 10.5 of 10 is +5 % and stays unmarked, 1051 of 1000 is +5.1 %, 94.9 of 100 is -5.1 %.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
mib=1048576

make_run a.json 0 2000 $((100 * mib)) -- decode:10:10 denoise:1:1000 sample:100:0.004 old:3:50 vae:2:100
make_run b.json 1 2100.5 $((110 * mib)) -- fresh:1:20 decode:10:10.5 denoise:1:1051 sample:120:0.004 vae:2:94.9

for format in text md csv json; do
    expect "$format" 1 "$PLUMB_BIN" compare --format $format a.json b.json
    cmp "$data/compare.$format" out.txt || fail "$format differs from its golden"
done

# row NAME COLUMN...: these columns of the line of NAME are these, in CSV.
"$PLUMB_BIN" compare --format csv a.json b.json >rows.csv 2>err.txt
row() {
    name="row $1"
    got=$(awk -F, -v name="$1" '$1 == name || $3 == name { print $6, $7, $8, $9, $23, $24 }' rows.csv)
    [ "$got" = "$2" ] || fail "$1 is '$got', not '$2'"
}
row wall_clock '2000 2100.5 100.5 5.025 worse '
row stages '1450.4 1366.28 -84.12 -5.799779371207943 better '
row peak_rss '104857600 115343360 10485760 10 worse '
row decode '10 10.5 0.5 5 same '
row denoise '1000 1051 51 5.1 worse '
row sample '0.004 0.004 0 0 same '
row old '50 0 -50  gone a'
row vae '100 94.9 -5.1 -5.1 better '
row fresh '0 20 20  new b'
name='order of first sight'
[ "$(sed -n '5,$p' rows.csv | cut -d, -f3 | tr '\n' ' ')" = 'decode denoise sample old vae fresh ' ] ||
    fail "the nodes stand in another order: $(cat rows.csv)"

expect 'another threshold' 0 "$PLUMB_BIN" compare --threshold 11 a.json b.json
lacks out.txt worse
make_run less.json 2 1800 $((90 * mib)) -- decode:10:9 denoise:1:900
expect 'improvement alone' 0 "$PLUMB_BIN" compare a.json less.json
has out.txt '5 better, 3 gone'
expect 'the other way round' 1 "$PLUMB_BIN" compare b.json a.json
has out.txt 'Peak memory (MiB)                                         110.000     100.000     -10.000    -9.09  better'

# Repeats: a node is worse by threshold and by test; one that is noisy is not.
mkdir old new
for i in 1 2 3 4 5; do
    make_run old/$i.json "1$i" "200$i" "$mib" -- steady:2:10."$i" noisy:1:$((i * 100))
    make_run new/$i.json "2$i" "200$i" "$mib" -- steady:2:11."$i" noisy:1:$((i * 115))
done
expect 'repeats' 1 "$PLUMB_BIN" compare --format json --a old/*.json --b new/*.json
# Of the 252 orders of 5 and 5 runs 2 separate them as far: p is 2 / 252. The medians are those of
# the third runs. 1 of the 252 ways to share the runs out puts any row as far up.
jq -e '(.rows[0] | .node == "steady" and .a == 10.3 and .b == 11.3 and .marker == "worse" and
            (.p - 2 / 252 | fabs) < 1e-12 and (.p_table - 1 / 252 | fabs) < 1e-12 and .ratio_low > 1.05 and .ratio_high < 1.15) and
        (.rows[1] | .node == "noisy" and .percent == 15 and .marker == "unclear" and .p > 0.5) and
        .sums[0].marker == "same" and .lines.worse == 1 and .test == "mann-whitney" and
        .table_test == "holm-westfall-young" and .tests == 5 and .drift.interleaved == false and
        .bootstrap == {"confidence": 0.95, "resamples": 2000, "seed": 1}' out.txt >/dev/null ||
    fail "repeats: $(cat out.txt)"
cp out.txt first.txt
expect 'repeats again' 1 "$PLUMB_BIN" compare --format json --a old/*.json --b new/*.json
cmp first.txt out.txt || fail 'the same comparison came out differently'

# Two real runs: every sum has a value, peak memory too. (A program without sanitizers cannot load a
# library with them.)
if [ "$PLUMB_BUILD_KIND" = plain ]; then
    . "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
    expect 'a real run' 0 "$PLUMB_BIN" record --dir runs/a -- ./linked
    expect 'another' 0 "$PLUMB_BIN" record --dir runs/b -- ./linked
    "$PLUMB_BIN" compare --threshold 1000000 --format json runs/a runs/b >out.txt 2>err.txt ||
        fail "real runs: $(cat err.txt)"
    jq -e '[.rows[].node] == ["frame", "work", "step"] and
           ([.sums[].kind] | contains(["wall_clock", "stages", "peak_rss"])) and
           all(.sums[]; .a > 0 and .b > 0) and all(.rows[]; .count_a == .count_b)' out.txt \
        >/dev/null || fail "real runs: $(cat out.txt)"

    # Killed ones are recovered on the way; they compare with each other, not with one that ended.
    for i in 1 2; do
        PLUMB_RUN_DIR=$PWD/killed$i PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
    done
    expect 'killed and ended' 2 "$PLUMB_BIN" compare runs/a killed1
    has err.txt "not comparable: end of the run 'ended' and 'recovered' (--any-end to compare all the same)"
    expect 'two killed runs' 0 "$PLUMB_BIN" compare --threshold 1000000 killed1 killed2
    has out.txt 'Note: both sides are cut short (recovered): sums end where the runs do'
    has err.txt 'B: recovered: the process did not end the run itself'

    mkfifo in told
    PLUMB=1 PLUMB_RUN_DIR=$PWD/live PLUMB_QUIET=1 ./linked wait <in >told &
    exec 3>in
    read -r line <told
    expect 'a run that goes on' 2 "$PLUMB_BIN" compare runs/a live
    has err.txt "end of the run 'ended' and 'still recording'"
    expect 'insisting' 0 "$PLUMB_BIN" compare --any-end --threshold 1000000 --top 3 runs/a live
    has out.txt "Note: compared all the same: end of the run 'ended' and 'still recording'"
    has err.txt 'B: the run still records: this is a momentary view'
    [ ! -e live/timing.json ] || fail 'a run that goes on has a report'
    exec 3>&-
    wait
fi
finish
