#!/bin/sh
# TX-5: the result is a JSON array with nine fields, unfused before fused for every depth (+) with nothing
# else on stdout.
. "$PLUMB_SOURCE_DIR/tests/rows/_launches.sh"

expect 'the result' 0 count_launches plain --depths 2,5 --iters 3
jq -e 'type == "array" and length == 4' out.txt >/dev/null || fail "$name: $(cat out.txt)"
for row in 0 1 2 3; do
    [ "$(jq -c ".[$row] | keys_unsorted" out.txt)" = \
        '["depth","fused","device","duration_s","channels","fs","native_calls","cuda_launches","wall_us"]' ] ||
        fail "$name: fields of row $row: $(jq -c ".[$row] | keys_unsorted" out.txt)"
done
fields depth '[2,2,5,5]'
fields fused '[false,true,false,true]'
fields native_calls '[2,1,5,1]'
jq -e 'all(.wall_us > 0)' out.txt >/dev/null || fail "$name: $(cat out.txt)"
[ "$(head -c 4 out.txt)" = "$(printf '[\n  ')" ] || fail "$name: not indented by 2: $(head -2 out.txt)"
has err.txt 'this is not JSON' 'depth   2  unfused  native_calls        2' 'depth   5  fused    native_calls        1'

expect 'a command that fails' 2 count_launches fail --depths 2 --iters 3
has err.txt "'./host' ended with status 3: nothing is printed"
empty out.txt
expect 'a command that is not there' 2 "$PLUMB_BIN" count-launches --depths 2 -- ./nowhere
has err.txt "cannot run './nowhere'"
empty out.txt
expect 'fewer iterations' 2 count_launches fewer --depths 2 --iters 3
has err.txt "'./host' ran 2 iterations, not 3"
empty out.txt
expect 'no iteration' 2 count_launches none --depths 2 --iters 3
has err.txt 'iteration'
empty out.txt
mkdir tmp
TMPDIR=$PWD/tmp expect 'nothing is left' 0 count_launches plain --depths 2 --iters 1
[ -z "$(ls tmp)" ] || fail "left in TMPDIR: $(ls tmp)"
[ "$failures" = 0 ]
