#!/bin/sh
# plumb history and what can happen to its file: killed writers, locks, full disks, damage, other files.
# Each ends with one clear line and status 2, and loses no record.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_history.sh"
"$PLUMB_BIN" history list >no.txt 2>&1
grep -q 'was built without' no.txt && echo 'built without SQLite' && exit 77
history_of() {
    "$PLUMB_BIN" history "$@"
}
one_line() {
    [ "$(wc -l <err.txt)" = 1 ] || fail "$name: stderr is: $(cat err.txt)"
    has err.txt "$@"
}
# sql FILE STATEMENT: of Python's own SQLite
sql() {
    /usr/bin/python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); print(*c.execute(sys.argv[2]).fetchall(), sep="\n"); c.commit()' "$1" "$2"
}

google first.json 1 a=100 b=200 c=300 d=400 e=500
expect 'a first record' 0 history_of add --no-compare first.json

# ---- Killed in mid-write -------------------------------------------------------------------------
# Every add is one transaction of 40 records. After each kill: all of them or none, each with both of
# its metrics, and none of an add that ended well is missing.
benchmarks=$(for i in $(seq 1 40); do echo "k$i=$((100 + i))"; done)
good=0
for i in $(seq 1 16); do
    # shellcheck disable=SC2086 # one word for each benchmark
    google k.json "$((i % 60))" $benchmarks
    "$PLUMB_BIN" history add --no-compare --version "v$i" k.json >/dev/null 2>&1 &
    victim=$!
    sleep "0.0$((i * 7 % 60 / 10))$((i * 7 % 10))"
    kill -9 $victim 2>/dev/null
    wait $victim 2>/dev/null && good=$((good + 1))
    "$PLUMB_BIN" history list --version "v$i" --format json >killed.json 2>err.txt ||
        fail "kill $i: $(cat err.txt)"
    n=$(jq '.records | length' killed.json)
    [ "$n" = 0 ] || [ "$n" = 40 ] || fail "kill $i: $n records of 40"
    jq -e 'all(.records[]; .metrics | length == 2)' killed.json >/dev/null ||
        fail "kill $i: a record without its metrics"
done
all=$(history_of list --format json | jq '.records | length')
[ "$all" -ge $((good * 40 + 5)) ] || fail "$all records after $good adds that ended well"
[ "$(sql .plumb/history.db 'PRAGMA integrity_check')" = "('ok',)" ] || fail 'the file is damaged'
echo "$good of 16 adds ended before they were killed; $all records"

# A writer that was killed with its changes in the file: its journal is played back.
cp .plumb/history.db before.db
/usr/bin/python3 - <<'EOF'
import os, signal, sqlite3
c = sqlite3.connect(".plumb/history.db", isolation_level=None)
c.execute("PRAGMA cache_size=1")
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE record SET workload = 'overwritten' || hex(randomblob(500))")
os.kill(os.getpid(), signal.SIGKILL)
EOF
[ -s .plumb/history.db-journal ] || echo 'no journal was left'
expect 'after a killed writer' 0 history_of list --format csv
lacks out.txt overwritten
[ "$(grep -c . out.txt)" = $((all + 1)) ] || fail 'records are missing after a killed writer'

# ---- Several at once ------------------------------------------------------------------------------
# Writers wait for each other, and none of their records is missing.
adders=
for i in 1 2 3 4 5 6; do
    google "at_once_$i.json" $((40 + i)) one=1 two=2 three=3
    "$PLUMB_BIN" history add --db at_once.db --wait 60 --no-compare "at_once_$i.json" >/dev/null 2>"at_once_$i.txt" &
    adders="$adders $!"
done
for adder in $adders; do
    wait "$adder" || fail "an add at the same time as others failed: $(cat at_once_*.txt)"
done
[ "$(history_of list --db at_once.db --format json | jq '.records | length')" = 18 ] || fail 'records of adds at the same time are missing'

# ---- Locked --------------------------------------------------------------------------------------
mkfifo held release
/usr/bin/python3 - <<'EOF' &
import sqlite3
c = sqlite3.connect(".plumb/history.db", isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
open("held", "w").close()
open("release").close()
EOF
holder=$!
: <held
google locked.json 9 l=5
expect 'locked' 2 history_of add --no-compare --wait 0.2 locked.json
one_line "cannot read '.plumb/history.db': another process has had it locked for 0.2 s"
expect 'locked for reading' 2 history_of list --wait 0.2
one_line 'locked for 0.2 s'
: >release
wait $holder
expect 'free again' 0 history_of add --no-compare locked.json

# ---- A full disk ---------------------------------------------------------------------------------
cp .plumb/history.db full.db
size=$(stat -c %s full.db)
# shellcheck disable=SC2046 # one word for each benchmark
google full.json 10 $(for i in $(seq 1 200); do echo "f$i=$i"; done)
name='a file that may not grow'
( trap '' XFSZ; ulimit -f $((size / 512 + 8)); "$PLUMB_BIN" history add --db full.db --no-compare full.json \
    >out.txt 2>err.txt )
[ $? = 2 ] || fail "$name: $(cat out.txt err.txt)"
one_line "cannot write 'full.db'"
"$PLUMB_BIN" history list --db full.db --format csv >full.txt 2>&1 || fail 'unreadable after a full disk'
"$PLUMB_BIN" history list --format csv >whole.txt
cmp -s full.txt whole.txt || fail 'a full disk changed the history'
if mkdir small && unshare -rm sh -c 'mount -t tmpfs -o size=64k none small' 2>/dev/null; then
    unshare -rm sh -c "mount -t tmpfs -o size=64k none small &&
        '$PLUMB_BIN' history add --db small/h.db --no-compare first.json &&
        '$PLUMB_BIN' history add --db small/h.db --no-compare full.json; echo \$? >status.txt
        '$PLUMB_BIN' history list --db small/h.db --format csv >small.txt" >out.txt 2>err.txt
    name='a full disk'
    [ "$(cat status.txt)" = 2 ] || fail "status $(cat status.txt)"
    has err.txt 'the disk is full; the history is as it was'
    [ "$(grep -c . small.txt)" = 6 ] || fail "a full disk: $(cat small.txt)"
fi

# ---- Other files ---------------------------------------------------------------------------------
cp .plumb/history.db newer.db
sql newer.db 'PRAGMA user_version=99' >/dev/null
expect 'a newer schema' 2 history_of list --db newer.db
one_line "'newer.db' was written by a newer plumb (schema 99; this one reads up to 1): update plumb"
expect 'and it is not written to' 2 history_of add --db newer.db first.json
mkdir a_folder
expect 'a folder' 2 history_of add --db a_folder first.json
one_line "'a_folder' is a folder: name the history's file, as 'a_folder/history.db'"
expect 'text' 2 history_of list --db first.json
one_line "'first.json' is not a history of plumb: it is not a SQLite file"
sql other.db 'CREATE TABLE mine(x)' >/dev/null
expect 'of another program' 2 history_of add --db other.db first.json
one_line 'it is a SQLite file of another program'
[ "$(sql other.db 'SELECT name FROM sqlite_master')" = "('mine',)" ] || fail 'a foreign file was changed'
expect 'a device' 2 history_of list --db /dev/null
one_line "'/dev/null' is not a regular file"
expect 'no folder can be made' 2 history_of add --db first.json/x.db first.json
one_line "first.json"

# ---- Odd names -----------------------------------------------------------------------------------
# SQLite would keep nothing of the first two, and the third elsewhere.
for db in ':memory:' 'file:m?mode=memory' 'file:other.db' 'a b?c=1%41#.db' -dash.db "q'uo\"te.db" "$PWD/file:x"; do
    expect "a history called $db" 0 history_of add --db "$db" --no-compare first.json
    [ -s "./${db#"$PWD/"}" ] || fail "$name: no such file"
    expect "reading $db" 0 history_of list --db "$db" --format csv
    [ "$(grep -c . out.txt)" = 6 ] || fail "$name: $(cat out.txt)"
done
expect 'no name' 2 history_of add --db '' --no-compare first.json
one_line 'the name of the history is empty'

# ---- Damage --------------------------------------------------------------------------------------
for part in 20 40 60 80; do
    cp .plumb/history.db damaged.db
    size=$(stat -c %s damaged.db)
    head -c $((size * part / 100)) .plumb/history.db >damaged.db
    name="cut to $part %"
    history_of list --db damaged.db >out.txt 2>err.txt
    status=$?
    [ $status = 2 ] || fail "$name: status $status"
    one_line "'damaged.db' is damaged"
done
cp .plumb/history.db damaged.db
printf 'garbage' | dd of=damaged.db bs=1 seek=4096 conv=notrunc 2>/dev/null
dd if=/dev/urandom of=damaged.db bs=4096 seek=2 count=3 conv=notrunc 2>/dev/null
name='overwritten pages'
history_of list --db damaged.db >out.txt 2>err.txt
[ $? = 2 ] || fail "$name: $(head -3 out.txt)"
one_line "'damaged.db' is damaged"

# ---- Read-only -----------------------------------------------------------------------------------
mkdir readonly && cp .plumb/history.db readonly/h.db && chmod 444 readonly/h.db && chmod 555 readonly
if [ "$(id -u)" = 0 ]; then
    as() { setpriv --reuid=65534 --clear-groups "$@"; }
    chmod 755 .
else
    as() { "$@"; }
fi
if as test -r readonly/h.db && as test -x "$PLUMB_BIN"; then
    expect 'reading what may not be written' 0 as "$PLUMB_BIN" history list --db readonly/h.db
    expect 'writing it' 2 as "$PLUMB_BIN" history add --db readonly/h.db --no-compare first.json
    one_line "cannot write 'readonly/h.db': the file, or the folder that it lies in, is read-only"
    expect 'pruning it' 2 as "$PLUMB_BIN" history prune --db readonly/h.db --id 1
    one_line 'is read-only'
fi
chmod 755 readonly
finish
