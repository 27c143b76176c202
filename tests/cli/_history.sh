# Results for tests of plumb history. Sourced by them.

# google FILE SECOND NAME=NS...: a file of google/benchmark of that second, with three repetitions
google() {
    google_file=$1 google_second=$2
    shift 2
    {
        printf '{"context": {"date": "2026-01-02T03:04:%02d+00:00", "num_cpus": 4, "executable": "./engine_bench"},\n' \
            "$google_second"
        printf '"benchmarks": ['
        google_comma=
        for google_pair in "$@"; do
            for google_plus in 0 1 5; do
                printf '%s\n{"name": "%s", "run_type": "iteration", "iterations": 9, "real_time": %s, "cpu_time": %s, "time_unit": "ns"}' \
                    "$google_comma" "${google_pair%=*}" "$((${google_pair#*=} + google_plus))" \
                    "$((${google_pair#*=} + google_plus))"
                google_comma=,
            done
        done
        printf ']}\n'
    } >"$google_file"
}

# perf FILE DAY LATENCY [FIELDS]: a result of version 2 of FastVideo's runner; FIELDS replace or add
perf() {
    jq -n --arg day "$2" --argjson latency "$3" --argjson more "${4:-{\}}" '{
        benchmark_id: "wan-2gpu", result_schema_version: 2, device: "NVIDIA L40S",
        workload_id: "wan", variant_id: "sp2", benchmark_version: 0,
        recipe_fingerprint: ("ab" * 32), hardware_profile_id: "hw-41f86157a00d7e43",
        software_profile_id: "sw-f1f9448b4e9bf474", commit: "0123456789abcdef",
        run_source: "scheduled_main", branch: "main", pr_number: "false",
        timestamp: "2026-01-\($day)T00:00:00+00:00",
        avg_generation_time_s: $latency, throughput_fps: 4.5, max_peak_memory_mb: 10000.0,
        text_encoder_time_s: null, dit_time_s: 8.0, vae_decode_time_s: 2.0,
        thresholds: {max_generation_time_s: 100, max_peak_memory_mb: 30000},
        regression_thresholds: {}
    } + $more' >"$1"
}
