#!/bin/sh
# labels: plain
# PLUMB_STEPS obeys a limit without libplumb, and with it: the outermost loops of the thread that set it,
# however they are left. With PLUMB_DISABLE it obeys none.
set -u
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

# build NAME FLAG...
build() {
    program=$1
    shift
    $CC -std=c11 -Wall -Wextra -Werror -O1 -I "$PLUMB_SOURCE_DIR/include" "$@" \
        "$PLUMB_SOURCE_DIR/tests/runtime/_limit.c" -o "$program" -pthread || fail "$program is not built"
}

cat >limited.txt <<'END'
free: 0(2) 1(2) 2(2)
limited: 3(2) 4(2)
steps 10 ran 2 loops 1 current 4
after a return: 3(2) 4(2)
too short: 3(2)
nothing:
worker: 0(1) 1(1) 2(1)
free again: 0(2) 1(2) 2(2)
END

build bare
nm -D bare | grep -w U | grep plumb && fail 'it needs something of plumb'
./bare >out.txt || fail 'without libplumb: it fails'
cmp -s out.txt limited.txt || fail "without libplumb: $(diff out.txt limited.txt)"

"$PLUMB_BIN" record -- ./bare >out.txt 2>err.txt || fail "recorded: it fails: $(cat err.txt)"
cmp -s out.txt limited.txt || fail "recorded: $(diff out.txt limited.txt)"

build disabled -DPLUMB_DISABLE
./disabled >out.txt || fail 'disabled: it fails'
grep -q '^limited: 0(2) .* 9(2)$' out.txt || fail "disabled: $(cat out.txt)"
[ "$failures" -eq 0 ]
