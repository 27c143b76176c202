#!/bin/sh
# labels: plain
# FV-19: with NVTX on, each rank logs the UUID of the GPU that it works on; off, no file of the driver
# is read. The driver's files are made up, in a mount namespace of the test's own.
if [ "${1-}" != inside ]; then
    if unshare -m true 2>/dev/null; then
        flags=-m
    elif unshare -rm true 2>/dev/null; then
        flags=-rm
    else
        echo 'no mount namespace can be made here'
        exit 77
    fi
    # Programs under test get no variables of the test's.
    exec env OUR_SOURCE="$PLUMB_SOURCE_DIR" OUR_BUILD="$PLUMB_BUILD_DIR" OUR_BIN="$PLUMB_BIN" OUR_LIB="$PLUMB_LIB" \
        OUR_KIND="$PLUMB_BUILD_KIND" unshare $flags "$0" inside
fi
PLUMB_SOURCE_DIR=$OUR_SOURCE PLUMB_BUILD_DIR=$OUR_BUILD PLUMB_BIN=$OUR_BIN PLUMB_LIB=$OUR_LIB PLUMB_BUILD_KIND=$OUR_KIND
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_nvtx.sh"
mount -t tmpfs none /proc/driver || exit 77

# gpu PLACE UUID
gpu() {
    mkdir -p "/proc/driver/nvidia/gpus/$1"
    printf 'Model: \t\t NVIDIA H200\nIRQ:   \t\t 2\nGPU UUID: \t %s\n' "$2" >"/proc/driver/nvidia/gpus/$1/information"
}
gpu 0000:c1:00.0 GPU-cccccccc-1111-2222-3333-444444444444
gpu 0000:1b:00.0 GPU-aaaaaaaa-1111-2222-3333-444444444444
gpu 0000:5e:00.0 GPU-bbbbbbbb-1111-2222-3333-444444444444

# receipt WANTED VARIABLE...
receipt() {
    wanted=$1
    shift
    expect "$*" 0 env -u CUDA_VISIBLE_DEVICES PLUMB=1 PLUMB_LOG=info PLUMB_QUIET=1 "$@" ./prog
    [ "$(grep 'Worker' err.txt)" = "$wanted" ] || fail "$*: $(cat err.txt)"
}
always=PLUMB_NVTX=always
a=GPU-aaaaaaaa-1111-2222-3333-444444444444
b=GPU-bbbbbbbb-1111-2222-3333-444444444444
c=GPU-cccccccc-1111-2222-3333-444444444444
receipt "Worker 0 CUDA device UUID: $a" $always
receipt "Worker 2 CUDA device UUID: $c" $always RANK=2 WORLD_SIZE=3 LOCAL_RANK=2
receipt "Worker 5 CUDA device UUID: $b" $always RANK=5 WORLD_SIZE=8 LOCAL_RANK=1
# A launcher that gives each process one GPU, and one that gives all of them in another order.
receipt "Worker 3 CUDA device UUID: $b" $always RANK=3 WORLD_SIZE=4 LOCAL_RANK=3 CUDA_VISIBLE_DEVICES=1
receipt "Worker 1 CUDA device UUID: $a" $always RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 CUDA_VISIBLE_DEVICES=2,0
receipt "Worker 0 CUDA device UUID: $c" $always CUDA_VISIBLE_DEVICES=GPU-cccc
receipt "Worker 0 CUDA device UUID: MIG-12345678-1" $always CUDA_VISIBLE_DEVICES=MIG-12345678-1,0
receipt '' $always RANK=9 WORLD_SIZE=10 LOCAL_RANK=9
receipt '' $always CUDA_VISIBLE_DEVICES=GPU-dddd
# Nothing is said where the log is silent, and nothing without NVTX.
receipt '' $always PLUMB_LOG=silent
receipt '' PLUMB_NVTX=0
receipt '' PLUMB_LOG=debug
if command -v strace >/dev/null; then
    strace -f -e trace=openat,open -o calls.txt env PLUMB=1 PLUMB_LOG=info PLUMB_QUIET=1 ./prog 2>err.txt
    # The environment of a run names its GPUs; no UUID is looked for.
    [ "$(grep -c 'information' calls.txt)" -le 3 ] || fail "off: $(grep information calls.txt)"
    strace -f -e trace=openat,open -o calls.txt env PLUMB=1 PLUMB_NVTX=always PLUMB_LOG=info PLUMB_QUIET=1 ./prog 2>err.txt
    [ "$(grep -c 'information' calls.txt)" -gt 3 ] || fail "on: $(grep information calls.txt)"
fi
finish
