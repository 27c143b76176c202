#!/bin/sh
# TX-6: before counting, the fused and the unfused path must agree within a tolerance.
. "$PLUMB_SOURCE_DIR/tests/rows/_launches.sh"

expect 'equal' 0 count_launches plain --depths 2 --iters 1
expect 'close' 0 count_launches close --depths 2 --iters 1
expect 'closer than that' 2 count_launches close --depths 2 --iters 1 --tolerance 1e-8
empty out.txt
expect 'different' 2 count_launches differ --depths 2,5 --iters 1
has err.txt "depth 2: sample 42 is 42 unfused and 42.0001 fused: './host' does not compute the same"
empty out.txt
expect 'different within a wide tolerance' 0 count_launches differ --depths 2 --iters 1 --tolerance 1e-3
for how in empty longer; do
    expect "$how output" 2 count_launches $how --depths 2 --iters 1
    has err.txt 'depth 2: the outputs are'
    empty out.txt
done
expect 'no output' 2 "$PLUMB_BIN" count-launches --depths 2 --iters 1 -- ./host '{depth}' '{fused}' '{iters}' '' plain '{output}'
has err.txt "'./host' left no {output}"
expect 'outputs that nobody compares' 0 "$PLUMB_BIN" count-launches --depths 2 --iters 1 -- ./host '{depth}' '{fused}' '{iters}' ''
has err.txt 'warning: fused and unfused outputs are not compared'

# The filter chain, where it is built: K filters in sequence, or one cascade of the same sections.
if [ -x "$(dirname "$PLUMB_BIN")/iir_launches" ]; then
    PLUMB_COLLECT= expect 'the filter chain' 0 "$PLUMB_BIN" count-launches --depths 2,20 --iters 2 --duration 0.05
    fields native_calls '[2,1,20,1]'
    fields cuda_launches '[0,0,0,0]'
    fields device '["cpu","cpu","cpu","cpu"]'
fi
[ "$failures" = 0 ]
