#!/bin/sh
# labels: plain
# AT-3: statistics by name in the order wanted; unknown ones are warned about and dropped; none left
# turns the trace off with a warning.
. "$PLUMB_SOURCE_DIR/tests/rows/_activations.sh"

stats='[.[0] | keys_unsorted[]] | .[3:index("call")]'
trace 'default' 0 default ./layers
same default/activations.jsonl "$stats" '["abs_mean","sum"]'
trace 'in order' 0 order PLUMB_ACTIVATIONS_STATS=' std , sum,shape, nan,,sum' ./layers
same order/activations.jsonl "$stats" '["std","sum","shape","nan"]'
trace 'unknown' 0 unknown PLUMB_ACTIVATIONS_STATS='sum,median,max' ./layers
same unknown/activations.jsonl "$stats" '["sum","max"]'
has err.txt "PLUMB_ACTIVATIONS_STATS: no statistic 'median'; there are abs_mean, dtype, hash, hash_any, histogram, inf, l2, max, mean, min, nan, neg_inf, rms, sample, shape, std, sum, zeros"
trace 'none left' 0 none PLUMB_ACTIVATIONS_STATS='median' ./layers
has err.txt 'no activations are recorded'
[ ! -s none/activations.jsonl ] || fail "$name: $(cat none/activations.jsonl)"
finish
