#!/bin/sh
# labels: plain
# The public headers are for people (tools/check_public.py), and the check notices planted violations.
set -u
check=$PLUMB_SOURCE_DIR/tools/check_public.py
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# reports LINE HEADER TEXT: with that text as a header the check ends with 1 and says LINE
reports() {
    rm -rf planted
    mkdir -p planted/plumb/detail planted/plumb/read
    printf '%b' "$3" >"planted/plumb/$2"
    /usr/bin/python3 "$check" planted >out.txt 2>&1
    status=$?
    [ "$status" -eq "${4:-1}" ] || fail "$2: '$3': exit status $status"
    grep -qxF -- "$1" out.txt || fail "no line '$1': $(cat out.txt)"
}

/usr/bin/python3 "$check" "$PLUMB_SOURCE_DIR/include" || fail 'the headers as they are'

open='PLUMB_API int plumb_x_open(plumb_x **out, const char *path, plumb_error *err);\n'
reports 'public: 1 headers, 0 problems' read/x.h "/* Opens an x. */\n$open" 0
reports 'public: 1 headers, 0 problems' read/x.h "/* Opens an x. */\n$open$open" 0
reports 'public: plumb/read/x.h: plumb_x_close: no comment' read/x.h \
    "/* Opens an x. */\n${open}PLUMB_API void plumb_x_close(plumb_x *x);\n"
reports 'public: plumb/x.h: plumb_x_end: no comment' x.h \
    '/* Begins an x. */\nstatic inline void plumb_x_begin(int x)\n{\n}\nstatic inline void plumb_x_end(void)\n{\n}\n'
reports 'public: 1 headers, 0 problems' x.h \
    '/* Begins an x.\n * In two lines. */\nstatic inline void plumb_x_a(int x)\n{\n}\nstatic inline void plumb_x_b(int x)\n{\n}\n' 0
reports 'public: plumb/read/x.h: plumb_x_open: no comment' read/x.h "$open"
reports 'public: plumb/read/x.h: plumb_x_open: no comment' read/x.h "/* Opens an x. */\n\n$open"
reports 'public: plumb/x.h: plumb_x_open: its comment does not begin with a verb: /* The x. */' x.h "/* The x. */\n$open"
for noun in 'Options of an x' 'This opens an x' 'Opening an x' 'Always opens an x' 'An x'; do
    reports "public: plumb/x.h: plumb_x_open: its comment does not begin with a verb: /* $noun. */" x.h "/* $noun. */\n$open"
done
reports 'public: plumb/x.h: plumb_x_get: `out` is not the first parameter' x.h \
    '/* Fills an x. */\nstatic inline void plumb_x_get(const plumb_x *x,\n    plumb_row *out)\n{\n}\n'
reports 'public: plumb/x.h: plumb_x_get: `err` is not the last parameter' x.h \
    '/* Fills an x. */\nstatic inline void plumb_x_get(plumb_error *err, int n)\n{\n}\n'
reports 'public: plumb/x.h: plumb_x_text: `text` hands out a pointer: call it `out`' x.h \
    '/* Fills an x. */\nPLUMB_API int plumb_x_text(char **text);\n'
reports 'public: plumb/x.h: now: `out` is not the first parameter' x.h \
    'struct x {\n    int (*now)(void *arg, uint64_t *out);\n};\n'
reports 'public: 1 headers, 0 problems' detail/x.h "$open" 0
reports 'public: plumb/plumb.h: 301 lines; a manual has 300 at most' plumb.h "$(seq -s '\n' 301)\n"
reports 'public: 1 headers, 0 problems' plumb.h "$(seq -s '\n' 300)\n" 0

reports 'public: plumb/a.h: includes itself through others' a.h '#include <plumb/a.h>\n'
[ "$failures" -eq 0 ]
