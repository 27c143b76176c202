#!/bin/sh
# TX-4: plumb count-launches takes lists of depths with commas (+) or blanks, and falls back from an absent
# device with a warning.
. "$PLUMB_SOURCE_DIR/tests/rows/_launches.sh"

expect 'the default depths' 0 count_launches plain --iters 2
fields depth '[2,2,5,5,10,10,20,20]'
fields duration_s '[5,5,5,5,5,5,5,5]'
fields channels '[2,2,2,2,2,2,2,2]'
fields fs '[48000,48000,48000,48000,48000,48000,48000,48000]'
fields device '["cpu","cpu","cpu","cpu","cpu","cpu","cpu","cpu"]'
expect 'commas' 0 count_launches plain --iters 2 --depths 3,7
cp out.txt commas.json
fields depth '[3,3,7,7]'
expect 'blanks' 0 count_launches plain --depths 3 7 --iters 2
[ "$(jq -c 'map(del(.wall_us))' out.txt)" = "$(jq -c 'map(del(.wall_us))' commas.json)" ] || fail "$name: $(cat out.txt)"
expect 'both' 0 count_launches plain --iters 2 --depths '3, 7' 9
fields depth '[3,3,7,7,9,9]'
expect 'a depth twice' 0 count_launches plain --iters 2 --depths 3,3
fields depth '[3,3,3,3]'
lacks err.txt 'nothing is recorded'
for list in 0 3,x , '' 3,-1; do
    expect "depths '$list'" 2 count_launches plain --depths "$list"
    has err.txt '--depths wants'
    empty out.txt
done
expect 'an operand that is no depth' 2 "$PLUMB_BIN" count-launches --iters 2 5
has err.txt "unexpected '5': a command comes after --"

expect 'a signal' 0 count_launches plain --depths 2 --iters 1 --duration 0.5 --channels 1 --fs 16000
fields duration_s '[0.5,0.5]'
fields channels '[1,1]'
fields fs '[16000,16000]'
for option in '--duration 0' '--duration x' '--channels 0' '--fs 0' '--iters 0' '--device tpu' '--tolerance -1'; do
    # shellcheck disable=SC2086 # two words
    expect "$option" 2 count_launches plain --depths 2 $option
    empty out.txt
done

# The host takes no {device}; on the second no GPU is to be seen.
expect 'a device that the command does not take' 0 count_launches plain --depths 2 --iters 1 --device cuda
fields device '["cpu","cpu"]'
has err.txt 'warning: --device cuda falls back to cpu: the command takes no {device}'
CUDA_VISIBLE_DEVICES='' expect 'an absent device' 0 "$PLUMB_BIN" count-launches --depths 2 --iters 1 --device cuda -- \
    ./host '{depth}' '{fused}' '{iters}' '{output}' plain '{device}'
fields device '["cpu","cpu"]'
has err.txt 'warning: --device cuda falls back to cpu: this machine shows no GPU'

expect 'a file in new folders' 0 count_launches plain --depths 2 --iters 1 --out results/of/today/cpu.json
empty out.txt
jq -e 'length == 2' results/of/today/cpu.json >/dev/null || fail "$name: $(cat results/of/today/cpu.json)"
expect 'standard output by name' 0 count_launches plain --depths 2 --iters 1 --out -
jq -e 'length == 2' out.txt >/dev/null || fail "$name: $(cat out.txt)"
: >file
expect 'no folder can be made' 2 count_launches plain --depths 2 --out file/cpu.json
has err.txt "'file"
[ "$failures" = 0 ]
