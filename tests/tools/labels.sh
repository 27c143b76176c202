#!/bin/sh
# labels: plain
# Configuring accepts the documented labels of tests and refuses every other one.
set -eu
mkdir project
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.21)
project(labels NONE)
set(PLUMB_BUILD_KIND plain)
include("$PLUMB_SOURCE_DIR/cmake/PlumbTests.cmake")
plumb_add_test(planted "\${PROJECT_SOURCE_DIR}/planted.c" true)
END

configure() {
    printf '%s\n' "$1" >project/planted.c
    rm -rf build
    cmake -S project -B build >out.txt 2>&1
}

for labels in '/* labels: plain, serial' '/* labels: notsan' ' * labels: traces, reference */' '/* A test. */'; do
    if ! configure "$labels"; then
        echo "'$labels' was refused:" >&2
        cat out.txt >&2
        exit 1
    fi
done
configure '/* labels: serial */'
grep -q 'LABELS "serial"' build/CTestTestfile.cmake
for labels in '/* labels: tsan' '/* labels: plain, slow */' '# label: plains'; do
    if configure "$labels"; then
        echo "'$labels' went through" >&2
        exit 1
    fi
    # CMake breaks the lines of its messages.
    if ! tr -s ' \n' ' ' <out.txt | grep -q "planted.c: '[a-z]*' is not a label of tests: use plain, "; then
        echo "'$labels' failed without the reason:" >&2
        cat out.txt >&2
        exit 1
    fi
done
