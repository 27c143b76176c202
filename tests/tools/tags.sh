#!/bin/sh
# labels: plain
# No two types of the sources share a tag, and the check notices planted pairs.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_tags.py
"$check" "$PLUMB_SOURCE_DIR"

# tree FILE TEXT FILE TEXT: a tree of two files with these texts.
tree() {
    rm -rf tree
    mkdir -p tree/src tree/include/plumb
    echo "$2" >"tree/$1"
    echo "$4" >"tree/$3"
}

# planted TAG FILE TEXT FILE TEXT: the two share TAG, which the check must say, with both files.
planted() {
    tag=$1
    shift
    tree "$@"
    if "$check" tree >out.txt 2>&1; then
        echo "'$tag' in $1 and $3 went through" >&2
        exit 1
    fi
    grep -q -F "'$tag' is defined in" out.txt
    grep -q -F "$1" out.txt
    grep -q -F "$3" out.txt
}

# passes FILE TEXT FILE TEXT: the two share nothing that matters.
passes() {
    tree "$@"
    "$check" tree
}

planted plumb_ring src/a.c 'struct plumb_ring {' src/b.c 'struct plumb_ring {'
planted plumb_ring src/a.c 'struct plumb_ring {' src/b.c 'enum plumb_ring {'
planted span include/plumb/a.h 'typedef struct span {' src/b.c 'struct span
{'
passes src/a.c 'struct reader {' src/b.c 'struct reader {'
passes src/a.h 'struct plumb_ring {' src/b.c 'static struct plumb_ring *f(void) {'
passes src/a.h 'struct plumb_ring {' src/b.c '/* struct plumb_ring { */ struct reader {'
passes src/a.h 'struct plumb_env {
};
struct plumb_env {' src/b.c 'struct reader {'
