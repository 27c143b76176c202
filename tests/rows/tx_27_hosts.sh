#!/bin/sh
# TX-27: files of results carry their host, so that two hosts share a folder without overwriting each other's, and the
# summary has all of them.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >any.rules <<'END'
[any]
metric = wall_clock
limit = <= old * 100000
END
for host in alpha beta; do
    for name in cpu realtime; do
        expect "$name of $host" 0 "$PLUMB_BIN" ab --rounds 6 --warmup 0 --out shared --name $name --host $host --rule any.rules -- \
            true ::: true
    done
done
[ "$(ls shared | tr '\n' ' ')" = 'cpu-alpha.json cpu-beta.json realtime-alpha.json realtime-beta.json summary.csv summary.txt ' ] ||
    fail "files: $(ls shared)"
for file in cpu-alpha cpu-beta realtime-alpha realtime-beta; do
    [ "$(grep -c "shared/$file.json" shared/summary.csv)" = 2 ] || fail "$file is not in summary.csv: $(cat shared/summary.csv)"
    has shared/summary.txt "shared/$file.json"
done
jq -e '.context.host_name == "beta"' shared/cpu-beta.json >/dev/null || fail 'the file does not have its host'
cp shared/cpu-alpha.json before.json
expect 'again' 0 "$PLUMB_BIN" ab --rounds 6 --warmup 0 --out shared --name cpu --host beta --rule any.rules -- true ::: true
cmp -s before.json shared/cpu-alpha.json || fail 'a file of another host was changed'
finish
