#!/bin/sh
# labels: plain
# The table of mutants fits the source and the row catalogue, and the check notices planted faults.
set -eu
"$PLUMB_SOURCE_DIR/tools/mutants.py" --check

# planted WANTED: the copy must fail, and say so.
planted() {
    if copy/tools/mutants.py --check >out.txt 2>&1; then
        echo "a planted fault went through: $1" >&2
        exit 1
    fi
    if ! grep -q -F "$1" out.txt; then
        echo "a planted fault failed, but without '$1':" >&2
        cat out.txt >&2
        exit 1
    fi
}

mkdir -p copy/tools copy/docs copy/tests/mutants copy/tests/rows copy/src
cp "$PLUMB_SOURCE_DIR/tools/mutants.py" copy/tools/
echo 'int one = 1; int two = 1;' >copy/src/x.c
touch copy/tests/rows/cv_1_off_test.c copy/tests/rows/cv_2_more.sh
cat >copy/docs/rows.md <<'END'
| CV-1 | a line | works | `tests/rows/cv_1_*` |
| CV-2 | a line | not yet | - |
END
table=copy/tests/mutants/cv.txt

# entry [LINE...]: writes a table of one entry, which ends with these lines.
entry() {
    printf '%s\n' 'mutant CV-1: one is two' 'file src/x.c' "$@" >"$table"
}

entry '- one = 1' '+ one = 2'
copy/tools/mutants.py --check
entry 'test rows.cv_1_off' '- one = 1' '+ one = 2'
copy/tools/mutants.py --check
entry '- = 1' '+ = 2'
planted 'the text occurs 2 times in src/x.c, not once'
entry '- three' '+ four'
planted 'the text occurs 0 times'
entry '- one = 1' '+ one = 1'
planted 'changes nothing'
entry 'test rows.cv_2_more' '- one = 1' '+ one = 2'
planted 'docs/rows.md does not cite rows.cv_2_more for CV-1'
entry 'test rows.cv_1_off' 'surprise' '- one = 1' '+ one = 2'
planted 'not understood: surprise'
printf '%s\n' 'mutant part: two is three' 'file src/x.c' '- two = 1' '+ two = 3' >copy/tests/mutants/parts.txt
entry '- one = 1' '+ one = 2'
planted 'parts.txt:1: names no test'
sed -i '2i test rows.cv_9_none' copy/tests/mutants/parts.txt
planted "there is no test 'rows.cv_9_none'"
sed -i 's/cv_9_none/cv_2_more/' copy/tests/mutants/parts.txt
copy/tools/mutants.py --check
: >"$table"
planted 'CV-1 works and has no mutant'
