#!/bin/sh
# labels: plain
# The sources keep the rules of their layers, and the check notices planted violations.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_layers.py
"$check" "$PLUMB_SOURCE_DIR"

# planted FILE LINE MESSAGE: a tree with that line in that file must fail, and say so.
planted() {
    rm -rf tree
    mkdir -p tree/include/plumb/read tree/include/plumb/detail tree/src/base/stats tree/src/record/span tree/src/live tree/src/tensor \
        tree/src/report/table tree/src/report/run tree/cli tree/tests
    touch tree/include/plumb/plumb.h tree/include/plumb/detail/abi.h tree/src/base/error.h tree/src/base/stats/stats.h \
        tree/src/record/span/ring.h tree/src/tensor/stats.h tree/src/report/run/render.h tree/tests/fixture.h
    echo '#include "base/error.h"' >tree/src/live/fine.c
    echo "$2" >"tree/$1"
    if "$check" tree >out.txt 2>&1; then
        echo "'$2' in $1 went through" >&2
        exit 1
    fi
    if ! grep -q -F "$3" out.txt; then
        echo "'$2' in $1 failed, but without '$3':" >&2
        cat out.txt >&2
        exit 1
    fi
}

planted src/base/up.c '#include "record/span/ring.h"' 'up.c:1: base may not include record'
planted src/base/within.c '#include "base/stats/stats.h"' 'base/ may not include base/stats'
planted src/report/table/up.c '#include "report/run/render.h"' \
    'report/table may not include report/run'
planted src/live/sideways.c '#  include <tensor/stats.h>' 'live may not include tensor'
planted src/record/span/sleeps.c '    nanosleep(&t, NULL);' 'nanosleep() is a cancellation point'
planted src/live/climbs.c '#include "../base/error.h"' 'climbs out of its folder'
planted src/live/gone.c '#include "base/gone.h"' '"base/gone.h" does not exist'
planted cli/main.c '#include "base/error.h"' 'cli may not include base'
planted cli/main.c '#include <plumb/detail/abi.h>' 'cli may not include "plumb/detail/abi.h"'
planted include/plumb/read/trace.h '#include "base/error.h"' 'public may not include base'
planted src/live/fixture.c '#include "fixture.h"' '"fixture.h" does not exist'
planted src/stray.c '#include <stdio.h>' 'lies in no layer'

# A circle of two files; headers of parts do not make one.
tree() {
    rm -rf tree
    mkdir -p tree/src/live
    echo '#include "live/one.h"' >tree/src/live/one.c
    echo '#include "live/one.h"' >tree/src/live/parts.h
    touch tree/src/live/one.h tree/src/live/two.h
    printf '#include "live/two.h"\n#include "live/parts.h"\n' >tree/src/live/two.c
}
tree
"$check" tree
echo '#include "live/two.h"' >>tree/src/live/one.c
echo '#include "live/parts.h"' >>tree/src/live/one.c
if "$check" tree 2>out.txt || ! grep -q 'src/live: files include each other in a circle: one, two' out.txt; then
    echo "a circle went through" >&2
    exit 1
fi

# Eleven files without a README.md, one that is too long, and too many files.
tree
for n in $(seq 7); do
    touch "tree/src/live/more$n.h"
done
if "$check" tree 2>out.txt || ! grep -q 'src/live: 12 files and no README.md' out.txt; then
    echo "a folder without its README.md went through" >&2
    exit 1
fi
seq 13 >tree/src/live/README.md
if "$check" tree 2>out.txt || ! grep -q 'README.md: more than 12 lines' out.txt; then
    echo "a long README.md went through" >&2
    exit 1
fi
seq 12 >tree/src/live/README.md
"$check" tree
for n in $(seq 34); do
    touch "tree/src/live/many$n.h"
done
if "$check" tree 2>out.txt || ! grep -q 'src/live: 46 files; a folder has 45 at most' out.txt; then
    echo "a folder of 46 files went through" >&2
    exit 1
fi

# Other folders that need one: every kind of file counts, and their README.md has its bound too.
for folder in include/plumb/read cli tools cmake; do
    tree
    mkdir -p "tree/$folder"
    for n in $(seq 10); do
        echo >"tree/$folder/script$n.sh"
    done
    echo fine >"tree/$folder/README.md"
    "$check" tree
    rm "tree/$folder/README.md"
    "$check" tree
    touch "tree/$folder/table.map"
    if "$check" tree 2>out.txt || ! grep -q "^$folder: 11 files and no README.md" out.txt; then
        echo "$folder without its README.md went through" >&2
        exit 1
    fi
    seq 13 >"tree/$folder/README.md"
    if "$check" tree 2>out.txt || ! grep -q "^$folder/README.md: more than 12 lines" out.txt; then
        echo "a long README.md in $folder went through" >&2
        exit 1
    fi
done

tree
mkdir tree/tests
touch tree/tests/fixture.h
echo '#include "fixture.h"' >tree/src/live/fine_test.c
"$check" tree
