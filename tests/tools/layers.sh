#!/bin/sh
# labels: plain
# The sources keep the rules of their layers, and the check notices planted violations.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_layers.py
"$check" "$PLUMB_SOURCE_DIR"

# planted FILE LINE MESSAGE: a tree with that line in that file must fail, and say so.
planted() {
    rm -rf tree
    mkdir -p tree/include/plumb tree/src/base tree/src/core tree/src/format tree/src/tensor tree/cli \
        tree/tests
    touch tree/include/plumb/plumb.h tree/src/base/error.h tree/src/core/ring.h \
        tree/src/tensor/stats.h tree/tests/fixture.h
    echo '#include "base/error.h"' >tree/src/format/fine.c
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

planted src/base/up.c '#include "core/ring.h"' 'up.c:1: base may not include core'
planted src/format/sideways.c '#  include <tensor/stats.h>' 'format may not include tensor'
planted src/core/sleeps.c '    nanosleep(&t, NULL);' 'nanosleep() is a cancellation point'
planted src/format/climbs.c '#include "../base/error.h"' 'climbs out of its folder'
planted src/format/gone.c '#include "base/gone.h"' '"base/gone.h" does not exist'
planted cli/main.c '#include "base/error.h"' 'cli may not include base'
planted include/plumb/trace.h '#include "base/error.h"' 'public may not include base'
planted src/format/fixture.c '#include "fixture.h"' '"fixture.h" does not exist'
planted src/stray.c '#include <stdio.h>' 'lies in no layer'

rm tree/src/stray.c
echo '#include "fixture.h"' >tree/src/format/fine_test.c
"$check" tree
