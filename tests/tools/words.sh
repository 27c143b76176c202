#!/bin/sh
# labels: plain
# Messages, comments and pages keep to the words of tools/check_words.py, which notices planted ones and
# leaves alone text that only looks like them.
set -eu
check=$PLUMB_SOURCE_DIR/tools/check_words.py
"$check" "$PLUMB_SOURCE_DIR"

# plant FILE TEXT: a tree with that file alone
plant() {
    rm -rf tree
    mkdir -p "tree/$(dirname "$1")"
    printf '%s\n' "$2" >"tree/$1"
}

# planted FILE TEXT RULE: it must be found, by that rule
planted() {
    plant "$1" "$2"
    if "$check" tree >out.txt 2>&1 || ! grep -q "^$1:[0-9]*: $3: write " out.txt; then
        echo "'$2' in $1 is not found by '$3':" >&2
        cat out.txt >&2
        exit 1
    fi
}

# fine FILE TEXT: nothing may be found
fine() {
    plant "$1" "$2"
    if ! "$check" tree >out.txt 2>&1; then
        echo "a false alarm on '$2' in $1:" >&2
        cat out.txt >&2
        exit 1
    fi
}

export GIT_CEILING_DIRECTORIES="$PWD"
message=src/read/file.c comment=src/base/file.c header=include/plumb/file.h page=docs/page.md
planted $message 'fail("%s is no trace");' 'is no'
planted $message 'fail("%s is "
                     "no trace");' 'is no'
planted $header '/* Fails where x
 * is no trace. */' 'is no'
planted $page 'A file that
is no trace.' 'is no'
planted $message 'fail("a device that is none: give another");' 'is none'
planted $header '/* 0 is none. */' 'is none'
planted $page 'Install it anew.' 'anew'
planted $comment '/* The counter that is no
 * number. */' 'is no'
planted tests/unit/x_test.c '/* Begins anew. */' 'anew'
planted bench/x.c 'int a; // begins anew' 'anew'
planted $message 'say("the layers tell of it");' 'tell of'
planted $page 'Failures are told of.' 'tell of'
planted $message 'say("%s, and nothing else.");' 'else at the end'
planted $header '/* Who reads it waits. */' 'headless Who'
planted $header '/* Reads it. Whoever calls it waits. */' 'headless Who'
planted $page 'A page.

Who writes waits.' 'headless Who'
planted $comment '/* file.c: reads.
 *
 * Whoever reads it waits. */' 'headless Who'
planted $comment '/* What the file lacks. */' 'headless What'
planted $header '/* Copies it. What does not fit
 * is cut. */' 'headless What'
planted $page 'A page. What is missing is not shown.' 'headless What'
planted $message 'say("What is missing is not shown.");' 'headless What'
planted $comment 'int a; /* the byte behind it */' 'behind'
planted $page 'The file behind
the link.' 'behind'
planted $comment '/* Kept beside the file. */' 'beside'
planted $message 'fail("released meanwhile");' 'meanwhile'
planted $comment '/* Meanwhile it changes. */' 'meanwhile'
planted $comment '/* Nobody reads it. */' 'somebody'
planted tests/unit/x_test.c '/* As somebody would. */' 'somebody'
planted $header '/* Wakes everybody who waits. */' 'somebody'
planted $message 'fail("no room for the path");' 'room'
planted $comment '/* NULL: no room. */' 'room'
planted $page 'The rest has no room.' 'room'

fine $message 'fail("there is no trace"); /* there is no trace */'
fine $message 'fail("it is no longer there, and there is none");'
fine $comment '/* It is no larger than `most`, no later, and no one waits. */'
fine $comment 'int behind = beside(meanwhile); /* `behind` and `nobody else.` are names */'
fine $comment '/* Reads the rest. What is missing? */'
fine $comment '/* What a collector relies on
 *   - `start` returns. */'
fine $page '# What it prints

What a run leaves:

- files.'
fine $message 'if (is_no_trace("who reads it")) else_room();'
fine $page 'The status is `is none`, and `told of` stays.

```
nothing else. Who ran? no room for it
```

    a device that is none'
fine $header '/* Returns the thread that reads, or something else if asked. */'
fine src/read/file_test.c 'check("x is no trace");'
fine STYLE.md 'never "is no", "anew".'
