#!/bin/sh
# labels: plain
# TX-20: files of benchmarks as one table: percentiles by linear interpolation (type 7), extra fields, foreign files
# passed over with a note, and no tails where a file has no times of single rounds.
set -u

fail()
{
    echo "FAIL: $1" >&2
    exit 1
}

aggregate()
{
    "$PLUMB_BIN" bench --aggregate "$@" >out.txt 2>err.txt || fail "$*: $(cat err.txt)"
}

# of JQ: holds for the JSON
of()
{
    jq -e "def near(\$x): . != null and (. - \$x | fabs) <= 1e-9 * (\$x | fabs); $1" out.txt >/dev/null ||
        fail "$1: $(jq -c . out.txt)"
}

# google/benchmark, in two units, with a counter of the user; the median of it all is in the file too.
for ms in 12.5 3.25 7 44 1.5 9.75 20; do
    printf '{"name": "fir/64", "run_name": "fir/64", "run_type": "iteration", "repetitions": 7, "iterations": 10,
        "real_time": %s, "cpu_time": 1, "time_unit": "ms", "bytes, read": 4096, "label": "warm"},\n' "$ms"
done >entries.txt
{
    printf '{"context": {"date": "x"}, "benchmarks": [\n'
    cat entries.txt
    printf '{"name": "iir", "run_type": "iteration", "iterations": 3, "real_time": 2500, "cpu_time": 1, "time_unit": "us"},
        {"name": "fir/64_median", "run_name": "fir/64", "run_type": "aggregate", "aggregate_name": "median",
        "real_time": 1, "time_unit": "ms"},
        {"name": "broken", "run_type": "iteration", "error_occurred": true, "real_time": 0, "time_unit": "ns"}]}\n'
} >google.json
# Aggregates alone.
printf '{"benchmarks": [{"name": "fft_mean", "run_name": "fft", "run_type": "aggregate", "repetitions": 9,
    "aggregate_name": "mean", "real_time": 4, "time_unit": "s"}]}\n' >only.json
# pytest-benchmark, with and without the times of its rounds, in seconds.
printf '{"machine_info": {}, "benchmarks": [
    {"name": "test_a", "stats": {"min": 1, "max": 1, "rounds": 3, "iterations": 2, "data": [0.003, 0.001, 0.002]},
     "extra_info": {"xrun_count": 2, "label": "cold", "list": [1]}},
    {"name": "test_b", "stats": {"min": 0.001, "max": 0.004, "mean": 0.002, "stddev": 0.0005, "median": 0.0015,
     "iqr": 0.001, "rounds": 50, "iterations": 1}}]}\n' >pytest.json
printf '{"traceEvents": []}\n' >foreign.json
printf 'not JSON' >text.json

aggregate --format json google.json only.json foreign.json pytest.json text.json
[ "$(grep -c '^plumb bench: skipped: ' err.txt)" = 2 ] || fail "not two notes: $(cat err.txt)"
grep -q "skipped: 'foreign.json' has no benchmarks" err.txt || fail "$(cat err.txt)"
of '[.benchmarks[].name] == ["fir/64", "iir", "fft", "test_a", "test_b"]'
# The figures of numpy.quantile() and of std(ddof=1).
of '.benchmarks[0] | (.min_ms == 1.5) and (.p50_ms == 9.75) and (.mean_ms | near(14)) and
    (.std_ms | near(14.589522496184262)) and (.iqr_ms | near(11.125)) and (.p95_ms | near(36.8)) and
    (.p99_ms | near(42.56)) and (.p999_ms | near(43.856)) and .max_ms == 44 and .rounds == 7 and .iterations == 10'
of '.benchmarks[0].extra == {"bytes, read": 4096, "label": "warm"}'
of '.benchmarks[1] | .p50_ms == 2.5 and .p999_ms == 2.5 and .std_ms == null and .rounds == 1 and .extra == {}'
of '.benchmarks[2] | .mean_ms == 4000 and .p50_ms == null and .p95_ms == null and .max_ms == null and .rounds == 9'
of '.benchmarks[3] | (.p50_ms | near(2)) and (.p95_ms | near(2.9)) and (.std_ms | near(1)) and .rounds == 3'
of '.benchmarks[3] | .iterations == 2 and .extra == {"xrun_count": 2, "label": "cold"}'
of '.benchmarks[4] | (.min_ms | near(1)) and (.p50_ms | near(1.5)) and (.iqr_ms | near(1)) and (.max_ms | near(4))'
of '.benchmarks[4] | .p95_ms == null and .p99_ms == null and .p999_ms == null and .rounds == 50'

aggregate --format csv google.json pytest.json
[ "$(head -n 1 out.txt)" = 'name,min_ms,p50_ms,mean_ms,std_ms,iqr_ms,p95_ms,p99_ms,p999_ms,max_ms,rounds,iterations,file,"extra.bytes, read",extra.label,extra.xrun_count' ] ||
    fail "$(head -n 1 out.txt)"
grep -q '^test_a,.*,3,2,pytest.json,,cold,2$' out.txt || fail "$(cat out.txt)"
aggregate google.json pytest.json
grep -Eq '^fir/64 +1.5 +9.75 +14 ' out.txt || fail "$(cat out.txt)"
aggregate --format md google.json
grep -q '^| fir/64 |' out.txt || fail "$(cat out.txt)"

"$PLUMB_BIN" bench --aggregate foreign.json >out.txt 2>err.txt
[ $? = 2 ] && [ "$(wc -l <err.txt)" = 1 ] && [ ! -s out.txt ] || fail "foreign files alone: $(cat err.txt)"
"$PLUMB_BIN" bench --aggregate google.json nowhere.json >out.txt 2>err.txt
[ $? = 2 ] && grep -q nowhere.json err.txt || fail "a file that is not there: $(cat err.txt)"
"$PLUMB_BIN" bench --aggregate >out.txt 2>err.txt
[ $? = 2 ] && grep -q 'FILE' err.txt || fail "no file: $(cat err.txt)"
