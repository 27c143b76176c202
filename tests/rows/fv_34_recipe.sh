#!/bin/sh
# FV-34: a recipe has a SHA-256 over its canonical JSON. The golden value of the original, and what does
# and does not change it, are in src/read/history/identity_test.c; here the face of it.
. "$PLUMB_SOURCE_DIR/tests/rows/_history.sh"
recipe() {
    perf a.json 09 10 '{"recipe_fingerprint": null}'
    history_of add --dry-run --format json "$@" a.json | jq -r '.results[0].recipe_fingerprint'
}
echo '{"recipe_schema_version": 2, "inputs": {"prompt_count": 1}, "model": {"model_path": "m", "resolved_revision": "x"},
    "generation_kwargs": {"steps": 3, "seed": 1}}' >r.json
echo '{"generation_kwargs": {"seed": 1.0, "steps": 3.0}, "model": {"model_path": "m"}, "inputs": {"prompt_count": 1},
    "recipe_schema_version": 2}' >equal.json
echo '{"generation_kwargs": {"seed": 1, "steps": 4}, "model": {"model_path": "m"}, "inputs": {"prompt_count": 1},
    "recipe_schema_version": 2}' >steps.json
text='{"generation_kwargs":{"seed":1,"steps":3},"inputs":{"prompt_count":1},"model":{"model_path":"m"},"recipe_schema_version":2}'
want=$(printf '%s' "$text" | sha256sum | cut -d' ' -f1)
[ "$(recipe --recipe r.json)" = "$want" ] || fail "recipe $(recipe --recipe r.json), not $want"
[ "$(recipe --recipe equal.json)" = "$want" ] || fail 'order, 3.0 or a resolved value changed it'
[ "$(recipe --recipe steps.json)" != "$want" ] || fail 'another number of steps did not change it'
[ "$(recipe --recipe "$want")" = "$want" ] || fail 'a hash'
perf own.json 09 10 "{\"recipe_fingerprint\": null, \"recipe\": $(cat r.json)}"
got=$(history_of add --dry-run --format json own.json | jq -r '.results[0].recipe_fingerprint')
[ "$got" = "$want" ] || fail "of a result: $got"
finish
