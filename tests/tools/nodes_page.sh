#!/bin/sh
# docs/nodes.md explains every column that plumb report has, every kind of drop that timing.json counts,
# and names bench keys that exist.
set -u
page=$PLUMB_SOURCE_DIR/docs/nodes.md
report=$PLUMB_SOURCE_DIR/tests/cli/data/rich.json
status=0

# explained WORD...: each stands on the page between backquotes, or as the title of a column
explained() {
    for word in "$@"; do
        grep -qF -- "\`$word\`" "$page" && continue
        grep -qE "^\|( [^|]*,)? $(printf '%s' "$word" | sed 's/[().*+]/\\&/g')(,| \|)" "$page" && continue
        echo "nodes_page: docs/nodes.md does not explain '$word'" >&2
        status=1
    done
}

served=$PLUMB_SOURCE_DIR/tests/cli/data/served.json
words=
for view in nodes tree memory requests; do
    words="$words $("$PLUMB_BIN" report $view --format csv "$served" 2>/dev/null | head -n 1 | tr ',' ' ')"
done
[ "$(echo "$words" | wc -w)" -ge 70 ] || { echo 'nodes_page: no columns' >&2; exit 1; }
# shellcheck disable=SC2086 # words
explained $words

for view in '--wide nodes' tree memory requests; do
    # shellcheck disable=SC2086 # words
    "$PLUMB_BIN" report $view --explain "$served" >>explained.txt 2>/dev/null
done
"$PLUMB_BIN" report signatures --explain "$PLUMB_SOURCE_DIR/tests/fuzz/corpus/signature/golden.json" \
    >>explained.txt 2>/dev/null
awk '/^Columns/ { inside = 1; next } !/^  / { inside = 0 } inside { print }' explained.txt |
    cut -c 3-13 | sed 's/ *$//' | sort -u >titles.txt
[ "$(wc -l <titles.txt)" -ge 48 ] || { echo 'nodes_page: no titles' >&2; exit 1; }
while read -r title; do
    explained "$title"
done <titles.txt

for drop in $(jq -r '.drops | keys[]' "$report"); do
    [ "$drop" = unbalanced ] || explained "$drop"
done

# Figures of the table of modes are those of a benchmark.
keys=$(sed -n '/^| Mode /,/^$/p' "$page" | grep -oE '\(`[a-z0-9_]+`' | tr -d '(`')
[ "$(echo "$keys" | wc -w)" -ge 4 ] || { echo 'nodes_page: no bench keys' >&2; exit 1; }
for key in $keys; do
    grep -qF "\`$key\`" "$PLUMB_SOURCE_DIR/bench/README.md" || {
        echo "nodes_page: no benchmark measures '$key'" >&2
        status=1
    }
done
exit $status
