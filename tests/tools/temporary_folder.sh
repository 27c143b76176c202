#!/bin/sh
# labels: plain
# A test's temporary folder has a short path wherever the checkout lies (a socket's path has 107 bytes at
# most), it is empty, and it goes with the test: also with one that fails, and at the next run with one
# that was killed.
set -eu
runner=$PLUMB_BUILD_DIR/run_test.sh
run() {
    (cd / && "$runner" "$name" '' "$here/inner.sh")
}
fail() {
    echo "temporary_folder: $*" >&2
    exit 1
}
here=$PWD
name=tools.temporary_folder.inner.$$
folder=$PLUMB_BUILD_DIR/tests/run/$name
trap 'rm -rf "$folder" "$folder.tmp"' EXIT

cat >inner.sh <<SH
echo "\$TMPDIR" >"$here/folder"
ls -A "\$TMPDIR" >"$here/content"
: >"\$TMPDIR/left"
. "$here/ending"
SH
for ending in 'exit 0' 'exit 77' 'exit 1' 'kill -9 $PPID'; do
    echo "$ending" >ending
    status=0
    run >/dev/null 2>&1 || status=$?
    [ ! -s content ] || fail "after '$ending' it is not empty: $(cat content)"
    temporary=$(cat folder)
    [ ${#temporary} -le 40 ] || fail "its path has ${#temporary} characters: $temporary"
    case $ending in
    kill*) [ -e "$temporary/left" ] || fail 'the killed run left nothing, and this tests nothing' ;;
    *)
        [ "$status" = "${ending#exit }" ] || fail "'$ending' ends with $status"
        [ ! -e "$temporary" ] || fail "'$ending' leaves $temporary"
        ;;
    esac
done
echo 'exit 0' >ending
run
[ ! -e "$temporary" ] || fail 'the run after a killed one leaves its folder'
