#!/bin/sh
# labels: plain
# The row catalogue agrees with the tests in the tree and with its table by capability, and tools/check_rows.py
# notices when it does not: each fault is planted alone in a copy that passes without it.
#
# Needs no build. Every planted fault must be reported by its own line and by exit status 1: a
# checker that fails for another reason, or says nothing, does not pass.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
check=$root/tools/check_rows.py
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $1"
    failures=$((failures + 1))
}

# fresh_copy: what the checker looks at, and nothing else
fresh_copy() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs"
    cp "$root/docs/rows.md" "$work/tree/docs/"
    for dir in src tests; do
        if [ -d "$root/$dir" ]; then
            cp -R "$root/$dir" "$work/tree/"
        fi
    done
}

# plant FILE SED-SCRIPT: edits the copy, which must change
plant() {
    sed -e "$2" "$work/tree/$1" >"$work/edited"
    if cmp -s "$work/edited" "$work/tree/$1"; then
        fail "the fault '$2' changes nothing in $1"
    fi
    cp "$work/edited" "$work/tree/$1"
}

# reports NAME LINE: the checker ends with 1 and prints LINE (a fixed string)
reports() {
    /usr/bin/python3 "$check" "$work/tree" >"$work/out" 2>&1
    status=$?
    if [ "$status" -ne 1 ]; then
        fail "$1: exit status $status, not 1"
    fi
    if ! grep -qF -- "$2" "$work/out"; then
        fail "$1: no line says '$2'; it printed:"
        cat "$work/out"
    fi
}

if ! /usr/bin/python3 "$check" "$root"; then
    fail "the tree itself"
fi

fresh_copy
plant docs/rows.md '/^| AT-7 |/d'
reports "a missing row" "AT-7 is missing"

fresh_copy
plant docs/rows.md 's/^\(| CV-13 |.*| works |\).*$/\1 - |/'
reports "a row that works without a test" "CV-13 works but names no test"

fresh_copy
rm -f "$work/tree/tests/rows/"cv_13_*
reports "a row whose test is gone" "CV-13 names 'tests/rows/cv_13_*', and no test file matches"

fresh_copy
plant docs/rows.md '/^| TX-9 |/p'
reports "a row given twice" "TX-9 stands in line"

fresh_copy
plant docs/rows.md 's/^\(| TF-5 |.*\)| [a-z ]* |\([^|]*|\)$/\1| soon |\2/'
reports "an unknown status" "TF-5 has status 'soon'"

# A row that is not built yet, whichever it is today, is said to work.
fresh_copy
row=$(sed -n 's/^| \([A-Z]*-[0-9]*\) |.* | not yet |.*/\1/p' "$root/docs/rows.md" | head -n 1)
plant docs/rows.md "s/^| Timing of nodes | /&works: $row; /"
reports "a table that claims more" "$row is 'works' here and 'not yet' in docs/rows.md"

fresh_copy
plant docs/rows.md 's/^\(| \*\*Rows\*\* | works \)[0-9]*/\199/'
reports "a table that counts wrongly" "FV counts 'works 99"

/usr/bin/python3 "$check" --no-such-option >"$work/out" 2>&1
status=$?
if [ "$status" -ne 2 ]; then
    fail "wrong usage: exit status $status, not 2"
fi

if [ "$failures" -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "the catalogue agrees with the tree, and planted faults are found"
