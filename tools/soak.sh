#!/bin/bash
# Runs the long forms of tests: tools/soak.sh [NAME...], all of them by default: property.spans is a
# property test, hosts.forks_while_recording a host, cli.gate_counts a gate.
#
#   SEEDS        seeds of each property test (100000); TEST_FIRST_SEED (1) is the first
#   TEST_KILLS   kills of each test that kills a recording process (1000)
#   TEST_GATES   recordings of unchanged code that rules on counts must pass on a busy machine (200)
#   ROUNDS       hosts do so many times the rounds that they do in `make test` (25)
#   JOBS         programs that run at the same time (one a processor)
#
# The output of a program stays in BUILD/dev/soak/NAME.txt and is shown if the program fails. The whole
# takes hours and needs no attention. The status is 1 if a program failed.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JOBS=${JOBS:-$(nproc)}
seeds=${SEEDS:-100000} kills=${TEST_KILLS:-1000} gates=${TEST_GATES:-200} rounds=${ROUNDS:-25}

tools/deps.sh test && tools/build.sh dev || exit 1
dir=$(realpath "$BUILD/dev")
hosts=$PWD/tests/hosts
mkdir -p "$dir/soak"
if [ $# = 0 ]; then
    # The longest tests begin first.
    set -- property.host property.requests property.spans
    for file in tests/property/*_test.c tests/hosts/[!_]*.{c,cc,sh}; do
        name=${file#tests/} name=${name%.*} name=${name%_test} name=${name/\//.}
        [[ ! -e $file || " $* " == *" $name "* ]] || set -- "$@" "$name"
    done
    set -- "$@" runtime.trace_kill runtime.kill_everything cli.gate_counts
fi

# run NAME: what ctest runs under this name, for longer
run() {
    local script=$hosts/${1#hosts.}.sh program=$dir/tests/bin/$1
    case $1 in
    hosts.*)
        export TEST_ROUNDS=$rounds
        if [ -e "$script" ]; then
            "$dir/run_test.sh" "$1" "" "$script"
        else
            "$dir/run_test.sh" "$1" "" "$hosts/_run.sh" "$program"
        fi
        ;;
    cli.*) TEST_GATES=$gates "$dir/run_test.sh" "$1" "" "$PWD/tests/cli/${1#cli.}.sh" ;;
    *) TEST_SEEDS=$seeds TEST_KILLS=$kills "$dir/run_test.sh" "$1" "" "$program" ;;
    esac
}

# soak NAME: runs it, says how it ended and how long it took
soak() {
    local log=$dir/soak/$1.txt began=$SECONDS status=0
    run "$1" >"$log" 2>&1 || status=$?
    case $status in
    0) echo "soak: $1: passed, $((SECONDS - began)) s" ;;
    77) echo "soak: $1: skipped: $(tail -n 1 "$log")" && status=0 ;;
    *)
        grep -v '^plumb:' "$log" | tail -n 60 >&2
        echo "soak: $1: FAILED, $((SECONDS - began)) s; $log"
        ;;
    esac
    return $status
}

passed=0 failed=0
# ended: counts a program that has ended
ended() {
    if wait -n; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}
running=0
for name in "$@"; do
    if [ $running -ge "$JOBS" ]; then
        ended
        running=$((running - 1))
    fi
    soak "$name" &
    running=$((running + 1))
done
for ((; running > 0; running--)); do
    ended
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
