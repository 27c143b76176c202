#!/bin/sh
# labels: plain
# FV-17: with PLUMB_NVTX each span is an NVTX range, pushed and popped on its thread whatever ends it:
# a failure, an outer end, the end of its thread, the end of the run. Off, or without a GPU: no call
# at all, unless the ranges are asked for always, as most of this test does.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_nvtx.sh"

expect 'off' 0 env PLUMB=1 ./prog
[ ! -e nvtx.log ] || fail "off: $(cat nvtx.log)"
expect 'not recording' 0 env PLUMB_NVTX=always PLUMB=0 ./prog
[ ! -e nvtx.log ] || fail "not recording: $(cat nvtx.log)"

# CUDA_VISIBLE_DEVICES hides the GPUs of this machine, if it has some.
for hidden in '' -1; do
    expect 'no GPU' 0 env CUDA_VISIBLE_DEVICES=$hidden PLUMB=1 PLUMB_NVTX=1 ./prog
    [ ! -e nvtx.log ] || fail "no GPU: $(cat nvtx.log)"
    has err.txt 'PLUMB_NVTX emits no ranges: no NVIDIA GPU is there' 'PLUMB_NVTX=always'
    [ "$(grep -c 'emits no ranges' err.txt)" = 1 ] || fail "no GPU: said more than once: $(cat err.txt)"
    expect 'no GPU, async' 0 env CUDA_VISIBLE_DEVICES=$hidden PLUMB=1 PLUMB_NVTX=1 PLUMB_QUIET=1 ./prog async
    [ ! -e nvtx.log ] || fail "no GPU, async: $(cat nvtx.log)"
done
expect 'as this machine is' 0 env -u CUDA_VISIBLE_DEVICES PLUMB=1 PLUMB_NVTX=1 ./prog tiles
if "$PLUMB_BIN" doctor | grep -q '^seen *nvtx'; then
    [ "$(grep -c push nvtx.log)" = 9 ] || fail "with a GPU: $(grep -c push nvtx.log) pushes"
    lacks err.txt 'emits no ranges'
    rm nvtx.log
fi
[ ! -e nvtx.log ] || fail "without a GPU: $(cat nvtx.log)"
expect 'a word that is none' 0 env PLUMB=1 PLUMB_NVTX=sometimes ./prog
has err.txt "PLUMB_NVTX: 'sometimes' is not one of on|off|always; ignored"
[ ! -e nvtx.log ] || fail "a word that is none: $(cat nvtx.log)"

expect 'on' 0 env PLUMB=1 PLUMB_NVTX=always ./prog
[ "$(grep -c '^ready$' nvtx.log)" = 1 ] || fail 'on: the tool was not loaded once'
[ "$(grep -c push nvtx.log)" = 22 ] || fail "on: $(grep -c push nvtx.log) pushes"
[ "$(grep -c ' pop ' nvtx.log)" = 22 ] || fail "on: $(grep -c ' pop ' nvtx.log) pops"
lacks nvtx.log 'pop of nothing'
# Every pop takes the push before it on its thread.
awk '$2 == "push" { if ($3 != d[$1]++) bad = 1 } $2 == "pop" { if ($3 != --d[$1]) bad = 1 }
     END { for (t in d) if (d[t]) bad = 1; exit bad }' nvtx.log || fail "on: $(cat nvtx.log)"
sed -n '/chunk/,$p' nvtx.log | sed 1,4d >rest.txt
cat >expected.txt <<END
1 push 0 chunk 1
1 push 1 vae.temporal_chunk.1.frame_segment.1 1
1 pop 1
1 pop 0
1 push 0 first
1 pop 0
1 push 0 second
1 pop 0
1 push 0 outer
1 push 1 lost
1 push 2 lost
1 pop 2
1 pop 1
1 pop 0
2 push 0 plumb.region::profiler_region_model_loading
2 push 1 never ended
2 pop 1
2 pop 0
1 push 0 across the stop
1 push 1 inside it
1 pop 1
1 pop 0
END
cmp -s rest.txt expected.txt || fail "on: $(cat rest.txt)"

# Async spans: one start and one end each, whichever thread ends them, and whatever runs stop in the meantime.
rm nvtx.log
expect 'async' 0 env PLUMB=1 PLUMB_NVTX=always PLUMB_QUIET=1 ./prog async
awk '$2 == "start" { if (name[$3]) bad = 1; name[$3] = $4; starts++ } $2 == "end" { if (!name[$3] || ended[$3]++) bad = 1; ends++ }
     $2 == "push" || $2 == "pop" { bad = 1 } END { exit bad || starts != ends || starts < 6 }' nvtx.log ||
    fail "async: $(grep -c start nvtx.log) starts, $(grep -c end nvtx.log) ends: $(head -20 nvtx.log)"
head -n 13 nvtx.log | sed '/^ready$/d' >rest.txt
cat >expected.txt <<END
1 start 1 request 0
2 end 1
1 start 2 request 1
3 end 2
1 start 3 fails
1 end 3
1 start 4 left open
1 end 4
1 start 5 second run
1 end 5
END
head -n 10 rest.txt | cmp -s - expected.txt || fail "async: $(cat rest.txt)"
grep -q 'start [0-9]* open at exit' nvtx.log || fail 'async: the last span is no range'
rm nvtx.log
expect 'async, off' 0 env PLUMB=1 PLUMB_QUIET=1 ./prog async
[ ! -e nvtx.log ] || fail "async, off: $(cat nvtx.log)"

# Statistics are those of a run without; without a tool, and with one that is not there, all goes on.
expect 'no tool' 0 env -u NVTX_INJECTION64_PATH PLUMB=1 PLUMB_NVTX=always ./prog
expect 'a wrong tool' 0 env NVTX_INJECTION64_PATH=/no/tool.so PLUMB=1 PLUMB_NVTX=always ./prog
has err.txt '15 nodes, 17 spans'
expect 'doctor' 1 env NVTX_INJECTION64_PATH=/no/tool.so "$PLUMB_BIN" doctor
grep -qE '^blocked +nvtx .*/no/tool.so: No such file' out.txt || fail "doctor: $(cat out.txt)"
finish
