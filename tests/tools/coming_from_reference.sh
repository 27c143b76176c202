#!/bin/sh
# labels: plain, reference
# Every name in the reference document of the systems that plumb succeeds is on docs/coming-from.md, and
# the check notices one that is not: each fault is planted alone in copies that pass without it.
set -u
check=$PLUMB_SOURCE_DIR/tools/check_coming_from.py
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

if ! /usr/bin/python3 "$check" --reference "$PLUMB_REFERENCE" "$PLUMB_SOURCE_DIR"; then
    fail 'the page itself'
fi

# fresh: copies of the page and of the document
fresh() {
    mkdir -p tree/docs
    cp "$PLUMB_SOURCE_DIR/docs/coming-from.md" tree/docs/
    cp "$PLUMB_REFERENCE" reference.md
    chmod u+w reference.md
}

# plant FILE SED-SCRIPT
plant() {
    sed -e "$2" "$1" >edited
    cmp -s edited "$1" && fail "the fault '$2' changes nothing in $1"
    cp edited "$1"
}

# reports NAME LINE: the check ends with 1 and says LINE, a fixed string, and nothing else
reports() {
    /usr/bin/python3 "$check" --reference reference.md tree >out.txt 2>&1
    status=$?
    [ "$status" -eq 1 ] || fail "$1: exit status $status, not 1"
    grep -qF -- "$2" out.txt || fail "$1: no line says '$2': $(head -n 5 out.txt)"
    [ "$(grep -vcF -- "$2" out.txt)" -eq 0 ] || fail "$1: it says more: $(cat out.txt)"
    fresh
}

fresh
for name in FASTVIDEO_TRACE_STEPS ProfilingContext log_performance .hf_sync_complete skip_first_n \
    telefuser_stage_ '  - <name>' --max-intra-batch-regression SetProfilingRequest; do
    plant tree/docs/coming-from.md "/^| \`$name/d"
    reports "without $name" 'is not on the page'
done
plant tree/docs/coming-from.md 's/^| `_TELEFUSER_WORKER_TIMING_DIR` | variable | TF-14/| `_TELEFUSER_WORKER_TIMING_DIR` | variable | FV-14/'
reports 'another system' "'_TELEFUSER_WORKER_TIMING_DIR' is not on the page as a name of TF"

plant reference.md 's/^| TF-7 |/| TF-7 | `TELEFUSER_LATER_VARIABLE`/'
reports 'a new variable' "'TELEFUSER_LATER_VARIABLE' is not on the page"
plant reference.md 's/^| FV-7 |/| FV-7 | `later(first, second=1)`/'
reports 'a new function' 'is not on the page (from `later(first, second=1)`)'
[ "$(/usr/bin/python3 "$check" --reference reference.md tree | wc -l)" -eq 0 ] || fail 'fresh copies'
plant reference.md 's/^| AT-7 |/| AT-7 | writes later_field too/'
reports 'a new word of prose' "'later_field' is not on the page"
plant reference.md 's/^| CV-7 |/| CV-7 | `cuvis_{first,second}`/'
reports 'a new pair' 'is not on the page (from `cuvis_{first,second}`)'
plant reference.md 's/`all rows differ`/all rows differ/'
reports 'an exception without a reason' "the exception 'all rows differ' is not in the reference"
printf '' >reference.md
/usr/bin/python3 "$check" --reference reference.md tree >out.txt 2>&1 && fail 'an empty document passes'
/usr/bin/python3 "$check" --reference nowhere.md tree >out.txt 2>&1 && fail 'no document passes'
grep -q 'cannot be read' out.txt || fail "no document: $(cat out.txt)"

[ "$failures" -eq 0 ]
