#!/bin/sh
# labels: plain
# A write to a stderr without a reader, or to one that may not grow, raises a signal that ends a program.
# Messages of plumb must not do that. Neither must a limit on files under which not even a page fits.
set -u
failed=0
fail() {
    echo "nobody_reads: $*" >&2
    failed=1
}
cat >prog.c <<'END'
#include <stdio.h>

#include <plumb/plumb.h>

int main(void)
{
    for (int i = 0; i < 3; i++) {
        PLUMB_SPAN("work");
    }
    puts("done");
    return 5;
}
END
lib_dir=$(dirname "$PLUMB_LIB")
$CC -std=gnu11 -O2 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir" || exit 1

# Descriptor 4 is a pipe whose reader is gone.
mkfifo gone
exec 3<>gone 4>gone
exec 3>&-
whole='env --default-signal=PIPE,XFSZ'
if $whole sh -c 'echo x' 2>/dev/null >&4; then
    fail 'the pipe has a reader'
fi

# ends STATUS WHAT COMMAND...: it must end with that status, whether its output is read or not.
ends() {
    wanted=$1 what=$2
    shift 2
    $whole "$@" >out.txt 2>&4
    status=$?
    [ "$status" = "$wanted" ] || fail "$what: status $status, not $wanted"
}
ends 5 'the end block' env PLUMB=1 PLUMB_RUN_DIR="$PWD/run" ./prog
[ -s run/timing.json ] || fail 'no report'
ends 5 'a start-up warning' env PLUMB=1 PLUMB_TRACE_STEPS=3 ./prog
ends 5 'the table' env PLUMB=1 PLUMB_DIR=/proc/none ./prog
ends 5 'record' "$PLUMB_BIN" record --dir out -- ./prog
ends 7 'record of a program without marks' "$PLUMB_BIN" record --dir out -- sh -c 'exit 7'
exec 4>&-

for limit in 0 1; do
    for variables in PLUMB=0 PLUMB=1 'PLUMB=1 PLUMB_TRACE=1 PLUMB_ACTIVATIONS=1'; do
        # shellcheck disable=SC2086
        said=$(
            ulimit -f "$limit"
            $whole env $variables ./prog 2>words.txt
            echo "status $?"
        )
        [ "$said" = "done
status 5" ] || fail "files of $limit blocks, $variables: $said"
    done
done
exit "$failed"
