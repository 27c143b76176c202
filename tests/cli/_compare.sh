# Makes timing.json files whose every figure is known; sourced after _lib.sh.
# shellcheck shell=sh
# make_run FILE START WALL_MS PEAK_RSS [FILTER] -- NAME:RUNS:MEAN_MS...: a report of nodes whose runs
# all took the same time, each outermost; START, in s, distinguishes runs; FILTER is applied last (jq).
make_run() {
    run_file=$1 run_start=$2 run_wall=$3 run_rss=$4 run_filter=.
    shift 4
    if [ "$1" != -- ]; then
        run_filter=$1
        shift
    fi
    shift
    jq --argjson start "$run_start" --argjson wall "$run_wall" --argjson rss "$run_rss" \
        'def ns: . * 1000000 | round;
        def node($name; $runs; $ms):
            .name = $name | .count = $runs | .total_ns = ($runs * $ms | ns) |
            .self_ns = .total_ns | .outermost_ns = .total_ns | .outermost_count = $runs |
            .min_ns = ($ms | ns) | .max_ns = .min_ns | .last_ns = .min_ns |
            .median_ns = .min_ns | .p50_ns = .min_ns | .p90_ns = .min_ns | .p95_ns = .min_ns |
            .p99_ns = .min_ns | .sumsq_ns2 = "0" |
            .first_ns = (if $runs <= 5 then [range($runs) as $i | $ms | ns] else [] end) |
            .sketch = (if $runs > 0 then [[($ms | ns), $runs]] else [] end);
        .nodes[0] as $like | .tree = [] | .skip_first_n = 0 |
        .start_unix_ns += $start * 1000000000 | .wall_clock_ns = ($wall | ns) |
        .memory.peak_rss_bytes = $rss |
        .nodes = [$ARGS.positional[] | split(":") as [$name, $runs, $ms] |
            $like | node($name; $runs | tonumber; $ms | tonumber)] |
        '"$run_filter" "$data/golden.json" --args "$@" >"$run_file"
}
