#!/bin/sh
# labels: plain
# A ten-line program builds and records against an installed tree: with pkg-config and with CMake,
# shared and static; a library marked with the header alone reports to it.
set -eu
prefix=$PWD/prefix
cmake --install "$PLUMB_BUILD_DIR" --prefix "$prefix" >install.log
here=$PLUMB_SOURCE_DIR/tests/install
libdir=$(dirname "$(find "$prefix" -name libplumb.so)")
export PKG_CONFIG_PATH="$libdir/pkgconfig"

fail() {
    echo "install: $*" >&2
    exit 1
}

# run PROGRAM [ENV=VALUE]: it must record the two runs of its node.
run() {
    program=$1
    shift
    rm -rf run
    env PLUMB_RUN_DIR="$PWD/run" PLUMB_QUIET=1 "$@" "$program" >out.txt ||
        fail "$program ended with $?"
    [ "$(cat out.txt)" = "answer 42" ] || fail "$program printed '$(cat out.txt)'"
    grep -q '"work"' run/timing.json || fail "$program left no node 'work' in timing.json"
}

for header in plumb.h plumb.hpp; do
    [ -f "$prefix/include/plumb/$header" ] || fail "no $header"
done
[ -f "$libdir/libplumb-malloc.so" ] || fail 'no libplumb-malloc.so beside libplumb.so'
[ -f "$prefix/share/man/man1/plumb-record.1" ] || fail 'no manual page of plumb record'
for page in '' -record -report -compare -diverge -activations -runs -recover -export -doctor -help; do
    [ -f "$prefix/share/man/man1/plumb$page.1" ] || fail "no manual page plumb$page"
done
[ -f "$prefix/share/bash-completion/completions/plumb" ] || fail 'no completion for bash'
[ -f "$prefix/share/zsh/site-functions/_plumb" ] || fail 'no completion for zsh'
[ -f "$prefix/share/fish/vendor_completions.d/plumb.fish" ] || fail 'no completion for fish'
for page in README.md docs/recording.md docs/compare.md docs/img/text_to_video.svg; do
    [ -f "$prefix/share/doc/plumb/$page" ] || fail "no page $page"
done
PYTHONPYCACHEPREFIX=$PWD/cache /usr/bin/python3 -m py_compile "$prefix/share/plumb/plumb_torch_activations.py" ||
    fail 'no hooks for PyTorch'
if [ -x "$PLUMB_BUILD_DIR/bin/plumb-serve" ]; then
    [ -f "$prefix/share/plumb/proto/plumb/v1/profiler.proto" ] || fail 'no .proto files'
    status=0
    LD_LIBRARY_PATH="$libdir" timeout 60 "$prefix/bin/plumb" serve --listen=x 2>err.txt || status=$?
    [ "$status" = 2 ] && grep -q 'plumb serve: --listen wants HOST:PORT' err.txt || fail "plumb serve: $(cat err.txt)"
fi
# The command finds its data from where it lies, also after the whole tree has moved.
names=share/plumb/predecessors.tsv
[ -f "$prefix/$names" ] || fail "no $names"
"$prefix/bin/plumb" help coming-from FASTVIDEO_STAGE_LOGGING | grep -q 'FV-20' ||
    fail 'the installed command does not know the names of other profilers'
cp -R "$prefix" moved
LD_LIBRARY_PATH="$PWD/moved/${libdir#"$prefix"/}" moved/bin/plumb help coming-from FASTVIDEO_STAGE_LOGGING |
    grep -q 'FV-20' || fail 'a command that was moved does not find its data'
# Without the file, or with half of it, one line says so, and nothing else depends on it.
head -c 2000 "$prefix/$names" >"moved/$names"
for state in damaged missing; do
    status=0
    moved/bin/plumb help coming-from FASTVIDEO_STAGE_LOGGING >out.txt 2>err.txt || status=$?
    [ "$status" = 2 ] && [ ! -s out.txt ] && [ "$(wc -l <err.txt)" = 1 ] &&
        grep -q "^plumb help: .*$(realpath moved)/$names'.*; reinstall plumb" err.txt ||
        fail "$state names: status $status: $(cat out.txt err.txt)"
    status=0
    moved/bin/plumb doctor >out.txt 2>err.txt || status=$?
    [ "$(wc -l <err.txt)" = 1 ] && grep -q "^plumb doctor: .*$names" err.txt && [ -s out.txt ] ||
        fail "doctor with $state names: status $status: $(cat err.txt)"
    moved/bin/plumb help coming-from perf >/dev/null || fail "help of perf with $state names"
    moved/bin/plumb help report >/dev/null 2>err.txt || fail "help with $state names"
    [ ! -s err.txt ] || fail "help with $state names: $(cat err.txt)"
    rm -f "moved/$names"
done
pkg-config --cflags plumb | grep -q -e -DPLUMB_LINKED || fail 'no -DPLUMB_LINKED in plumb.pc'

# shellcheck disable=SC2046 # pkg-config prints words
{
    $CC -std=c11 -Wall -Wextra -Werror "$here/program.c" -o pc_shared \
        $(pkg-config --cflags --libs plumb)
    $CC -std=c11 -Wall -Wextra -Werror "$here/program.c" -o pc_static \
        $(pkg-config --cflags plumb) "$libdir/libplumb.a" -lpthread -ldl -lm
}
readelf -d pc_shared | grep -q 'NEEDED.*libplumb.so.0' || fail 'pc_shared does not need libplumb.so.0'
readelf -d pc_static | grep -q 'NEEDED.*libplumb' && fail 'pc_static needs a shared libplumb'
run ./pc_shared LD_LIBRARY_PATH="$libdir"
run ./pc_static

cmake -S "$here" -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    >cmake.log || fail "$(cat cmake.log)"
cmake --build cmake >build.log || fail "$(cat build.log)"
run cmake/shared
run cmake/static
# The header alone: off where the process holds no libplumb, on where it does.
[ "$(cmake/header_only)" = "answer 42" ] || fail 'header_only does not run without libplumb'
run cmake/header_only LD_PRELOAD="$libdir/libplumb.so"

# The reading library and the installed command, on a run of the last program.
# shellcheck disable=SC2046
{
    $CC -std=c11 -Wall -Wextra -Werror "$here/reader.c" -o pc_reader \
        $(pkg-config --cflags --libs plumb-read)
    $CC -std=c11 -Wall -Wextra -Werror "$here/reader.c" -o pc_reader_static \
        $(pkg-config --cflags plumb-read) "$libdir/libplumb-read.a" \
        $(pkg-config --libs zlib) -lpthread -ldl -lm
}
version=$("$prefix/bin/plumb" --version)
version=${version#plumb }
[ "$version" = "$(pkg-config --modversion plumb)" ] || fail "plumb --version says '$version'"
rm -rf run
PLUMB_QUIET=1 "$prefix/bin/plumb" record --run-dir "$PWD/run" -- cmake/header_only >out.txt
"$prefix/bin/plumb" report run | grep -q work || fail 'the installed command does not report'
rm -rf malloc
PLUMB_QUIET=1 "$prefix/bin/plumb" record --malloc --run-dir "$PWD/malloc" -- ./pc_static >out.txt
[ "$(cat out.txt)" = "answer 42" ] || fail "under --malloc it printed '$(cat out.txt)'"
jq -e '.memory.pools[] | select(.pool == "malloc") | .allocs > 0' malloc/timing.json >/dev/null ||
    fail 'the installed command does not follow malloc'
for reader in 'cmake/reader' "env LD_LIBRARY_PATH=$libdir ./pc_reader" ./pc_reader_static; do
    [ "$($reader run)" = "$version: 1 nodes" ] || fail "$reader does not read the run"
done

# Nothing of it stays, and what others have put below the prefix does.
touch "$prefix/share/man/man1/other.1"
"$PLUMB_SOURCE_DIR/tools/uninstall.sh" "$PLUMB_BUILD_DIR" >out.txt
[ "$(find "$prefix" ! -type d)" = "$prefix/share/man/man1/other.1" ] || fail "left behind: $(find "$prefix")"
[ ! -e "$prefix/include" ] || fail 'empty folders are left behind'
if "$PLUMB_SOURCE_DIR/tools/uninstall.sh" "$PLUMB_BUILD_DIR" 2>err.txt; then
    fail 'a second time it removes what is not there'
fi
grep -q 'nothing was installed' err.txt || fail "it says: $(cat err.txt)"
