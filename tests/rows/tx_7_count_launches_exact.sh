#!/bin/sh
# TX-7: (+) launches are counted where the driver sees them and keep their fraction per iteration.
. "$PLUMB_SOURCE_DIR/tests/rows/_launches.sh"

# Each iteration launches `depth` kernels, or 1, and another one that it waits for.
expect 'as many as the driver saw' 0 count_launches plain --depths 2,5 --iters 30
fields native_calls '[2,1,5,1]'
fields cuda_launches '[3,2,6,2]'
[ "$(tr '\n' ' ' <launches.log)" = '90 60 180 60 ' ] || fail "$name: the host launched $(tr '\n' ' ' <launches.log)"
rm launches.log

# 31 dispatches in 30 iterations are not 1, and 62 launches not 2.
expect 'a fraction' 0 count_launches extra --depths 4 --iters 30
jq -e '.[1].native_calls == 31 / 30 and .[1].cuda_launches == 62 / 30' out.txt >/dev/null || fail "$name: $(cat out.txt)"
jq -e '.[0].native_calls == 121 / 30 and .[0].cuda_launches == 152 / 30' out.txt >/dev/null || fail "$name: $(cat out.txt)"
[ "$(tr '\n' ' ' <launches.log)" = '152 62 ' ] || fail "$name: the host launched $(tr '\n' ' ' <launches.log)"

# Names of events play no part: without a collector nothing was launched.
PLUMB_COLLECT=none expect 'no device' 0 count_launches plain --depths 2 --iters 3
fields cuda_launches '[0,0]'
fields native_calls '[2,1]'
[ "$failures" = 0 ]
