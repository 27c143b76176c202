#!/bin/sh
# Records the text-to-video example and shows where its time went: `make demo`.
# DEMO_DIR is where the video and the run go, PROMPT what the video is of.
set -eu
cd "$(dirname "$0")/.."
tools/deps.sh demo
build=${BUILD:-build}/release
log=$build.log
mkdir -p "$(dirname "$build")"
echo "== building (log in $log)"
if ! tools/build.sh release -DPLUMB_EXAMPLES=on >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi

plumb=$build/bin/plumb
program=$build/examples/text_to_video/text_to_video
place=${DEMO_DIR:-$build/demo}
video=$place/video.mp4
mkdir -p "$place"
# Idle OpenMP workers that spin take the core from those that work.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

run=$(realpath "$place")/run
rm -rf "$run"
show "$plumb" record --run-dir "$run" -- "$program" \
    --prompt "${PROMPT:-a lighthouse in a storm, at night}" --out "$video"
show "$plumb" report "$run"
show "$plumb" report tree "$run"

printf '\nThe video:     %s\nThe recording: %s\n' "$video" "$run"
find "$run" -type f -printf '                 %f  %s bytes\n' | sort
