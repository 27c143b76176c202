#!/bin/sh
# Builds the fuzz targets and runs each for FUZZ_SECONDS (60), starting from its corpus.
# New inputs go into the build tree; a crash is left there as crash-* and ends the run with status 1.
set -eu
cd "$(dirname "$0")/.."
tools/deps.sh test fuzz
tools/build.sh fuzz
dir=${BUILD:-build}/fuzz/fuzz
found=0
for target in "$dir"/*_fuzz; do
    [ -x "$target" ] || continue
    found=$((found + 1))
    name=$(basename "$target" _fuzz)
    seeds=tests/fuzz/corpus/$name
    mkdir -p "$dir/grown/$name"
    echo "== $name, ${FUZZ_SECONDS:-60} s"
    "$target" -max_total_time="${FUZZ_SECONDS:-60}" -print_final_stats=1 \
        -artifact_prefix="$dir/grown/$name-" "$dir/grown/$name" "$seeds"
done
if [ "$found" = 0 ]; then
    echo "fuzz: no target in $dir" >&2
    exit 1
fi
echo "$found fuzz targets, no crash"
