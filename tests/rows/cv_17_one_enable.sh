#!/bin/sh
# CV-17: one variable, or one command in front of it, covers inference, train, val and test of a program
# that trains, with nothing more to do for a phase, and leaves a summary file; without it nothing is
# recorded. The program is examples/train_classifier.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
program=$PLUMB_BUILD_DIR/examples/train_classifier/train_classifier
if [ ! -x "$program" ]; then
    echo "cv_17: examples/train_classifier was not built" >&2
    exit 77
fi

expect 'not enabled' 0 "$program" --quick
[ ! -e plumb-out ] || fail 'a run that nobody enabled left files'
cp out.txt plain.txt

cat >expected.txt <<END
inference forward
inference predict
test batch
test checkpoint_load
test forward
test load_data
test loss
test plumb.region::profiler_region_model_loading
test test
test wait_data
train backward
train batch
train checkpoint_save
train flush_to_disk
train forward
train load_data
train loss
train optimizer
train plumb.region::profiler_region_training_save_checkpoint
train plumb.region::profiler_region_training_train_one_step
train train_epoch
train wait_data
val batch
val forward
val load_data
val loss
val plumb.region::profiler_region_training_validation
val validate
val wait_data
END

# has_rows NAME RUN: each phase has the nodes that belong to it, and no other
has_rows() {
    expect "$1" 0 "$PLUMB_BIN" report --format csv "$2"
    awk -F, 'NR > 1 { print $3, $2 }' out.txt | sort >rows.txt
    cmp -s expected.txt rows.txt || fail "$1: $(diff expected.txt rows.txt)"
    for phase in inference train val test; do
        expect "$1, $phase" 0 "$PLUMB_BIN" report --format csv --phase "$phase" "$2"
        awk -F, 'NR > 1 { print $3, $2 }' out.txt | sort >rows.txt
        grep "^$phase " expected.txt | cmp -s - rows.txt || fail "$1, $phase: $(cat rows.txt)"
    done
}

# has_summary NAME RUN: the nodes of all phases are in the summary file: 378 runs of forward in train,
# 112 in val, 16 in test, 5 in inference
has_summary() {
    awk '$1 == "forward" { print $2 }' "$2/summary_rank0.txt" >count.txt
    [ "$(cat count.txt)" = 511 ] || fail "$1: forward has $(cat count.txt) runs in $2/summary_rank0.txt"
    for node in train_epoch backward validate test predict; do
        grep -q "^$node " "$2/summary_rank0.txt" || fail "$1: no $node in $2/summary_rank0.txt"
    done
    # The cost of each node in each phase: mean, deviation and median, as `plumb report` prints them.
    expect "$1, table" 0 "$PLUMB_BIN" report "$2"
    cmp -s out.txt "$2/summary_rank0.nodes.txt" || fail "$1: $(diff out.txt "$2/summary_rank0.nodes.txt")"
    has "$2/summary_rank0.nodes.txt" 'Mean(ms)    Std(ms)    Min(ms)    Max(ms) Median(ms)'
    for phase in train:378 val:112 test:16 inference:5; do
        grep -qE "^forward +${phase%:*} +${phase#*:} +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ " \
            "$2/summary_rank0.nodes.txt" || fail "$1: no forward of ${phase%:*}"
    done
}

PLUMB=1 PLUMB_QUIET=1 expect 'PLUMB=1' 0 "$program" --quick
cmp -s plain.txt out.txt || fail 'enabling changed what the program prints'
has_rows 'PLUMB=1' plumb-out
has_summary 'PLUMB=1' plumb-out/train_classifier/latest
expect 'plumb record' 0 "$PLUMB_BIN" record --run-dir run -- "$program" --quick
cmp -s plain.txt out.txt || fail 'plumb record changed what the program prints'
has_rows 'plumb record' run
has_summary 'plumb record' run
finish
