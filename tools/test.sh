#!/bin/bash
# Builds presets and runs their tests: tools/test.sh PRESET...
#
#   TEST_TARGET  build this target alone (all)
#   CTEST_ARGS   further arguments of ctest, as -R REGEX
#
# The last line is the sum over all builds, alone: "N passed, N failed", with ", N skipped" where tests
# were. A build that fails counts as one failed test, and does not keep the other builds from running.
# The status is 1 when anything failed.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JOBS=${JOBS:-$(nproc)}
passed=0 failed=0 skipped=0 traces_skipped=0 reference_skipped=0
troubles=()

note() {
    printf '\n== %s\n' "$*"
}

# Sanitizer runtimes of gcc 12 and clang 14 want their shadow where wide address randomisation puts
# other things: give such kernels' processes a fixed layout where we may.
launcher=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] &&
    setarch "$(uname -m)" -R true 2>/dev/null; then
    launcher=(setarch "$(uname -m)" -R)
fi

# count ATTRIBUTE FILE: a number of the <testsuite> element of a JUnit file.
count() {
    sed -n "/<testsuite/,/>/s/^.*[[:space:]]$1=\"\([0-9]*\)\".*\$/\1/p" "$2" | head -n 1
}

run_preset() {
    local preset=$1 dir=$BUILD/$1 junit total bad gone
    note "$preset: build"
    if ! tools/build.sh "$preset" --target "${TEST_TARGET:-all}"; then
        failed=$((failed + 1))
        troubles+=("$preset: the build")
        return
    fi
    note "$preset: tests"
    junit=$(realpath "$dir")/junit.xml
    rm -f "$junit"
    # A fifth of the tests' time is spent waiting: for processes, limits of time, servers.
    "${launcher[@]}" ctest --test-dir "$dir" -j "$((JOBS + 1))" --output-on-failure --no-tests=error \
        --output-junit "$junit" ${CTEST_ARGS:-}
    if [ ! -s "$junit" ] || [ "$(count tests "$junit")" = 0 ]; then
        failed=$((failed + 1))
        troubles+=("$preset: no test ran")
        return
    fi
    total=$(count tests "$junit") bad=$(count failures "$junit") gone=$(count skipped "$junit")
    passed=$((passed + total - bad - gone))
    failed=$((failed + bad))
    skipped=$((skipped + gone))
    if [ "$bad" -gt 0 ]; then
        while read -r name; do
            troubles+=("$preset: $name")
        done < <(sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$junit")
    fi
    traces_skipped=$((traces_skipped + $(grep -c 'no outside traces' "$junit")))
    reference_skipped=$((reference_skipped + $(grep -c 'no outside reference' "$junit")))
}

tools/deps.sh test || exit 1
for preset in "$@"; do
    run_preset "$preset"
done

echo
for trouble in "${troubles[@]}"; do
    echo "failed in $trouble"
done
if [ "$traces_skipped" -gt 0 ]; then
    echo "$traces_skipped tests skipped: no outside traces here (set PLUMB_TRACES to their folder)"
fi
if [ "$reference_skipped" -gt 0 ]; then
    echo "$reference_skipped tests skipped: no outside reference here (set PLUMB_REFERENCE to its file)"
fi
line="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then
    line="$line, $skipped skipped"
fi
echo "$line"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
