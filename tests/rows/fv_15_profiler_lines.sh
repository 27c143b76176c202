#!/bin/sh
# labels: plain
# FV-15: at log level info a traced run reports its start, its configuration, each switching of
# collection and its stop, once each, on local rank 0 alone; at other levels nothing.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_regions.sh"

# lines N: that many lines of the profiler, in err.txt
lines() {
    [ "$(grep -c '^PROFILER: ' err.txt)" = "$1" ] || fail "$name: $(cat err.txt)"
}

expect 'info' 7 env PLUMB_LOG=info PLUMB_RUN_DIR=run PLUMB_REGIONS=model_loading,training_step ./prog
sed -n 's/^PROFILER: //p' err.txt | sed 's/(.*thread.*/(...)/' >lines.txt
cat >expected.txt <<END
start: directory $PWD/run
config: regions model_loading,training_step, scope thread, nodes -; shapes off, memory off, stacks off, flops off
setting collection True: entered model_loading (...)
setting collection False: left model_loading (...)
setting collection True: entered training_train_one_step (...)
setting collection False: left training_train_one_step (...)
setting collection True: entered training_train_one_step (...)
setting collection False: left training_train_one_step (...)
stop: $PWD/run
END
cmp -s lines.txt expected.txt || fail "info: $(cat err.txt)"

expect 'silent' 7 env PLUMB_REGIONS=model_loading ./prog
lines 0
expect 'no trace' 7 env PLUMB=1 PLUMB_LOG=info ./prog
lines 0
expect 'rank 0' 7 env RANK=4 WORLD_SIZE=8 LOCAL_RANK=0 PLUMB_LOG=info PLUMB_REGIONS=model_loading ./prog
lines 5
expect 'rank 1' 7 env RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 PLUMB_LOG=info PLUMB_REGIONS=model_loading,x ./prog
lines 0
lacks err.txt PLUMB_REGIONS
finish
