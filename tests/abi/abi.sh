#!/bin/sh
# labels: plain
# The binary interface is the checked-in one: struct layouts, exported symbols, SONAMEs.
#
# After a deliberate change: tests/abi/abi.sh --update BUILD_DIR, and say in CHANGELOG.md what it means
# for programs that were built before. Structs and the table are only ever appended to.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mode=check
if [ "${1:-}" = --update ]; then
    mode=update
    PLUMB_BUILD_DIR=$2
    PLUMB_LIB=$(find "$2" -maxdepth 3 -name libplumb.so)
fi
lib_dir=$(dirname "$PLUMB_LIB")

exports() {
    nm -D --defined-only --format=posix "$lib_dir/$1" |
        awk -v lib="$1" '$2 != "A" { sub(/@.*/, "", $1); print lib, $1 }' | LC_ALL=C sort
}

soname() {
    readelf -d "$lib_dir/$1" | sed -n "s/.*SONAME.*\[\(.*\)\].*/$1 \1/p"
}

show_symbols() {
    for lib in libplumb.so libplumb-read.so libplumb-malloc.so libplumb-onednn.so; do
        soname "$lib"
        exports "$lib"
    done
}

status=0
compare() {
    if [ "$mode" = update ]; then
        cp "$2" "$here/$1"
    elif ! diff -u "$here/$1" "$2"; then
        echo "abi: $1 does not match the build" >&2
        status=1
    fi
}

[ -x "$PLUMB_BUILD_DIR/tests/bin/plumb_abi_sizes" ] || {
    echo "abi: $PLUMB_BUILD_DIR was built without tests: name a build folder that has them" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$PLUMB_BUILD_DIR/tests/bin/plumb_abi_sizes" >"$work/sizes.txt"
show_symbols >"$work/symbols.txt"
compare sizes.txt "$work/sizes.txt"
compare symbols.txt "$work/symbols.txt"

# A table in the reader's own numbers: initial-exec thread-local memory, at most 64 bytes of it.
tls=$(readelf -lW "$PLUMB_LIB" | awk '$1 == "TLS" { print $6 }')
if [ "$((${tls:-0}))" -gt 64 ]; then
    echo "abi: libplumb.so wants $((tls)) bytes of thread-local memory, more than 64" >&2
    status=1
fi
readelf -d "$PLUMB_LIB" | grep -q NODELETE || {
    echo 'abi: libplumb.so is not marked nodelete' >&2
    status=1
}
# Nothing but the C library, whatever the linker was given.
if readelf -d "$PLUMB_LIB" | sed -n 's/.*NEEDED.*\[\(.*\)\].*/\1/p' |
    grep -v -E '^(libc|libm|libdl|libpthread|ld-linux[^ ]*)\.so'; then
    echo 'abi: libplumb.so needs more than the C library' >&2
    status=1
fi
# A library that is preloaded into any program brings no other library, and little thread-local memory.
if readelf -d "$lib_dir/libplumb-malloc.so" | grep NEEDED | grep -v 'libc\.so'; then
    echo 'abi: libplumb-malloc.so needs more than the C library' >&2
    status=1
fi
tls=$(readelf -lW "$lib_dir/libplumb-malloc.so" | awk '$1 == "TLS" { print $6 }')
if [ "$((${tls:-0}))" -gt 8 ]; then
    echo "abi: libplumb-malloc.so wants $((tls)) bytes of thread-local memory, more than 8" >&2
    status=1
fi
exit $status
