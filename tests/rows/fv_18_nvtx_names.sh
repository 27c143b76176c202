#!/bin/sh
# labels: plain
# FV-18: dotted, indexed names of tiles come out as NVTX ranges nested in the exact order of entry and
# exit; in a step, the step is the range's payload.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/rows/_nvtx.sh"

expect 'tiles' 0 env PLUMB=1 PLUMB_NVTX=always ./prog tiles
{
    echo ready
    echo 1 push 0 vae.decode_clip
    for tile in 0.0 0.1 1.0 1.1; do
        printf '1 push 1 vae.decode_clip.tile.%s\n1 push 2 decode_tiles\n1 pop 2\n1 pop 1\n' $tile
    done
    echo 1 pop 0
} >expected.txt
cmp -s nvtx.log expected.txt || fail "$(cat nvtx.log)"
rm nvtx.log
expect 'all' 0 env PLUMB=1 PLUMB_NVTX=always ./prog
has nvtx.log 'push 1 vae.temporal_chunk.0.frame_segment.1 0' \
    'push 1 vae.temporal_chunk.1.frame_segment.1 1'
finish
