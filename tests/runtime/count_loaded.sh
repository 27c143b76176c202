#!/bin/sh
# labels: plain
# plumb record --count: every call of libraries that are loaded while the program runs: in namespaces of their own, with a
# scope of their own, again and again, in several versions.
. "$PLUMB_SOURCE_DIR/tests/runtime/_count.sh"
cat >plug.c <<'END'
int plain(int x);
int run(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += plain(i);
    return s;
}
int (*stored)(int) = plain;
int run_stored(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += stored(i);
    return s;
}
END
cat >versions.c <<'END'
__asm__(".symver first,versioned@V1");
__asm__(".symver second,versioned@@V2");
int first(int x)
{
    return x + 1;
}
int second(int x)
{
    return x + 2;
}
END
printf 'V1 { global: versioned; local: *; };\nV2 { global: versioned; };\n' >versions.map
cc "$here/_loaded.c" -D_GNU_SOURCE -o loaded -ldl
cc -Wno-missing-prototypes -fPIC -shared versions.c -Wl,--version-script=versions.map -o libversions.so
for flags in '' -fno-plt; do
    # shellcheck disable=SC2086 # a flag or none
    cc -Wno-missing-prototypes $flags -fPIC -shared plug.c -o "plug$flags.so" libcounted.so.1 -Wl,-rpath,"$PWD"
done

# loaded WAY LIBRARY BINDING COUNTED FUNCTION: it does what it does alone, and so many calls are counted
loaded() {
    what="$1, $2, $3"
    rm -rf run
    expect "$what, alone" 7 ./loaded "$1" "$2" "$3"
    cp out.txt alone.txt
    expect "$what" 7 "$PLUMB_BIN" record --quiet --run-dir run --count 'libcounted.so:*,libversions.so:*' -- ./loaded "$1" "$2" "$3"
    cmp -s out.txt alone.txt || fail "$what: it prints other things: $(cat out.txt)"
    [ "$(total run "$5")" = "$4" ] || fail "$what: $(total run "$5") calls, not $4"
}
for binding in lazy now; do
    for plug in ./plug.so ./plug-fno-plt.so; do
        loaded deepbind $plug $binding 111 plain
        loaded namespaces $plug $binding 555 plain
        loaded again $plug $binding 2220 plain
    done
    loaded versions ./libversions.so $binding 3 versioned
done

exit $((failures > 0))
