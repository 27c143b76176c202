#!/bin/bash
# Runs the long forms of tests: tools/soak.sh [NAME...], all of them by default: property.spans is a
# property test, hosts.forks_while_recording a host.
#
#   SEEDS            seeds of each property test (100000); TEST_FIRST_SEED (1) is the first
#   TEST_KILLS       kills of each test that kills a recording process (1000)
#   ROUNDS           hosts do so many times the rounds that they do in `make test` (100)
#
# One program runs at a time, but for property.host, so that it also can be left alone for hours. The status is 1 when any
# failed.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build} JOBS=${JOBS:-$(nproc)}
seeds=${SEEDS:-100000} rounds=${ROUNDS:-100}

tools/deps.sh test && tools/build.sh dev || exit 1
dir=$(realpath "$BUILD/dev")
hosts=$PWD/tests/hosts
if [ $# = 0 ]; then
    for file in tests/property/*_test.c tests/hosts/[!_]*.{c,cc,sh}; do
        [ -e "$file" ] || continue
        name=${file#tests/} name=${name%.*} name=${name%_test}
        set -- "$@" "${name/\//.}"
    done
    set -- "$@" runtime.trace_kill runtime.kill_everything
fi

# processes NAME PROGRAM: a property whose seeds wait more than they work, JOBS at a time
processes() {
    local share=$(((seeds + JOBS - 1) / JOBS)) first=${TEST_FIRST_SEED:-1} status=0 jobs=() job
    for ((job = 0; job < JOBS; job++)); do
        TEST_FIRST_SEED=$((first + job * share)) TEST_SEEDS=$share \
            "$dir/run_test.sh" "$1.$job" "" "$2" 2>"$dir/soak.$job.txt" &
        jobs+=($!)
    done
    for job in "${!jobs[@]}"; do
        wait "${jobs[job]}" || status=1
        grep -v '^plumb:' "$dir/soak.$job.txt" >&2
    done
    return $status
}

# soak NAME: what ctest runs under this name, for longer
soak() {
    local script=$hosts/${1#hosts.}.sh program=$dir/tests/bin/$1
    case $1 in
    property.host) processes "$1" "$program" ;;
    runtime.*) TEST_KILLS=${TEST_KILLS:-1000} "$dir/run_test.sh" "$1" "" "$program" ;;
    property.*) TEST_SEEDS=$seeds "$dir/run_test.sh" "$1" "" "$program" ;;
    *)
        export TEST_SEEDS=$seeds TEST_ROUNDS=$rounds
        if [ -e "$script" ]; then
            "$dir/run_test.sh" "$1" "" "$script"
        else
            "$dir/run_test.sh" "$1" "" "$hosts/_run.sh" "$program"
        fi
        ;;
    esac
}

passed=0 failed=0
for name in "$@"; do
    began=$SECONDS
    if (soak "$name"); then
        passed=$((passed + 1)) word=passed
    else
        failed=$((failed + 1)) word=FAILED
    fi
    echo "soak: $name: $word, $((SECONDS - began)) s"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
