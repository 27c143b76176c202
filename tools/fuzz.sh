#!/bin/sh
# Builds the fuzz targets and runs each from its corpus.
#
#   tools/fuzz.sh          with libFuzzer, FUZZ_SECONDS (60) each
#   tools/fuzz.sh --long   with libFuzzer and with AFL++, FUZZ_SECONDS (600) each
#
# FUZZ_TARGETS="gz live" selects targets. One program runs at a time. A table of executions ends the output.
# New inputs go into the build tree. So does an input that crashes or hangs: its path is printed, and the
# status is 1. Without AFL++ the long run is of libFuzzer alone, and says so.
set -eu
cd "$(dirname "$0")/.."

long=0
case ${1-} in
'') ;;
--long) long=1 ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
seconds=${FUZZ_SECONDS:-}
[ -n "$seconds" ] || { [ "$long" = 1 ] && seconds=600 || seconds=60; }
build=${BUILD:-build}
out=$build/fuzz/out
table=$out/executions.txt
found=0

# row ENGINE TARGET EXECUTIONS FOUND
row() {
    printf '%-9s  %-22s %14s %10s  %s\n' "$1" "$2" "$3" \
        "$(awk -v n="$3" -v s="$seconds" 'BEGIN { printf "%.0f", n / s }')" "$4" >>"$table"
}

# broke ENGINE TARGET LOG INPUT...: counts the finding and prints it.
broke() {
    found=$((found + 1))
    echo "fuzz: $1 broke $2; the end of $3:" >&2
    tail -n 25 "$3" >&2
    shift 3
    [ $# = 0 ] || printf 'fuzz: the input: %s\n' "$@" >&2
}

run_libfuzzer() {
    name=$1
    log=$out/$name-libfuzzer.log
    mkdir -p "$out/grown/$name"
    rm -f "$out/$name"-crash-* "$out/$name"-timeout-* "$out/$name"-oom-* "$out/$name"-leak-*
    status=0
    "$build/fuzz/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 \
        -artifact_prefix="$out/$name-" "$out/grown/$name" "tests/fuzz/corpus/$name" \
        >"$log" 2>&1 || status=$?
    executions=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$log")
    told=none
    if [ "$status" != 0 ]; then
        told="status $status"
        # shellcheck disable=SC2046 # one word an input: our own folder, and libFuzzer's names
        broke libFuzzer "$name" "$log" $(find "$out" -maxdepth 1 -name "$name-*-*")
    fi
    row libFuzzer "$name" "${executions:-0}" "$told"
}

run_afl() {
    name=$1
    log=$out/$name-afl.log
    dir=$out/afl/$name
    rm -rf "$dir"
    mkdir -p "$out/afl"
    status=0
    AFL_NO_UI=1 AFL_NO_COLOR=1 AFL_QUIET=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 \
        AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 \
        afl-fuzz -V "$seconds" -t 60000 -m none -i "tests/fuzz/corpus/$name" -o "$dir" \
        -- "$build/afl/fuzz/${name}_fuzz" >"$log" 2>&1 || status=$?
    executions=$(awk '$1 == "execs_done" { print $3 }' "$dir/default/fuzzer_stats" 2>/dev/null) || :
    told=none
    inputs=$(find "$dir" \( -path '*/crashes/id*' -o -path '*/hangs/id*' \) 2>/dev/null) || :
    if [ "$status" != 0 ] || [ -n "$inputs" ]; then
        told="status $status, $(printf '%s' "$inputs" | grep -c . || :) inputs"
        # shellcheck disable=SC2086 # one word an input: our own folder, and AFL++'s names
        broke AFL++ "$name" "$log" $inputs
    fi
    row AFL++ "$name" "${executions:-0}" "$told"
}

tools/deps.sh test fuzz
tools/build.sh fuzz
engines=libfuzzer
if [ "$long" = 1 ]; then
    if tools/deps.sh afl; then
        AFL_QUIET=1 tools/build.sh afl
        engines='libfuzzer afl'
    else
        echo 'fuzz: no AFL++ here (package afl++ has afl-fuzz and afl-clang-fast): libFuzzer alone' >&2
    fi
fi

mkdir -p "$out"
printf '%-9s  %-22s %14s %10s  %s\n' engine target executions 'a second' found >"$table"
count=0
for source in tests/fuzz/*_fuzz.c; do
    name=$(basename "$source" _fuzz.c)
    case " ${FUZZ_TARGETS:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    count=$((count + 1))
    for engine in $engines; do
        echo "== $name, $engine, $seconds s"
        "run_$engine" "$name"
    done
done
if [ "$count" = 0 ]; then
    echo "fuzz: no target is called '${FUZZ_TARGETS:-}'" >&2
    exit 1
fi
cat "$table"
[ "$long" = 0 ] || [ "$engines" != libfuzzer ] || echo 'AFL++ was left out: it is not installed (package afl++)'
if [ "$found" != 0 ]; then
    echo "fuzz: $found of these runs broke their target" >&2
    exit 1
fi
echo "$count fuzz targets, nothing found"
