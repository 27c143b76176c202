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
[ ! -e none/activations.jsonl ] || fail "$name: it left a file: $(cat none/activations.jsonl)"
# A name that is wrong costs no file that is there, whether a layer ran or not.
for program in 4 nothing; do
    echo '{"precious":1}' >keep.jsonl
    rm -rf keep
    trace "a file that is there, $program" 0 keep PLUMB_ACTIVATIONS_STATS='median' \
        PLUMB_ACTIVATIONS_OUTPUT=keep.jsonl ./layers $program
    has err.txt "no statistic 'median'" 'PLUMB_ACTIVATIONS_STATS names no statistic that there is'
    [ "$(grep -c 'no statistic' err.txt)" = 2 ] || fail "$name: said more than once: $(cat err.txt)"
    [ "$(cat keep.jsonl)" = '{"precious":1}' ] || fail "$name: keep.jsonl: $(cat keep.jsonl)"
    trace "no file, $program" 0 keep PLUMB_ACTIVATIONS_STATS='median' \
        PLUMB_ACTIVATIONS_OUTPUT=made/new.jsonl ./layers $program
    [ ! -e made ] || fail "$name: it left $(ls made)"
done
# One that the program registers after its run has begun is known at the first call.
trace 'registered late' 0 late PLUMB_ACTIVATIONS_STATS='answer,sum' ./layers register
same late/activations.jsonl "$stats" '["answer","sum"]'
same late/activations.jsonl 'map(.answer == 42.5) | all' true
lacks err.txt 'no statistic'
finish
