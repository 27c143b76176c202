#!/bin/sh
# AT-20: the closing report lists five clean-up checks, each as passed or failed, and the facts to hand over: both traces,
# settings, the first divergent key, the drift and a citation.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
command -v git >/dev/null || { echo 'no git'; exit 77; }
# The rules of the page, over two repositories.
sed -n '/^# handover.rules$/,/^```$/p' "$PLUMB_SOURCE_DIR/docs/gates.md" | sed 's/mypy model/sh types.sh/; /^```$/d' >hand_over.rules
[ "$(grep -c '^\[' hand_over.rules)" = 5 ] || fail "not five rules on the page: $(cat hand_over.rules)"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
mkdir ours reference
for repository in ours reference; do
    git -C $repository init -q -b main
    echo 'model' >$repository/model.py
    git -C $repository add model.py
    git -C $repository commit -q -m 'first'
done
echo '*.jsonl
*.rules
*.json
*.txt
types.sh' >ours/.git/info/exclude
echo 'hooks' >reference/model.py
git -C reference stash push -q -m 'trace hooks'
mv hand_over.rules ours
cd ours || exit 1
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
# failed N: check N fails, and no other
failed() {
    expect "check $1" 1 report json
    jq -e --argjson n "$1" '[.checks[] | .verdict] == [range(1; 6) | if . == $n then "regression" else "pass" end]' out.txt >/dev/null ||
        fail "$name: $(jq -c '[.checks[] | .verdict]' out.txt)"
}
echo 'changed' >model.py
failed 1
git checkout -q model.py
echo 'changed' >../reference/model.py
failed 2
git -C ../reference checkout -q model.py
echo 'changed' >model.py
git stash push -q -m 'forgotten'
failed 3
git stash drop -q
touch stray.npy
failed 4
rm stray.npy
echo 'exit 3' >types.sh
failed 5
jq -e '.facts["first divergent key"] == "block.1" and .facts.citation == "model.py:118"' out.txt >/dev/null || fail "$name: $(cat out.txt)"
# Without --commands nothing runs, and nothing passes.
expect 'no commands' 3 "$PLUMB_BIN" gate hand_over.rules
finish
