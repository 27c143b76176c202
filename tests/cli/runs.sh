#!/bin/sh
# plumb runs: lists the newest first, removes the old ones or those beyond a size, and no others.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

# make PATH DATE [BYTES]: a run that ended then
make() {
    mkdir -p "$1"
    cp "$data/golden.json" "$1/timing.json"
    head -c "${3:-10}" /dev/zero | tr '\0' x >"$1/trace"
    touch -d "$2" "$1/timing.json" "$1/trace"
}
runs() {
    "$PLUMB_BIN" runs "$@"
}
listed() {
    runs "$@" 2>/dev/null | awk 'NR > 1 { n = split($NF, part, "/"); printf "%s ", part[n] }'
}

expect 'none' 0 runs
has err.txt "no runs in 'plumb-out'"
empty out.txt

new=20260105-120000-h-5
make plumb-out/a/20260101-120000-h-1 '2026-01-01 12:00'
make plumb-out/a/20260103-120000-h-3-rank1 '2026-01-03 12:00'
make plumb-out/b/20260102-120000-h-2 '2026-01-02 12:00' 3000000
make plumb-out/b/$new "$(date '+%F %T')"
make plumb-out/a/by_hand '2026-01-01 12:00'
mkdir -p plumb-out/a/20260101-130000-no-run
ln -s 20260103-120000-h-3-rank1 plumb-out/a/latest
expect 'list' 0 runs
has out.txt '2026-01-05 12:00:00  ended' 'plumb-out/b/20260102-120000-h-2' '2.9 MiB'
[ "$(listed)" = "$new 20260103-120000-h-3-rank1 20260102-120000-h-2 20260101-120000-h-1 by_hand " ] ||
    fail "order: $(listed)"
[ "$(listed --dir plumb-out/b)" = "$new 20260102-120000-h-2 " ] || fail 'one pipeline'
[ "$(cd / && PLUMB_DIR="$OLDPWD/plumb-out/b" "$PLUMB_BIN" runs | wc -l)" = 3 ] || fail 'PLUMB_DIR'

long=plumb-out/a/$(printf 'n%.0s' $(seq 200))
make "$long" '2026-01-01 11:00'
expect 'a long name' 0 runs
[ "$(awk '{ print index($0, NR == 1 ? "Run" : "plumb-out/") }' out.txt | sort -u)" = 44 ] || fail "columns: $(cat out.txt)"
has out.txt "$long"
rm -r "$long"

make "$(printf 'odd/a\nb\033[31m\302\233')" '2026-01-01 12:00'
expect 'names that would speak to the terminal' 0 runs --dir odd
[ "$(wc -l <out.txt)" = 2 ] || fail "not two lines: $(cat out.txt)"
has out.txt 'odd/a\x0ab\x1b[31m\xc2\x9b'

expect 'prune by size' 0 runs --prune 1M
has out.txt 'removed 1 of 5 runs, 2.9 MiB'
[ ! -e plumb-out/b/20260102-120000-h-2 ] || fail 'the large run is still there'
expect 'prune by age' 0 runs --prune 30d
has out.txt 'removed 2 of 4 runs'
[ "$(listed)" = "$new by_hand " ] || fail "left: $(listed)"
[ -d plumb-out/a/20260101-130000-no-run ] || fail 'a directory that is no run was removed'
[ "$(readlink plumb-out/a/latest)" = by_hand ] || fail 'latest points to nothing'

make plumb-out/c/20250101-000000-h-1 '2025-01-01 12:00'
make plumb-out/c/$new "$(date '+%F %T')"
make plumb-out/d/20250101-000000-h-1 '2025-01-01 12:00'
ln -s 20250101-000000-h-1 plumb-out/c/latest
mkdir outside
echo keep >outside/file
ln -s ../../../outside plumb-out/c/20250101-000000-h-1/link
ln -s ../../outside plumb-out/c/20240101-000000-h-1
expect 'links' 0 runs --prune 30
[ "$(readlink plumb-out/c/latest)" = "$new" ] || fail 'latest is not the newest that is left'
[ -f outside/file ] || fail 'prune followed a link'
[ -d plumb-out/c/$new ] || fail 'a new run was removed'
[ ! -e plumb-out/d ] || fail 'an empty pipeline folder is left'

for bad in x 0 -1 5Q 99999999999999999999 ''; do
    expect "prune '$bad'" 2 runs --prune "$bad"
    has err.txt '--prune wants days (30) or a size (500M)'
done
expect 'operand' 2 runs plumb-out
expect 'a file' 2 runs --dir "$data/golden.json"
has err.txt 'Not a directory'
finish
