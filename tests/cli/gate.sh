#!/bin/sh
# plumb gate: rules applied to files and recordings, its exit status, every format, and what it refuses.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
gate() {
    "$PLUMB_BIN" gate "$@"
}
# rules FILE: the rules of standard input
rules() {
    cat >"$1"
}
# bench FILE NAME MS...: repetitions of a benchmark, as google/benchmark writes them
bench() {
    bench_file=$1 bench_name=$2
    shift 2
    for ms in "$@"; do
        printf '{"name": "%s", "run_name": "%s", "run_type": "iteration", "iterations": 1, "real_time": %s,
            "cpu_time": %s, "time_unit": "ms"}\n' "$bench_name" "$bench_name" "$ms" "$ms"
    done | jq -s '{context: {host_name: "h1"}, benchmarks: .}' >"$bench_file"
}

# ---- Exit status ---------------------------------------------------------------------------------
make_run old.json 0 100 2955000000 -- decode:10:4 encode:2:20
make_run same.json 1 100 2955000000 -- decode:10:4 encode:2:20
make_run grown.json 2 100 7823000000 -- decode:10:4 encode:2:20
make_run more.json 3 100 2955000000 -- decode:11:4 encode:2:20
rules g.rules <<'END'
# what must not grow
[decode runs once a frame]
metric = runs
node = decode
limit = == 10
why = a second decode costs 4 ms | a frame

[memory]
metric = peak_rss
limit = <= old + 5 %
floor = 256 MB
END
expect 'pass' 0 gate g.rules same.json --old old.json
has out.txt 'Gate g.rules: pass' '2 checks by 2 rules: 2 pass' '2955 MB' '+0.0 %'
empty err.txt
expect 'a run more' 1 gate g.rules more.json --old old.json
has out.txt 'regression: decode runs once a frame (g.rules:2): decode: runs is 11, limit == 10' \
    'why: a second decode costs 4 ms | a frame'
expect 'a buffer that grew' 1 gate --old old.json g.rules grown.json
has out.txt 'memory   ' '7823 MB' '+164.7 %' '<= old + 5 %'
expect 'no old result' 3 gate g.rules same.json
has out.txt 'there is no old value to compare with' '1 pass, 1 inconclusive'
expect 'a regression outweighs what cannot be told' 1 gate g.rules more.json
expect 'one rule' 0 gate --rule 'decode runs once a frame' g.rules same.json
has out.txt '1 check by 1 rule: 1 pass'
expect 'no such rule' 2 gate --rule nothing g.rules same.json
has err.txt "g.rules has no rule 'nothing'; it has 'decode runs once a frame', 'memory'"
expect 'no such result' 2 gate g.rules nothing.json
expect 'no such rules' 2 gate nothing.rules same.json
has err.txt "plumb gate: cannot"
expect 'no rules' 2 gate
has err.txt 'wants a file of rules, and results'
expect 'metrics' 0 gate --metrics
has out.txt 'dispatches' 'peak_allocated'

rules nothing.rules <<'END'
[misspelt]
metric = runs
node = decodr
limit = == 10
END
expect 'nothing matches' 3 gate nothing.rules same.json
has out.txt "nothing in the results matches; there is 'decode'"
rules skip.rules <<'END'
[optional]
metric = time
node = vae
limit = <= 1 s
missing = skip
END
expect 'nothing was checked' 3 gate skip.rules same.json
has out.txt '1 skipped'

# ---- Wrong rules ---------------------------------------------------------------------------------
printf '[a]\nmetric = runs\nnode = x\nlimits = == 1\n' >wrong.rules
expect 'unknown key' 2 gate wrong.rules same.json
has err.txt "plumb gate: wrong.rules:4: unknown key 'limits': did you mean 'limit'?"
empty out.txt
printf '[a]\nmetric = wall_clock\nnode = x\nlimit = <= 1 s\n' >wrong.rules
expect 'impossible selector' 2 gate wrong.rules same.json
has err.txt "wrong.rules:3: metric 'wall_clock' has no 'node', so nothing can match"
printf '[a]\nmetric = copies\nlimit = == 1\n[a]\nmetric = copies\nlimit = == 1\n' >wrong.rules
expect 'duplicate name' 2 gate wrong.rules same.json
has err.txt "wrong.rules:4: the rule 'a' stands in line 1 too"

# ---- Times ---------------------------------------------------------------------------------------
rules time.rules <<'END'
[chain]
metric = time
node = chain
limit = <= old + 2.5 %
END
bench a.json chain 10 10.1 9.9 10.05 10 9.95 10.02 10.1 9.97 10
bench b.json chain 11 11.1 10.9 11.05 11 10.95 11.02 11.1 10.97 11
bench noisy.json chain 9 14 10 8 20 9.5 11 10 8.5 16
expect 'as fast' 0 gate time.rules a.json --old a.json
expect 'slower' 1 gate time.rules b.json --old a.json
has out.txt '98 % interval' '+10.0 %' 'Noise'
expect 'noise' 3 gate time.rules noisy.json --old a.json
has out.txt 'inconclusive: chain (time.rules:1): chain: time is 10.00 ms'
jq '.benchmarks = .benchmarks[:3]' b.json >few.json
expect 'few samples' 3 gate time.rules few.json --old a.json
has out.txt 'fewer than 6 samples on a side cannot tell a change from noise'
jq '.benchmarks[4].real_time = null' a.json >null.json
expect 'a value that is not a number' 3 gate time.rules null.json --old a.json
sed '0,/10.1/s/10.1/NaN/' a.json >nan.json
expect 'NaN' 3 gate time.rules nan.json --old a.json
has out.txt 'a sample is not a number above 0'
jq '.benchmarks[0] += {error_occurred: true, error_message: "out of memory"}' b.json >failed.json
expect 'a benchmark that failed' 3 gate time.rules failed.json --old a.json
has out.txt 'the benchmark failed: out of memory'
# The medians of six recordings lie in neighbouring buckets of the histogram; their means are exact.
olds='' news=''
for i in 1 2 3 4 5 6; do
    make_run "q-old$i.json" "$i" 100 1000 '.nodes[0].max_ns += 1' -- decode:10:4
    make_run "q-new$i.json" "1$i" 100 1000 '.nodes[0].max_ns += 1' -- decode:10:4.06
    olds="$olds --old q-old$i.json" news="$news q-new$i.json"
done
for metric in time mean; do
    printf '[decode]\nmetric = %s\nnode = decode\nlimit = <= old + 1 %%\n' $metric >"q-$metric.rules"
done
# shellcheck disable=SC2086 # lists of files
{
    expect 'medians of neighbouring buckets' 3 gate q-time.rules $news $olds
    has out.txt '+1.5 %' 'the difference from the limit is within the error of quantiles'
    expect 'means' 1 gate q-mean.rules $news $olds
}
ln -s a.json again.json
expect 'one result as two repeats' 2 gate time.rules a.json b.json again.json --old a.json
has err.txt "'a.json' and 'again.json' are the same result: a repeat is a result of its own"
expect 'one old result twice' 2 gate time.rules b.json --old a.json --old ./a.json
expect 'as old and as new' 0 gate time.rules a.json --old a.json
counts() {
    printf '{"format": "plumb-counts", "schema": 1, "counts": [{"node": "x", "step": null, "kind": "%s", "value": %s}]}\n' "$2" "$3" >"$1"
}
counts most.json user 9223372036854775807
printf '[a]\nmetric = user\nnode = x\nlimit = == 9223372036854775807, >= old\n' >most.rules
for format in text csv json; do
    expect "the largest count as $format" 0 gate most.rules most.json --old most.json --format $format
    [ "$(grep -o 922337203685477580. out.txt | sort | uniq -c | awk '{print $1, $2}')" = '3 9223372036854775807' ] || fail "$name: $(cat out.txt)"
done
counts small.json copy_bytes 12345678
counts large.json copy_bytes 12345679
printf '[a]\nmetric = copy_bytes\nnode = x\nlimit = == old\n' >bytes.rules
expect 'one byte more' 1 gate bytes.rules large.json --old small.json
has out.txt 'copy_bytes is 12.345679 MB, was 12.345678 MB'
printf '{"context": {}, "benchmarks": []}' >empty.json
expect 'a file without values' 2 gate time.rules empty.json --old a.json
has err.txt "'empty.json' has no values"
printf '{"context"' >cut.json
expect 'a cut file' 2 gate time.rules cut.json --old a.json
has err.txt "'cut.json' is not valid JSON"

# ---- Counts --------------------------------------------------------------------------------------
counts() {
    jq -n --argjson extra "$1" '{format: "plumb-counts", schema: 1, counts_not_shown: 0, steps_lost: 0, counts: [
        {pipeline: "p", phase: "inference", node: "chain", step: null, kind: "dispatches", name: "sos", calls: 30,
            value: (30 + $extra), runs: 30},
        {pipeline: "p", phase: "inference", node: "chain", step: 4, kind: "dispatches", name: "sos", calls: 1, value: 1,
            runs: null}]}'
}
counts 0 >c.json
counts 1 >extra.json
rules count.rules <<'END'
[fused]
metric = dispatches
node = chain
per = call
limit = == 1

[step]
metric = dispatches
node = chain
step = 0-9
limit = <= 1

[all]
metric = dispatches
limit = == old
END
expect 'counts' 0 gate count.rules c.json --old c.json
has out.txt 'chain, pipeline p, step 4'
expect 'an extra dispatch' 1 gate count.rules extra.json --old c.json
has out.txt 'regression: fused (count.rules:1): chain, pipeline p: dispatches is 31, limit == 1; in 30 runs of the node' \
    'dispatches is 31, was 30'
jq '.counts_not_shown = 3' c.json >part.json
expect 'a part of the counts' 2 gate count.rules part.json
has err.txt 'write it without --top'

# ---- Machines ------------------------------------------------------------------------------------
rules machine.rules <<'END'
[total]
metric = wall_clock
limit on Xeon = <= 50 ms
limit on EPYC = none
limit = <= 200 ms
END
cpu=$(jq -r .cpu same.json)
sed "s/Xeon/$cpu/" machine.rules >ours.rules
expect 'the limit of another machine' 0 gate machine.rules same.json
expect 'the limit of this machine' 1 gate ours.rules same.json
has out.txt '<= 50 ms'
sed "s/EPYC/$cpu/" machine.rules >none.rules
expect 'no limit for this machine' 3 gate none.rules same.json
has out.txt 'skipped'

# ---- Commands and facts --------------------------------------------------------------------------
rules command.rules <<'END'
[tree is clean]
metric = exit_status
command = test ! -e stray.txt; echo checked
limit = == 0
[types]
metric = exit_status
command = test ! -e stray.txt
limit = == 0
END
expect 'commands are not run unasked' 3 gate command.rules
has out.txt 'its command runs with --commands alone'
lacks err.txt checked
expect 'commands' 0 gate command.rules --commands --fact 'trace=a/b.jsonl' --fact commit=8f3c2d1
has out.txt 'trace: a/b.jsonl' 'commit: 8f3c2d1' 'exit_status'
has err.txt checked
lacks out.txt checked
touch stray.txt
expect 'a command that fails' 1 gate command.rules --commands --format json
jq -e '[.checks[].verdict] == ["pass", "regression"] and .verdict == "regression" and .checks[1].new == 1' out.txt \
    >/dev/null || fail "$name: $(cat out.txt)"
long=$(printf '%0200d' 7)
expect 'a long key' 1 gate command.rules --commands --fact "$long=x"
has out.txt "$long: x"
expect 'a fact given twice' 2 gate command.rules --commands --fact a=1 --fact a=2
has err.txt "the fact 'a' is given twice"
expect 'a fact without a key' 2 gate command.rules --fact value

# ---- Formats -------------------------------------------------------------------------------------
rules hostile.rules <<'END'
[a|b <i> & "c" 100%, x:y]
metric = runs
node = encode
limit = == 3
why = ]]> <b> | pipe

[unknown]
metric = runs
node = nothing
limit = == 3

[fine]
metric = runs
node = decode
limit = == 10

[optional]
metric = time
node = vae
limit = <= 1 s
missing = skip
END
expect 'several formats at once' 1 gate hostile.rules same.json --format json --also junit=gate.xml --also md=gate.md \
    --also github=gate.txt --also csv=gate.csv --fact 'k=<v>'
jq -e '.format == "plumb-gate" and .regression == 1 and .inconclusive == 1 and .skipped == 1 and .pass == 1 and
    .checks[0].new == 2 and .checks[0].line == 1 and .facts.k == "<v>"' out.txt >/dev/null || fail "$name: $(cat out.txt)"
python3 "$PLUMB_SOURCE_DIR/tests/gate/junit.py" gate.xml >problems.txt || fail "$name: $(cat problems.txt gate.xml)"
has gate.xml 'tests="4" failures="1" errors="1" skipped="1"' '<failure message=' 'type="regression"' '<error ' \
    'name="a|b &lt;i&gt; &amp; &quot;c&quot; 100%, x:y: encode"' ']]&gt; &lt;b&gt;'
has gate.txt '::error file=hostile.rules,line=1,title=regression%3A a|b <i> & "c" 100%25%2C x%3Ay::encode: runs is 2' \
    '::warning file=hostile.rules,line=7,'
has gate.md '| encode | runs | n/a | 2 |' 'a\|b \<i> \& "c"'
[ "$(grep -c . gate.csv)" = 5 ] || fail "$name: $(cat gate.csv)"
for broken in 's/tests="4"/tests="5"/g' 's/type=/kind=/' 's/ classname="[^"]*"//' 's/T[0-9:]*"/"/'; do
    sed "$broken" gate.xml >broken.xml
    if python3 "$PLUMB_SOURCE_DIR/tests/gate/junit.py" broken.xml >/dev/null; then
        fail "the check of JUnit does not see $broken"
    fi
done
export GITHUB_STEP_SUMMARY=summary.md
echo '# earlier' >summary.md
expect 'step summary' 1 gate hostile.rules same.json --format github
has summary.md '# earlier' '### Gate hostile.rules: regression'
GITHUB_STEP_SUMMARY=/nonexistent/x
expect 'a summary that cannot be written' 0 gate g.rules same.json --old old.json
has err.txt 'GITHUB_STEP_SUMMARY'
unset GITHUB_STEP_SUMMARY
expect 'output' 0 gate g.rules same.json --old old.json -o report.txt
empty out.txt
has report.txt 'Gate g.rules: pass'
expect 'the rules are not overwritten' 2 gate g.rules same.json -o g.rules
expect 'a result is not overwritten' 2 gate g.rules same.json --also json=same.json
has err.txt "'same.json' is an input"
expect 'two formats in one file' 2 gate g.rules same.json -o once.txt --also md=once.txt
has err.txt "'once.txt' is to be written twice"
expect 'one file for two of --also' 2 gate g.rules same.json --also md=once.txt --also csv=once.txt
[ ! -e once.txt ] || fail 'a file that is refused was written'
expect 'unknown format' 2 gate g.rules same.json --also xml=x
expect 'unknown format' 2 gate g.rules same.json --format xml
expect 'a full disk' 2 gate g.rules same.json --old old.json -o /dev/full
expect 'closed output' 2 sh -c '"$1" gate g.rules same.json --old old.json >/dev/full' sh "$PLUMB_BIN"
finish
