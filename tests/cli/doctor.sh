#!/bin/sh
# labels: plain
# plumb doctor: one line a check, the cure where something is in the way.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
doctor() {
    "$PLUMB_BIN" doctor "$@"
}

"$PLUMB_BIN" doctor >out.txt 2>err.txt
name='machine'
grep -vE '^(seen|not seen|blocked) +[a-z]' out.txt && fail 'a line that is no check'
has out.txt clock proc limits 'output folder' 'disk space' membarrier "$lib_dir/libplumb.so.0"
grep -qE '^seen +preload' out.txt || fail 'preloading is not seen'
empty err.txt
if grep -q '^blocked' out.txt; then want=1; else want=0; fi

expect 'a marked program' $want doctor -- ./bare print hello
has out.txt 'no libplumb inside: it will be preloaded' 'the program has some' \
    '1 of 1 processes with libplumb recorded nodes (status 0)'
[ "$(cat err.txt)" = hello ] || fail "the program's output: $(cat err.txt)"
expect 'a linked program' $want doctor -- ./linked
has out.txt './linked links libplumb.so' '1 of 1 processes'
expect 'a holding program' $want doctor -- ./holding
has out.txt './holding holds libplumb itself' '1 of 1 processes'
expect 'without marks' $want doctor -- ./unmarked
has out.txt 'no trace point ran' 'PLUMB_SPAN'
expect 'static' 1 doctor -- ./static
has out.txt 'statically linked: nothing can be preloaded (cure: link it with libplumb.a)'
expect 'no program' 1 doctor -- ./nowhere
has out.txt './nowhere: No such file or directory'
[ ! -e plumb-out ] || fail 'doctor left a run'
[ "$(find /tmp -maxdepth 1 -name 'plumb-doctor-*' -newer bare)" = '' ] || fail 'doctor left a folder'

expect 'no library' 1 env PLUMB_LIBRARY=/no/libplumb.so "$PLUMB_BIN" doctor
grep -qE '^blocked +libplumb .*set PLUMB_LIBRARY' out.txt || fail 'a missing library is not told'
mkdir readonly
expect 'no output folder' 1 env PLUMB_DIR=/proc/plumb "$PLUMB_BIN" doctor
grep -qE '^blocked +output folder .*PLUMB_DIR' out.txt || fail 'a folder that cannot be written'
# A limit in blocks of 512 bytes: 1 MiB of file size.
expect 'limits' 1 sh -c 'ulimit -f 2048; exec "$0" doctor' "$PLUMB_BIN"
grep -qE '^blocked +limits .*ulimit -f' out.txt || fail 'a file size limit is not told'

cp -r "$data" run && mv run/rich.json run/timing.json
expect 'a run' $want doctor run
has out.txt 'was killed, and is recovered' '8 rows, 18 samples' 'raise PLUMB_MAX_NODES'
expect 'no such run' 1 doctor elsewhere
expect 'two runs' 2 doctor a b
expect 'nothing after --' 2 doctor --
finish
