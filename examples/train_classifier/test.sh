#!/bin/sh
# The promises of the example: it learns, and says so if it does not; equal seeds give equal bytes, with
# any number of threads, recorded, not recorded and compiled without plumb; a checkpoint gives back what
# was saved; every row has its phase, also those of the loader's threads.
#
#   test.sh TRAIN_CLASSIFIER TRAIN_CLASSIFIER_DISABLED
set -eu
program=$1
disabled=$2

fail()
{
    echo "train_classifier: $*" >&2
    exit 1
}

same()
{
    cmp "$1" "$2" || fail "$3"
}

# run NAME PROGRAM ARGUMENT...: a quick training; NAME.txt is what it printed, NAME its checkpoints
run()
{
    name=$1
    shift
    "$@" --quick --out "$name" >"$name.txt" || fail "$name: exit status $?"
}

# equal NAME WHAT: NAME printed and saved what the first run did
equal()
{
    same first.txt "$1.txt" "$2 changed the output"
    for file in first/*; do
        same "$file" "$1/${file#first/}" "$2 changed a checkpoint"
    done
}

# refused STATUS ARGUMENT...: one line on stderr
refused()
{
    wanted=$1
    shift
    status=0
    "$program" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status, not $wanted, of: $*"
    [ "$(wc -l <err.txt)" = 1 ] || fail "not one line on stderr of: $* $(cat err.txt)"
}

# It learns, and a network that has not does not pass.
run first "$program"
grep -q '^test accuracy 0\.9' first.txt || fail "$(tail -n 1 first.txt)"
[ "$(echo first/*)" = "first/epoch-003.safetensors first/epoch-006.safetensors" ] || fail "$(ls first)"
refused 1 --quick --epochs 0 --out none
grep -q 'below the 0.9000 of --require' err.txt || fail "$(cat err.txt)"
grep -q '^loaded .*, as saved$' first.txt || fail "the checkpoint was not loaded back"

# Equal bytes.
run unthreaded "$program" --threads 0
equal unthreaded '--threads 0'
PLUMB=0 run forbidden "$program"
equal forbidden 'PLUMB=0'
PLUMB_RUN_DIR=$PWD/rows PLUMB_QUIET=1 run recorded "$program" --threads 3
equal recorded 'recording with --threads 3'
PLUMB_REGIONS='*' PLUMB_RUN_DIR=$PWD/regions PLUMB_QUIET=1 run traced "$program" --threads 3
equal traced 'tracing its regions'
for region in training_train_one_step training_validation training_save_checkpoint model_loading; do
    grep -qaF "plumb.region::profiler_region_$region" regions/trace.pftrace || fail "no region $region"
done
! grep -qaF predict regions/trace.pftrace || fail "the trace of its regions has more than these"
run disabled "$disabled"
equal disabled 'PLUMB_DISABLE'
! nm -u "$disabled" | grep plumb_ || fail "PLUMB_DISABLE left references to plumb"
run seed "$program" --epochs 1 --require 0 --seed 2
[ "$(sed -n 3p first.txt)" != "$(sed -n 3p seed.txt)" ] || fail "another seed printed the same"

# A checkpoint by itself gives the accuracies of its training; a wrong one gives a line and status 1.
"$program" --quick --test first/epoch-006.safetensors >tested.txt || fail "--test: exit status $?"
[ "$(tail -n 1 tested.txt)" = "$(tail -n 1 first.txt)" ] || fail "--test found another test accuracy"
[ "$(awk '$1 == 6 { print $4 }' first.txt)" = "$(sed -n 's/^loaded .* \(0\.[0-9]*\), as saved$/\1/p' tested.txt)" ] ||
    fail "--test found another validation accuracy: $(grep loaded tested.txt)"
refused 1 --quick --require 1 --test first/epoch-006.safetensors
refused 1 --quick --test missing.safetensors
head -c 5000 first/epoch-006.safetensors >cut.safetensors
refused 1 --quick --test cut.safetensors
{ head -c 9000 first/epoch-006.safetensors; tail -c +9002 first/epoch-006.safetensors; echo; } >odd.safetensors
refused 1 --quick --test odd.safetensors
refused 1 --quick --hidden 64 --test first/epoch-006.safetensors
grep -q "'layer0.weight' is 256 x 32, and 256 x 64" err.txt || fail "$(cat err.txt)"
: >occupied
refused 1 --quick --out occupied
refused 1 --quick --out missing/folder
[ -z "$(find . -name '*.part')" ] || fail "an unfinished file was left"
if [ -w /dev/full ]; then
    status=0
    "$program" --quick --test first/epoch-006.safetensors >/dev/full 2>err.txt || status=$?
    [ "$status" = 1 ] && grep -q stdout err.txt || fail "a full disk under stdout: $status"
fi

for wrong in --nonsense stray --epochs '--epochs -1' '--epochs 1001' '--batch 0' '--hidden 3' '--lr 0' \
    '--lr nan' '--lr 1e' '--seed x' '--threads 17' '--require 1.5' '--save-every 0' '--pictures 9'; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 $wrong
    [ ! -s out.txt ] || fail "$wrong: $(cat out.txt)"
done
refused 2 --out ''
"$program" --help | grep -q 'example:' || fail "no example in --help"

# The rows: 6 epochs of 63 batches, 7 validations and a test of 16, 5 pictures at the end.
[ -n "$PLUMB_BIN" ] || exit 0
"$PLUMB_BIN" report --format csv rows | awk -F, '{ print $3, $2, $4 }' | sort >rows.txt
for row in 'train train_epoch 6' 'train batch 378' 'train forward 378' 'train loss 378' \
    'train backward 378' 'train optimizer 378' 'train load_data 378' 'train wait_data 378' \
    'train checkpoint_save 2' 'val validate 7' 'val batch 112' 'val forward 112' 'val loss 112' \
    'val load_data 112' 'test test 1' 'test batch 16' 'test forward 16' 'test load_data 16' \
    'test checkpoint_load 1' 'inference predict 1' 'inference forward 5'; do
    grep -qx "$row" rows.txt || fail "no row '$row' in: $(cat rows.txt)"
done
! grep -E '^(val|test|inference) (backward|optimizer)' rows.txt || fail "trained outside of train"

# The loader's threads work below the stage that began the pass, in its phase; regions lie between.
"$PLUMB_BIN" report tree --format csv rows |
    awk -F, '$1 == 0 { top = $4 } $4 == "load_data" { print $3, top, $1, $6 }' | sort >tree.txt
printf '%s\n' 'test test 1 16' 'train train_epoch 1 378' \
    'val validate 2 112' >expected.txt
same expected.txt tree.txt "load_data hangs elsewhere"
