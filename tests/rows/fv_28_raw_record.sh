#!/bin/sh
# FV-27, FV-28: a recorded run whose requests are the runs of a benchmark leaves one raw record, which is
# added like one of the original. The figures are in src/read/history/raw_test.c.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
build_linked "$PLUMB_SOURCE_DIR/tests/rows/_requests.c" requests
"$PLUMB_BIN" record --dir runs -- ./requests 4 >/dev/null 2>&1 || fail 'recording'
run=$(find runs -name timing.json | head -1)
echo '{"benchmark_id": "../b 1", "config_schema_version": 2, "workload_id": "w", "variant_id": "v",
    "benchmark_version": 1, "run_config": {"num_warmup_runs": 1, "num_measurement_runs": 3},
    "thresholds": {"default": {"max_generation_time_s": 600, "max_peak_memory_mb": 90000}},
    "test_prompts": ["A cinematic video."], "generation_kwargs": {"num_frames": 45}}' >b.json
mkdir records
expect 'a first record' 3 history_of add --config b.json --record records "$run"
has out.txt 'CALIBRATION_NEEDED'
raw=$(ls -A records)
echo "$raw" | grep -Eq '^perf__\.\._b_1_[0-9]{8}T[0-9]{6}Z\.json$' || fail "the name '$raw'"
jq -e '.result_schema_version == 2 and (.individual_times_s | length) == 3 and .vae_decode_time_s == null and
    .dit_time_s >= 0 and .num_measurement_runs == 3 and .device != null and (.recipe.inputs.prompt_sha256 |
    . == ["a1aab4d8d8d9a0d43e78d06987cdc938e1b8c4b8267afa45214ac0d339e47ef7"])' "records/$raw" >/dev/null ||
    fail "the record: $(cat "records/$raw")"
expect 'the record is one of the original' 3 history_of add "records/$raw"
has err.txt '1 result is in it already: not added again'
expect 'as a baseline' 3 history_of add --baseline yes "records/$raw"
jq '.timestamp = "2099-01-01T00:00:00+00:00" | .throughput_fps = 1' "records/$raw" >later.json
expect 'a slower one' 1 history_of add later.json
finish
