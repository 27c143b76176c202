#!/bin/sh
# labels: plain
# FV-7: a traced program that never stops its run leaves one valid trace, as does one that stops twice and one that
# is ended by SIGTERM; after kill -9 the trace is finished by the next command.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
lib_dir=$(dirname "$PLUMB_LIB")
cat >prog.c <<'C'
#include <plumb/plumb.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 100; i++) {
        PLUMB_SPAN("work");
    }
    if (strcmp(how, "twice") == 0) {
        plumb_stop(NULL);
        plumb_stop(NULL);
    }
    if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
C
# shellcheck disable=SC2086 # words
$CC -std=c11 -D_GNU_SOURCE -O1 "-I$PLUMB_SOURCE_DIR/include" ${sanitizer:-} prog.c -DPLUMB_LINKED -o prog \
    -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir" || exit 1
for how in none twice term kill; do
    PLUMB_TRACE=1 PLUMB_QUIET=1 PLUMB_RUN_DIR="$PWD/$how" ./prog $how 2>err.txt
    "$PLUMB_BIN" report "$how" >report.txt 2>err.txt || { echo "$how: $(cat err.txt)"; exit 1; }
    grep -q '^work ' report.txt || { echo "$how: $(cat report.txt)"; exit 1; }
    [ "$(ls "$how" | grep -c pftrace)" = 1 ] || { echo "$how: $(ls "$how")"; exit 1; }
    # Begins and ends of the track event, by its own number in the packets.
    protoc --decode_raw <"$how/trace.pftrace" >raw.txt || { echo "$how: no protobuf"; exit 1; }
    begins=$(grep -c '^ *9: 1$' raw.txt)
    ends=$(grep -c '^ *9: 2$' raw.txt)
    [ "$begins" = 100 ] && [ "$ends" = 100 ] || { echo "$how: $begins begins, $ends ends"; exit 1; }
done
