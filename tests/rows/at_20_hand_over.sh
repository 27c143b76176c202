#!/bin/sh
# AT-20: the closing report lists five clean-up checks, each as passed or failed, and the facts to hand over: both traces,
# settings, the first divergent key, the drift and a citation.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >hand_over.rules <<'END'
[our repository is clean]
metric = exit_status
command = test -z "$(cat ours.txt)"
limit = == 0

[their repository is clean]
metric = exit_status
command = test -z "$(cat theirs.txt)"
limit = == 0

[only the named stash is left]
metric = exit_status
command = test "$(cat stash.txt)" = 'stash@{0}: On main: trace hooks'
limit = == 0

[no stray files]
metric = exit_status
command = test ! -e stray.npy
limit = == 0

[the type check passes]
metric = exit_status
command = sh types.sh
limit = == 0
END
: >ours.txt
: >theirs.txt
echo 'stash@{0}: On main: trace hooks' >stash.txt
echo 'exit 0' >types.sh
layer() {
    printf '{"step": 0, "module": "%s", "tensor": "out", "abs_mean": %s, "mean": %s, "std": 0.25, "min": -1, "max": 1, "shape": [2, 4], "dtype": "float32"}\n' "$1" "$2" "$2"
}
{ layer block.0 0.5; layer block.1 0.5; layer block.2 0.5; } >good.jsonl
{ layer block.0 0.5; layer block.1 0.75; layer block.2 0.75; } >bad.jsonl
"$PLUMB_BIN" diverge --format json good.jsonl bad.jsonl -o diverge.json
[ "$(jq -r '.culprit.a.module' diverge.json)" = block.1 ] || fail "no divergence: $(cat diverge.json)"
report() {
    "$PLUMB_BIN" gate hand_over.rules --commands --divergence diverge.json --fact settings=seed=42 \
        --fact 'citation=model.py:118' --format "$1"
}
expect 'all five pass' 0 report md
[ "$(grep -c '| pass |' out.txt)" = 5 ] || fail "not five checks: $(cat out.txt)"
has out.txt 'trace a: good.jsonl' 'trace b: bad.jsonl' 'settings: seed=42' 'first divergent key: block.1' 'drift: 0.' \
    'citation: model.py:118'
touch stray.npy
echo ' M model.py' >ours.txt
expect 'two fail' 1 report json
jq -e '[.checks[] | .verdict] == ["regression", "pass", "pass", "regression", "pass"] and
    .facts["first divergent key"] == "block.1" and .facts.citation == "model.py:118"' out.txt >/dev/null || fail "$name: $(cat out.txt)"
finish
