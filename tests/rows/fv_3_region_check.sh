#!/bin/sh
# labels: plain
# FV-3: an unknown region among good ones warns once, with the nearest name; a list without any good
# one is one error that names the regions; the program goes on in any case, without a trace.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

expect 'one bad of two' 7 env PLUMB=1 'PLUMB_REGIONS=model_loading,Training_Stp,training_stp' ./prog
[ "$(cat out.txt)" = "$(printf 'model_loading 1\ndone')" ] || fail "$name: $(cat out.txt)"
[ "$(grep -c 'PLUMB_REGIONS: no such region' err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
has err.txt "'Training_Stp' (did you mean 'training_step'?); there are distillation_loss" \
    'training_validation'

# bad LIST: none of it is a region
bad() {
    expect "PLUMB_REGIONS='$1'" 7 env PLUMB=1 PLUMB_TRACE=1 PLUMB_RUN_DIR=run "PLUMB_REGIONS=$1" ./prog
    [ "$(cat out.txt)" = done ] || fail "$name: $(cat out.txt)"
    [ "$(grep -c 'PLUMB_REGIONS names no region, so there is no trace' err.txt)" = 1 ] ||
        fail "$name: $(cat err.txt)"
    has err.txt 'distillation_loss, ' ', training_train_one_step, '
    [ -s run/timing.json ] || fail "$name: no timing.json"
    [ "$(find run -name '*trace*')" = '' ] || fail "$name: there is a trace"
    rm -r run
}
bad 'foo,bar'
has err.txt "'foo', 'bar'"
bad ' , '
has err.txt 'the list is empty'
bad ''
has err.txt 'the list is empty'

# With PLUMB_REGION_CHECK=abort the program ends before it does anything, and leaves no file.
aborts() {
    expect "abort, PLUMB_REGIONS='$1'" "$2" env PLUMB_REGION_CHECK=abort PLUMB_RUN_DIR=run "PLUMB_REGIONS=$1" ./prog
}
aborts 'foo,bar' 1
[ ! -s out.txt ] || fail "$name: the program went on"
[ "$(grep -c 'names no region, so the program ends (PLUMB_REGION_CHECK=abort)' err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
has err.txt "'foo', 'bar'" 'distillation_loss, '
[ ! -e run ] || fail "$name: there is a run directory"
aborts '' 1
has err.txt 'the list is empty'
aborts 'foo,model_loading' 7
[ -s run/trace.pftrace ] || fail "$name: no trace"
rm -r run
expect 'abort, without a list' 7 env PLUMB=1 PLUMB_REGION_CHECK=abort ./prog
expect 'abort, not recording' 7 env PLUMB=0 PLUMB_REGION_CHECK=abort PLUMB_REGIONS=foo ./prog
expect 'warn' 7 env PLUMB_REGION_CHECK=warn PLUMB_REGIONS=foo PLUMB_RUN_DIR=run ./prog
rm -r run

# A region that is not registered: reported once for each name, and entering it has no effect.
expect 'strange' 7 env PLUMB=1 ./prog
[ "$(grep -c "region 'no_such_region' is not registered" err.txt)" = 1 ] || fail "$name: $(cat err.txt)"
expect 'strange, off' 7 ./prog
empty err.txt
finish
