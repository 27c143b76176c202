#!/bin/bash
# Runs the property tests with many seeds: tools/soak.sh [NAME...], all of tests/property by default.
#
# SEEDS (100000) is the number of seeds of each; TEST_FIRST_SEED (1) the first. One program runs at a
# time, so that it also can be left alone for hours. The status is 1 when any failed.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JOBS=${JOBS:-$(nproc)} TEST_SEEDS=${SEEDS:-100000}

tools/deps.sh test && tools/build.sh dev || exit 1
dir=$(realpath "$BUILD/dev")
if [ $# = 0 ]; then
    for file in tests/property/*_test.c; do
        name=$(basename "$file" _test.c)
        set -- "$@" "$name"
    done
fi

passed=0 failed=0
for name in "$@"; do
    program=$dir/tests/bin/property.$name
    if [ ! -x "$program" ]; then
        echo "soak: there is no property test '$name' (tests/property/${name}_test.c)" >&2
        failed=$((failed + 1))
        continue
    fi
    began=$SECONDS
    if "$dir/run_test.sh" "property.$name" "" "$program"; then
        passed=$((passed + 1)) word=passed
    else
        failed=$((failed + 1)) word=FAILED
    fi
    echo "soak: $name: $word, $TEST_SEEDS seeds, $((SECONDS - began)) s"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
