#!/bin/sh
# labels: plain
# FV-2: regions are chosen by a comma list; blanks, letter case, repeats, empty entries and the choice
# between long, short and twin name do not matter.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

# chosen LIST EXPECTED...: the regions that PLUMB_REGIONS=LIST selects, with what each was entered
chosen() {
    expect "PLUMB_REGIONS='$1'" 7 env PLUMB=1 "PLUMB_REGIONS=$1" ./prog own_region
    shift
    printf '%s\n' "$@" done | sed '/^$/d' >expected.txt
    cmp -s out.txt expected.txt || fail "$name: it selected: $(tr '\n' ';' <out.txt)"
    lacks err.txt PLUMB_REGIONS
}

chosen ' Model_Loading , ,training_step' 'model_loading 1' 'training_train_one_step 2'
chosen 'training_train_one_step,TRAINING_STEP,profiler_region_training_step' 'training_train_one_step 2'
chosen ',,profiler_region_model_loading,' 'model_loading 1'
chosen 'Own_Region' 'own_region 1'
# A list of any length that makes sense is taken whole; one that is not is refused, in a line, as if it were not set.
long=$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "model_loading," }')
chosen "${long}training_step" 'model_loading 1' 'training_train_one_step 2'
expect 'much too long' 7 env PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=long PLUMB_REGIONS="$long$long$long$long$long$long" ./prog
[ "$(cat out.txt)" = done ] || fail "much too long: it selected: $(tr '\n' ';' <out.txt)"
[ "$(grep -c PLUMB_REGIONS err.txt)" = 1 ] || fail "much too long: $(cat err.txt)"
has err.txt 'is longer than 16383 bytes; ignored'
[ -s long/trace.pftrace ] || fail 'much too long: the trace that was asked for is not there'

expect 'all' 7 env PLUMB=1 'PLUMB_REGIONS= * ' ./prog own_region
[ "$(grep -c . out.txt)" = 18 ] || fail "all: not every region is selected"
expect 'unset' 7 env PLUMB=1 ./prog
[ "$(cat out.txt)" = done ] || fail 'unset: something is selected'
lacks err.txt PLUMB_REGIONS

# The same from the command, and from the program's options (settings have one table).
expect 'record' 7 "$PLUMB_BIN" record --regions model_loading -- ./prog
has out.txt 'model_loading 1'

expect 'help' 0 "$PLUMB_BIN" help regions
has out.txt model_loading training_train_one_step training_step distillation_loss PLUMB_REGIONS
[ "$(awk 'length($0) > 110' out.txt)" = '' ] || fail 'help regions: long lines'
finish
