#!/bin/sh
# labels: plain
# TF-1: break, continue, return, goto and switch mean with spans what they mean without: a program with
# every way out of a scope computes the same without a runtime, with recording off, with recording on
# and with PLUMB_DISABLE; recording counts each run; disabled, no symbol of plumb is left.
set -u
lib_dir=$(dirname "$PLUMB_LIB")
source=$PLUMB_SOURCE_DIR/tests/rows/_scope_forms.c
failures=0

fail() {
    echo "FAIL: $compiler $level: $*" >&2
    failures=$((failures + 1))
}

cat >expected.txt <<END
loops 217
0: early 0 if -3 switch 5 past 10
1: early 10 if 4 switch 13 past 20
2: early -2 if -1 switch 7 past 30
3: early 3 if 6 switch 100 past 0
goto 10
steps 0: 1013
steps 1: 1003
steps 2: -3
steps 3: 3
wrapped 3.0
END
sort >counts.txt <<END
loop.body: 6
while.body: 3
do.body: 1
early: 4
early.inner: 3
goto.body: 5
if: 2
else: 2
case 0: 1
case 1: 1
case 2: 2
step: 21
doubled: 1
begin and end: 1
run time: 3
lap 1: 1
lap 2: 1
stage: 1
failed: 0
abandoned: 0
elsewhere: 1
END
{
    cat counts.txt
    printf '%s\n' 'around: 4' 'skipped by others: 1' 'skipped by goto: 3'
} | sort >counts_past.txt

build() {
    # shellcheck disable=SC2086 # words
    $compiler -std=c11 -D_GNU_SOURCE -Wall -Wextra $level "-I$PLUMB_SOURCE_DIR/include" "$@"
}

check() {
    name=$1
    shift
    "$@" >out.txt || fail "$name: exit status $?"
    cmp -s out.txt expected.txt || fail "$name computes $(diff expected.txt out.txt)"
}

try() {
    want=$1
    build "$source" -o bare || fail 'does not build'
    build -DPLUMB_LINKED "$source" -o linked -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir" ||
        fail 'does not build with libplumb'
    build -DPLUMB_DISABLE -c "$source" -o disabled.o && build disabled.o -o disabled ||
        fail 'does not build with PLUMB_DISABLE'
    check 'without a runtime' ./bare
    check 'switched off' ./linked
    check 'disabled' ./disabled
    rm -f recorded.txt
    PLUMB=1 PLUMB_QUIET=1 check 'recording' ./linked recorded.txt
    sort recorded.txt >sorted.txt
    cmp -s sorted.txt "$want" || fail "recorded $(diff "$want" sorted.txt)"
    # Without optimisation static functions stay in the object; they are the program's own.
    keep=' [tT] doubled_plumb$'
    [ "$level" = -O0 ] && keep=' t '
    if nm disabled.o | grep -i plumb | grep -v "$keep"; then
        fail 'PLUMB_DISABLE leaves symbols'
    fi
}

for compiler in gcc clang clang-14; do
    command -v $compiler >/dev/null || continue
    for level in -O0 -O2 -O3; do
        case $compiler in
        gcc) try counts_past.txt ;;
        *) try counts.txt ;;
        esac
    done
done
[ "$failures" = 0 ]
