#!/bin/sh
# FV-29: fixed limits: those of the first device whose name the recording has, then the default, then the built-in
# ones; just above a limit fails, equal passes, an absent optional limit is skipped.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
gate() {
    "$PLUMB_BIN" gate "$@"
}
# run FILE GPU WALL_MS PEAK_BYTES: a generation of that length with a text encoder of 2 s
run() {
    make_run "$1" 0 "$3" "$4" ".runtime_environment.gpus = [\"$2\"] | ." -- text_encoder:1:2000
}
cat >perf.rules <<'END'
[max_generation_time_s]
metric = wall_clock
limit on H100 PCIe = <= 95 s
limit on H100 = <= 80 s
limit = <= 240 s

[max_peak_memory_mb]
metric = peak_rss
limit on H100 = <= 20000 MB
limit = <= 10000 MB

[max_text_encoder_time_s]
metric = time
node = text_encoder
limit on H100 = <= 1.5 s
limit = none
missing = skip

[max_vae_decode_time_s]
metric = time
node = vae_decode
limit = <= 5 s
missing = skip
END
grep -q '"gpus"' "$data/golden.json" || : # a recording without GPUs has an empty list

run equal.json 'NVIDIA T4' 240000 10000000000
expect 'equal passes' 0 gate perf.rules equal.json
has out.txt 'max_vae_decode_time_s' '2 pass, 2 skipped'
run above.json 'NVIDIA T4' 240000.001 10000000000
expect 'just above the limit of time' 1 gate perf.rules above.json
run above.json 'NVIDIA T4' 240000 10000000001
expect 'just above the limit of memory' 1 gate perf.rules above.json
has out.txt '10000.000001 MB'
run pcie.json 'NVIDIA H100 PCIe' 95000 20000000000
expect 'the device before the default, in the order of the file' 1 gate perf.rules pcie.json --format json
jq -e '[.checks[] | [.rule, .limit, .verdict]] == [["max_generation_time_s", "<= 95 s", "pass"],
    ["max_peak_memory_mb", "<= 20000 MB", "pass"], ["max_text_encoder_time_s", "<= 1.5 s", "regression"],
    ["max_vae_decode_time_s", "<= 5 s", "skipped"]]' out.txt >/dev/null || fail "$name: $(cat out.txt)"
run sxm.json 'NVIDIA H100 SXM' 95000 20000000000
expect 'another device of that name' 1 gate --rule max_generation_time_s perf.rules sxm.json
has out.txt '<= 80 s'

# A machine that the file does not list, without a default.
sed '/^limit =/d' perf.rules | sed '/^\[max_text/,$d' >devices.rules
run other.json 'NVIDIA L4' 120000 30000000000
expect 'the built-in limits' 0 gate devices.rules other.json
has out.txt '<= 120 s (built in)' '<= 30000 MB (built in)'
run other.json 'NVIDIA L4' 120001 30000000000
expect 'above the built-in limit' 1 gate devices.rules other.json
has out.txt 'no limit of the rule is meant for this machine: the built-in one holds'
finish
