#!/bin/sh
# labels: plain
# TF-12: the output directory follows an override, the pipeline's name and a time stamp; (+) the stamp
# is taken once a run, so that everything it writes lies together.
set -eu

cat >prog.c <<'END'
#include <plumb/plumb.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    char first[1024], again[1024];
    struct timespec pause = {1, 100000000}; /* a stamp taken again would be another */
    {
        PLUMB_SPAN("node");
    }
    if (plumb_run_dir(first, sizeof first, NULL) < 0)
        return 1;
    nanosleep(&pause, NULL);
    {
        PLUMB_STAGE(stage, "late");
    }
    if (plumb_run_dir(again, sizeof again, NULL) < 0)
        return 1;
    return printf("%s\n%s\n", first, again) < 0;
}
END
$CC -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog "$PLUMB_LIB" \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")"

fail()
{
    echo "tf_12: $*" >&2
    exit 1
}

# dirs_of NAME=VALUE...: the directory a run says it has, twice.
dirs_of()
{
    env PLUMB=1 PLUMB_QUIET=1 "$@" ./prog >dirs.txt
    [ "$(sed -n 1p dirs.txt)" = "$(sed -n 2p dirs.txt)" ] || fail "the directory changed during a run"
    sed -n 1p dirs.txt
}

# holds DIR: one run and all of its files.
holds()
{
    [ -s "$1/timing.json" ] || fail "no timing.json in $1"
    [ "$(stat -c %a "$1")" = 700 ] || fail "mode of $1"
}

matches()
{
    printf '%s\n' "$1" | grep -Eqx "$2" || fail "'$1' is not '$2'"
}
host=$(hostname)
stamp='[0-9]{8}-[0-9]{6}'

dir=$(dirs_of A=b)
matches "$dir" "$PWD/plumb-out/prog/$stamp-$host-[0-9]+"
holds "$dir"
[ "$(readlink -f plumb-out/prog/latest)" = "$(readlink -f "$dir")" ] || fail "latest is another run"

dir=$(dirs_of PLUMB_PIPELINE=wan_t2v PLUMB_DIR="$PWD/out/%q{WHERE}" WHERE=there)
matches "$dir" "$PWD/out/there/wan_t2v/$stamp-$host-[0-9]+"
holds "$dir"

dir=$(dirs_of RANK=2 WORLD_SIZE=4)
matches "$dir" "$PWD/plumb-out/prog/$stamp-$host-[0-9]+-rank2"

dir=$(dirs_of PLUMB_RUN_DIR="$PWD/exactly/here")
[ "$dir" = "$PWD/exactly/here" ] || fail "the run directory asked for is $dir"
holds "$dir"

# It holds a run: nothing of it is overwritten, and the program goes on.
before=$(cksum <exactly/here/timing.json)
status=0
PLUMB=1 PLUMB_RUN_DIR=$PWD/exactly/here ./prog >dirs.txt 2>err.txt || status=$?
grep -q 'already holds a run' err.txt || fail "not refused: $(cat err.txt)"
[ "$before" = "$(cksum <exactly/here/timing.json)" ] || fail "the run that was there has changed"
