#!/bin/sh
# labels: plain
# The package script names what is missing and, where it may not install, how to get it.
set -eu
deps=$PLUMB_SOURCE_DIR/tools/deps.sh
"$deps" --check build

# A machine without compilers or apt: only the tools that the script itself needs.
mkdir bin
for tool in sh awk sed dirname env; do
    ln -s "$(command -v $tool)" "bin/$tool"
done
if PATH=$PWD/bin "$deps" build 2>err.txt; then
    echo 'deps.sh found a compiler in an empty PATH' >&2
    exit 1
fi
for word in cmd:gcc cmd:ninja pc:zlib 'apt-get install' zlib1g-dev 'dnf install' ninja-build; do
    grep -q -F -e "$word" err.txt || {
        echo "deps.sh does not name $word:" >&2
        cat err.txt >&2
        exit 1
    }
done
status=0
"$deps" nonsense 2>/dev/null || status=$?
[ "$status" = 2 ]
