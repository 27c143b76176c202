#!/bin/sh
# labels: plain
# The output that the pages show is still what the commands print: the titles, columns and nodes of each
# sample of `plumb report` and `plumb compare` are those of the same command on a short run of the example
# that the page is written with.
set -u
here=$PWD
examples=$PLUMB_BUILD_DIR/examples
export OMP_WAIT_POLICY=passive PLUMB_QUIET=1

# record NAME ARG...: a short run of an example becomes NAME, and what it said NAME.txt
record() {
    name=$1
    shift
    program=$examples/$name/$name
    [ -x "$program" ] || { echo "skipped: $name was not built"; exit 77; }
    PLUMB_TRACE=1 PLUMB_QUIET=0 PLUMB_RUN_DIR=$here/$name "$program" "$@" >"$name.txt" 2>&1 || {
        echo "docs_samples: $name failed:" >&2
        cat "$name.txt" >&2
        exit 1
    }
}

record text_to_video --tiny --out video.mp4
record video_nodes video.mp4
# The last packets are after the others and before the index.
index=$(grep -abo moov video.mp4 | head -n 1 | cut -d : -f 1)
{ head -c $((index - 504)) video.mp4; head -c 500 /dev/zero | tr '\0' '\177'; tail -c +$((index - 3)) video.mp4; } >damaged.mp4
PLUMB_RUN_DIR=$here/video_nodes-leak "$program" video.mp4 --leak >/dev/null 2>&1
PLUMB_RUN_DIR=$here/video_nodes-failed "$program" damaged.mp4 >/dev/null 2>&1
record train_classifier --quick
/usr/bin/python3 "$PLUMB_SOURCE_DIR/tests/tools/_docs_samples.py" "$PLUMB_BIN" "$PLUMB_SOURCE_DIR"
