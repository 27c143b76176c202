#!/bin/sh
# labels: notsan
# (text_to_video makes the video; libgomp and oneDNN are not instrumented.)
# The promises of the example: equal bytes for equal input, recorded, not recorded and compiled without plumb; exact
# rows with the first three runs of each node left out; every frame returned to the pool, or named if not.
#
#   test.sh VIDEO_NODES VIDEO_NODES_DISABLED TEXT_TO_VIDEO CHECK_VIDEO
set -eu
program=$1
disabled=$2
text_to_video=$3
check=$4

fail()
{
    echo "video_nodes: $*" >&2
    exit 1
}

same()
{
    cmp "$1" "$2" || fail "$3"
}

# run NAME PROGRAM ARGUMENT...: 20 frames of a video that has 8, in a folder of its own
run()
{
    name=$1
    shift
    mkdir "$name"
    (cd "$name" && "$@" ../in.mp4 --frames 20 --width 96) >"$name.txt" || fail "$name: exit status $?"
}

# equal NAME WHAT: NAME made what the first run did
equal()
{
    same first/video_nodes.jsonl "$1/video_nodes.jsonl" "$2 changed the boxes"
    same first/video_nodes.mp4 "$1/video_nodes.mp4" "$2 changed the video"
}

# refused STATUS TEXT ARGUMENT...: one line on stderr with TEXT in it, nothing on stdout, no file left
refused()
{
    wanted=$1
    text=$2
    shift 2
    status=0
    "$program" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status, not $wanted, of: $*"
    [ "$(wc -l <err.txt)" = 1 ] && [ ! -s out.txt ] || fail "not one line of: $* $(cat err.txt out.txt)"
    grep -qF -- "$text" err.txt || fail "no '$text' in: $(cat err.txt)"
    [ ! -e video_nodes.mp4 ] && [ ! -e video_nodes.jsonl ] || fail "results were left by: $*"
}

PLUMB=0 "$text_to_video" --quick --out in.mp4 >/dev/null

# Equal bytes.
run first "$program"
run again "$program"
equal again 'another run'
same first.txt again.txt 'another run printed something else'
PLUMB=0 run forbidden "$program" --profile
equal forbidden 'PLUMB=0'
same first.txt forbidden.txt 'PLUMB=0 changed the output'
run disabled "$disabled"
equal disabled 'PLUMB_DISABLE'
same first.txt disabled.txt 'PLUMB_DISABLE changed the output'
! nm -u "$disabled" | grep plumb_ || fail 'PLUMB_DISABLE left references to plumb'
! "$disabled" in.mp4 --profile >out.txt 2>err.txt || fail '--profile without plumb is said to work'
grep -q 'without plumb' err.txt || fail "$(cat err.txt)"
PLUMB_RUN_DIR=$PWD/rows PLUMB_SKIP_FIRST=3 PLUMB_QUIET=1 run recorded "$program"
equal recorded 'recording'
run profile "$program" --profile 2>profile_err.txt
mv profile/plumb-out/video_nodes/2* profile_rows
equal profile '--profile'

# A video that decodes, and a JSON object for each frame; the first has nothing to be compared with.
case $("$check" first/video_nodes.mp4) in
"20 96x96 "*) ;;
*) fail "the video is $("$check" first/video_nodes.mp4)" ;;
esac
number='\(0\|[1-9][0-9]*\)'
box="{\"x\":$number,\"y\":$number,\"width\":$number,\"height\":$number,\"cells\":$number,\"difference\":$number}"
grep -vx "{\"frame\":$number,\"time_ms\":$number,\"boxes\":\[\($box\(,$box\)*\)\?\]}" first/video_nodes.jsonl &&
    fail 'lines that are no such JSON'
jq -c '[.frame, .time_ms]' first/video_nodes.jsonl >frames.txt
seq 0 19 | awk '{ printf "[%d,%d]\n", $1, $1 * 125 }' | cmp - frames.txt || fail 'frames or times are missing'
jq -es 'all(.[].boxes[]; .x + .width <= 96 and .y + .height <= 96 and .cells >= 4 and .difference > 6)
    and (.[0].boxes | length == 0)' first/video_nodes.jsonl >/dev/null || fail 'boxes that cannot be'
boxes=$(jq -s '[.[].boxes[]] | length' first/video_nodes.jsonl)
moving=$(jq -s 'map(select(.boxes | length > 0)) | length' first/video_nodes.jsonl)
[ "$boxes" -ge 10 ] || fail "only $boxes boxes"
grep -qx "video_nodes.jsonl: $boxes boxes in $moving frames" first.txt || fail "$(cat first.txt)"

# The video once, and nothing moves by more than 254.
"$program" in.mp4 --width 96 --out once.mp4 --json once.jsonl >once.txt
head -n 8 first/video_nodes.jsonl | cmp - once.jsonl || fail 'the first pass is not the first pass'
"$program" in.mp4 --width 96 --threshold 254 --out still.mp4 --json still.jsonl >still.txt
grep -qx 'still.jsonl: 0 boxes in 0 frames' still.txt || fail "$(cat still.txt)"
! cmp -s once.mp4 still.mp4 || fail 'boxes cannot be seen in the video'
"$program" once.mp4 --width 50 --out small.mp4 --json small.jsonl >small.txt
grep -qx 'small.mp4: 8 frames of 50x50' small.txt || fail "$(cat small.txt)"

# leaked NAME: device, pool, owner and bytes of what the run left; the pool's sums
leaked()
{
    jq -r '.memory.pools[] | "\(.device) \(.pool) \(.leaked_blocks) \(.leaked_bytes)",
        (.leaks[] | "\(.node) \(.bytes)")' "$1/timing.json"
}
PLUMB_RUN_DIR=$PWD/leak_rows PLUMB_QUIET=1 run leak "$program" --leak
equal leak '--leak'
leaked leak_rows >leak_found.txt
printf '%s\n' 'cpu frames 3 46080' 'resize 15360' 'resize 15360' 'resize 15360' |
    cmp - leak_found.txt || fail "the leak is told as: $(cat leak_found.txt)"
grep -qx 'frame pool: 3 frames were never given back' leak.txt || fail "$(cat leak.txt)"
[ "$(leaked rows)" = 'cpu frames 0 0' ] || fail "frames were lost: $(leaked rows)"
! grep 'never given back' first.txt || fail 'frames are said to be lost'
jq -e '.memory.pools[0] | .allocs == .frees and .unknown_frees == 0 and .reserved_bytes == 0
    and ([.owners[] | select(.allocs == .frees and .alloc_bytes == .free_bytes) | .node]
        == ["decode", "resize", "detect_motion"])
    and ([.owners[] | select(.node != "decode") | .allocs] == [20, 20])' rows/timing.json >/dev/null ||
    fail "the pool is told as: $(jq -c .memory.pools rows/timing.json)"
jq -r '.memory.pools[0] | "\(.allocs) \(.peak_reserved_bytes / 1024 | floor)"' rows/timing.json >told.txt
sed -n 's/^frame pool: \([0-9]*\) frames taken, .*, \([0-9]*\) KiB reserved in 3 segments$/\1 \2/p' first.txt |
    cmp - told.txt || fail "pool: $(cat first.txt), and plumb says $(cat told.txt)"
jq -e '.requests | length == 1 and .[0].state == "ended" and .[0].metadata.video == "../in.mp4"
    and [.[0].stages[].name] == ["open", "close"]' rows/timing.json >/dev/null || fail 'the request is wrong'

# Files that cannot be used.
: >empty.mp4
head -c 100 /dev/zero >zero.mp4
bytes=$(wc -c <once.mp4)
head -c $((bytes - 1)) once.mp4 >cut.mp4
# The sizes of the packets stand in the box stsz: without the last one the file is short, and no packet cut.
sizes=$(grep -abo stsz once.mp4 | head -n 1 | cut -d : -f 1)
last=$(od -An -tu4 --endian=big -j $((sizes + 16 + 7 * 4)) -N 4 once.mp4)
head -c $((bytes - last)) once.mp4 >short.mp4
# A packet begins with the size of its first part: one that is larger than the packet.
{ cat short.mp4; printf '\177\377\377\377'; tail -c $((last - 4)) once.mp4; } >damaged.mp4
refused 1 'No such file' missing.mp4
refused 1 'Is a directory' first
refused 1 'Invalid data' empty.mp4
refused 1 'Invalid data' zero.mp4
refused 1 'Invalid data' once.jsonl
refused 1 'damaged at packet 8' damaged.mp4
refused 1 'damaged at packet 8' cut.mp4
refused 1 'only 7 of 8 packets' short.mp4
refused 1 'only 7 of 8 packets' short.mp4 --frames 20
refused 1 'missing/a.mp4: cannot be written' in.mp4 --out missing/a.mp4
refused 1 'missing/a.jsonl: cannot be written' in.mp4 --json missing/a.jsonl
refused 1 'not a regular file' in.mp4 --out /dev/null
refused 1 'not a regular file' in.mp4 --json .
refused 1 'a?b.mp4' "$(printf 'a\nb.mp4')"
refused 2 'which video'
refused 2 'second video' in.mp4 in.mp4
refused 2 'would replace' in.mp4 --out in.mp4
refused 2 'are both' in.mp4 --out x --json x
for wrong in --nonsense --frames '--frames 0' '--frames 1e3' '--frames -1' '--frames 1000001' '--width 15' \
    '--width 97' '--width 4098' '--threshold 255' '--threshold nan' '--cells 0'; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 '--' in.mp4 $wrong
done
refused 2 '--out' in.mp4 --out ''
refused 2 'unknown' ''
"$program" --help | grep -q 'example:' || fail 'no example in --help'
! "$program" --help | grep leak || fail '--help tells of --leak'
[ -z "$(find . -name '*.part')" ] || fail 'an unfinished file was left'
if [ -w /dev/full ]; then
    status=0
    "$program" in.mp4 --width 96 --out full.mp4 --json full.jsonl >/dev/full 2>err.txt || status=$?
    [ "$status" = 1 ] && grep -q stdout err.txt || fail "a full disk under stdout: $status"
fi

# A failure is recorded at its node; the frames before it keep their samples.
! PLUMB_RUN_DIR=$PWD/failed_rows PLUMB_QUIET=1 "$program" damaged.mp4 --width 96 >/dev/null 2>&1 || fail 'damaged.mp4 is taken'
jq -e '[.nodes[] | select(.failures > 0) | .name] == ["decode"]' failed_rows/timing.json >/dev/null ||
    fail "failed: $(jq -c '[.nodes[] | select(.failures > 0) | .name]' failed_rows/timing.json)"
jq -e '.requests[0].state == "failed" and .memory.pools[0].leaked_blocks == 0' failed_rows/timing.json >/dev/null ||
    fail 'the failed request is wrong'

# The rows: 20 frames without the first 3; each node of its own stage ran once and is skipped.
[ -n "$PLUMB_BIN" ] || exit 0
for node in decode detect_motion encode overlay_boxes resize write_json; do
    echo "$node 17"
done >expected.txt
printf 'close 0\nopen 0\n' >>expected.txt
sort -o expected.txt expected.txt
for rows in rows profile_rows; do
    "$PLUMB_BIN" report --format csv "$rows" | awk -F, 'NR > 1 { print $2, $4 }' | sort >counts.txt
    same expected.txt counts.txt "$rows has other rows"
done

# The program prints the table that plumb report prints, which divides by the 17 frames.
for name in recorded profile; do
    rows=rows
    [ "$name" = recorded ] || rows=profile_rows
    "$PLUMB_BIN" report --frames 20 "$rows" >report.txt
    sed '1,/^$/d' "$name.txt" | diff - report.txt >&2 || fail "$name printed another table than plumb report"
    head -n 3 "$name.txt" | cmp - first.txt || fail "$name printed other results"
    grep -qx 'Profiling Summary (20 frames, skip_first_n=3)' report.txt || fail "$(head -n 1 report.txt)"
    jq -r '[.nodes[].total_ns] | add / 17 / 1e6' "$rows/timing.json" >average.txt
    sed -n 's/^Average per-frame pipeline time: \([0-9.]*\) ms.*/\1/p' report.txt | paste - average.txt |
        awk '{ difference = $1 - $2 } END { exit !(NR == 1 && difference < 0.006 && difference > -0.006) }' ||
        fail "the average is not $(cat average.txt): $(tail -n 1 report.txt)"
done
