#!/bin/sh
# FV-35: the hardware profile has a stable id; devices that could not be read are padded.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
hardware() {
    perf a.json 09 10
    history_of add --dry-run --format json --hardware "$1" a.json | jq -r '.results[0].hardware_profile_id'
}
gpu='{"name": "NVIDIA L40S", "memory_bytes": 51539607552, "compute_capability": "8.9"}'
echo "{\"gpus\": [$gpu, $gpu], \"interconnect\": \"none_or_partial\"}" >two.json
[ "$(hardware two.json)" = hw-41f86157a00d7e43 ] || fail "two: $(hardware two.json)"
echo "{\"gpus\": [$gpu], \"gpu_count\": 2, \"interconnect\": \"none_or_partial\"}" >padded.json
echo "{\"gpus\": [$gpu, {\"name\": \"\", \"memory_gb\": null}], \"interconnect\": \"none_or_partial\"}" >unknown.json
[ "$(hardware padded.json)" = "$(hardware unknown.json)" ] || fail 'a missing device is not padded'
[ "$(hardware padded.json)" != hw-41f86157a00d7e43 ] || fail 'a missing device is like a known one'
echo '{}' >cpu.json
want=hw-$(printf '%s' '{"device_type":"cpu","gpu_count":0,"gpus":[],"interconnect":"none"}' | sha256sum | cut -c1-16)
[ "$(hardware cpu.json)" = "$want" ] || fail "a machine without a GPU: $(hardware cpu.json), not $want"
perf own.json 09 10 "{\"hardware_profile_id\": null, \"hardware_profile\": $(cat two.json)}"
got=$(history_of add --dry-run --format json own.json | jq -r '.results[0].hardware_profile_id')
[ "$got" = hw-41f86157a00d7e43 ] || fail "of a result: $got"
finish
