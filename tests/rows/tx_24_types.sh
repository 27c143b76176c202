#!/bin/sh
# labels: plain
# TX-24: two precisions of one program: the speed-up is the ratio of the medians, and the verdict follows it.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >filter.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    volatile double sum = 0;
    double cost = argc > 1 && strcmp(argv[1], "f32") == 0 ? 10 : 100;
    for (double i = 0; i < cost * 5e4; i++)
        sum += i;
    return 0;
}
END
$CC -O1 -o filter filter.c || exit 1
# Whether the fourth column is the second over the third, and beyond 2 in the direction of the argument.
speed_up() {
    awk -v most="$1" '$1 == "0" { found = 1; x = $4 - $2 / $3; if (x < 0) x = -x; if (x > 0.01) exit 1
        if (most ? $4 > 0.5 : $4 < 2) exit 1 } END { exit !found }' out.txt || fail "$name: $(cat out.txt)"
}
decided 'f32 is faster' 0 "$PLUMB_BIN" ab --rounds 18 --types f64,f32 -- ./filter '{type}'
speed_up 0
has out.txt 'f32 beats f64: '
decided 'f64 is slower' 1 "$PLUMB_BIN" ab --rounds 18 --types f32,f64 -- ./filter '{type}'
speed_up 1
has out.txt 'f64 does not beat f32: 0.'
finish
