#!/bin/bash
# labels: plain
# A shell script that opens, reads and closes descriptors by number, in a loop, under plumb record
# --malloc: it prints what it prints alone. TEST_ROUNDS multiplies the 16,000 redirections.
set -u
rounds=$((4000 * ${TEST_ROUNDS:-1}))
cat >script.sh <<'END'
i=0 lines=0
while [ $i -lt "$1" ]; do
    exec 3<line
    read -r text <&3
    [ "$text" = 'one line' ] && lines=$((lines + 1))
    exec 3<&-
    exec 9>>written
    echo "$i" >&9
    exec 9>&-
    echo "$text" >/dev/null
    { : <&0; } 4<line
    i=$((i + 1))
done
echo "$i rounds, $lines lines"
END
echo 'one line' >line

bash script.sh "$rounds" >alone.out 2>alone.err
alone=$?
mv written alone.written
# As often as there can be samples, which is when plumb opens files.
PLUMB_MEMORY_INTERVAL=1 "$PLUMB_BIN" record --malloc --quiet --run-dir run -- \
    bash script.sh "$rounds" >recorded.out 2>recorded.err
recorded=$?

status=0
[ "$recorded" = "$alone" ] || { echo "status $recorded, alone $alone" >&2; status=1; }
cmp alone.out recorded.out && cmp alone.err recorded.err && cmp alone.written written || status=1
[ $status = 0 ] || { cat recorded.out >&2; sort recorded.err | uniq -c | sort -rn | head -n 8 >&2; }
[ -s run/timing.json ] || { echo 'nothing was recorded' >&2; status=1; }
exit $status
