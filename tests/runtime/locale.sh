#!/bin/sh
# labels: plain
# In a program whose locale writes 1,5 plumb says and writes 1.5, and the program goes on writing 1,5.
set -eu
mkdir locales
if ! localedef -i de_DE -f UTF-8 "$PWD/locales/de_DE.UTF-8" 2>/dev/null; then
    echo 'locale: no source of the locale de_DE (Debian: package locales)' >&2
    exit 77
fi
cat >prog.c <<'END'
#include <locale.h>
#include <stdio.h>

#include <plumb/plumb.h>
#include <plumb/signature.h>

int main(void)
{
    if (!setlocale(LC_ALL, ""))
        return 1;
    for (int i = 0; i < 3; i++) {
        PLUMB_STAGE(stage, "stage");
        plumb_stage_input_value(stage, "scale", plumb_value_f64(1.25));
    }
    printf("%.1f\n", 1.5);
    return 0;
}
END
lib_dir=$(dirname "$PLUMB_LIB")
$CC -std=gnu11 -O2 -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog -L"$lib_dir" -lplumb \
    -Wl,-rpath,"$lib_dir"
LOCPATH=$PWD/locales LC_ALL=de_DE.UTF-8 PLUMB_TRACE=1 PLUMB_TRACE_SHAPES=1 PLUMB_LOG=info PLUMB_RUN_DIR=$PWD/run \
    ./prog >out.txt 2>err.txt
[ "$(cat out.txt)" = 1,5 ] || { echo "locale: the program printed '$(cat out.txt)'" >&2; exit 1; }
if grep -E '[0-9],[0-9]' err.txt >&2; then
    echo 'locale: these lines have a comma' >&2
    exit 1
fi
grep -qE 'spans in [0-9]+\.[0-9]{3} s' err.txt || { cat err.txt >&2; exit 1; }
"$PLUMB_BIN" export --format csv -o - run >trace.csv
grep -q '1\.25' trace.csv || { cat trace.csv >&2; exit 1; }
