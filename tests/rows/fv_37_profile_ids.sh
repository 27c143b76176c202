#!/bin/sh
# FV-37: profile ids are a prefix and 16 hex digits, independent of the order of keys; a run that plumb
# recorded has them too, equal for equal runs.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_compare.sh"
ids() {
    history_of add --dry-run --format json "$@" |
        jq -r '.results[0] | "\(.recipe_fingerprint) \(.hardware_profile_id) \(.software_profile_id)"'
}
make_run one.json 0 100 1000000 -- x:4:10
make_run two.json 1 100 1000000 -- x:4:12
first=$(ids one.json)
echo "$first" | grep -Eq '^[0-9a-f]{64} hw-[0-9a-f]{16} sw-[0-9a-f]{16}$' || fail "ids: $first"
[ "$first" = "$(ids two.json)" ] || fail "two equal runs: $first and $(ids two.json)"
echo '{"gpu_count": 1, "interconnect": "single_gpu", "gpus": [{"name": "a", "memory_gb": 8}]}' >a.json
echo '{"gpus": [{"memory_gb": 8, "name": "a"}], "interconnect": "single_gpu", "gpu_count": 1}' >b.json
[ "$(ids --hardware a.json one.json)" = "$(ids --hardware b.json one.json)" ] || fail 'the order of keys'
finish
