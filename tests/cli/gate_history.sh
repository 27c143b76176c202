#!/bin/sh
# plumb gate with rules against the baseline of a history: percent and absolute floors, the noise of the baseline's own
# records, and no baseline is not a pass.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
"$PLUMB_BIN" history --help >/dev/null 2>&1 || {
    echo 'skipped: built without a history'
    exit 77
}
gate() {
    "$PLUMB_BIN" gate "$@"
}
# bench FILE DAY MS: a result of that day, with one benchmark of that time in a process of 100 MB
bench() {
    jq -n --arg day "$2" --argjson ms "$3" '{context: {date: "2026-03-\($day)T10:00:00+00:00", host_name: "ci", num_cpus: 4,
        executable: "bench"}, plumb: {stage: "decode", peak_bytes: 100000000}, benchmarks: [range(7) as $i | {name: "decode",
        run_name: "decode", run_type: "iteration", repetition_index: $i, iterations: 1, real_time: ($ms + $i / 1000),
        cpu_time: $ms, time_unit: "ms"}]}' >"$1"
}
cat >h.rules <<'END'
[decode]
metric = time
node = decode
old = history
limit = <= old + 5 %
floor = 0.5 ms
[memory]
metric = peak_rss
node = decode
old = history
limit = <= old + 5 %
END
bench new.json 09 10
expect 'no history' 3 gate h.rules new.json
has out.txt 'CALIBRATION_NEEDED'
day=1
for ms in 10 10.1 9.9 10.2 10; do
    bench "day$day.json" "0$day" "$ms"
    "$PLUMB_BIN" history add --baseline yes --no-compare "day$day.json" >/dev/null 2>&1 || fail "cannot add day $day"
    day=$((day + 1))
done
expect 'as before' 0 gate h.rules new.json
has out.txt '10.00 ms' '+0.0 %' '100 MB'
bench new.json 09 10.4
expect 'beyond the noise, within 5 %' 0 gate h.rules new.json
bench new.json 09 10.6
expect 'beyond both floors' 1 gate h.rules new.json
has out.txt '+6.0 %'
sed 's/0.5 ms/0.7 ms/' h.rules >floor.rules
expect 'within the absolute floor' 0 gate floor.rules new.json
sed 's/+ 5 %/+ 1 %/; /^floor/d' h.rules >one.rules
bench new.json 09 10.15
expect 'the records lie as far apart' 3 gate one.rules new.json
has out.txt 'the records of the baseline lie as far apart'
jq '.plumb.peak_bytes = 106000000' new.json >grown.json
expect 'memory' 1 gate --rule memory h.rules grown.json
has out.txt '106 MB'
expect 'another history' 3 gate --history none.db h.rules new.json
jq '.context.host_name = "other"' new.json >other.json
expect 'another machine' 3 gate h.rules other.json
has out.txt 'CALIBRATION_NEEDED'
echo 'not a database' >broken.db
# The arguments of a run are a part of its recipe: a new path each time needs one that is given.
recipe=$(printf 'ab%.0s' $(seq 32))
for day in 1 2; do
    "$PLUMB_BIN" history add --db recipe.db --recipe "$recipe" --baseline yes --no-compare "day$day.json" >/dev/null 2>&1 ||
        fail 'cannot add with a recipe'
done
expect 'another recipe' 3 gate --history recipe.db h.rules new.json
has out.txt 'RECIPE_MISMATCH'
expect 'the same recipe' 0 gate --history recipe.db --recipe "$recipe" h.rules new.json
has out.txt '2 pass'
expect 'a wrong recipe' 2 gate --history recipe.db --recipe nothing.json h.rules new.json
has err.txt 'nothing.json'
expect 'a damaged history' 2 gate --history broken.db h.rules new.json
finish
