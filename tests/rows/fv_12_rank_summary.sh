#!/bin/sh
# labels: plain
# FV-12: each rank leaves summary_rank<R>.txt (at most 60 rows, by self device time) and .json (all rows,
# five fields); failing to write them is said and changes nothing else.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"

cat >ops.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <plumb/plumb.h>
/* 70 operators; the later ones took longer on the device. */
int main(int argc, char **argv)
{
    char name[16];
    (void)argv;
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "op.%d", i);
        for (int k = 0; k < 3; k++)
            plumb_record_device_ns(plumb_node_get(name), 1000u * (unsigned)i);
    }
    puts("done");
    return argc > 1 ? 7 : 0;
}
EOF
build -DPLUMB_LINKED ops.c -o ops -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# run NAME STATUS DIR [VARIABLE=VALUE]...
run() {
    run_name=$1
    run_status=$2
    run_dir=$3
    shift 3
    expect "$run_name" "$run_status" env PLUMB_RUN_DIR="$PWD/$run_dir" "$@"
    [ "$(cat out.txt)" = done ] || fail "stdout: $(cat out.txt)"
}

run 'rank unknown' 0 a ./ops
has err.txt "summary: $PWD/a/summary_rank0.txt"
[ "$(ls a)" = 'summary_rank0.json
summary_rank0.txt
timing.json' ] || fail "left in the run: $(ls a)"
jq -e 'length == 70 and all(.[]; keys_unsorted ==
           ["name", "shapes", "self_device_us", "device_us", "count"]) and
       all(.[]; (.shapes | type) == "string") and .[0].name == "op.0" and
       .[69] == {name: "op.69", shapes: "", self_device_us: 207, device_us: 207, count: 3}' \
    a/summary_rank0.json >/dev/null || fail "json: $(cat a/summary_rank0.json)"
[ "$(wc -l <a/summary_rank0.json)" = 1 ] || fail 'the JSON is indented'
[ "$(wc -l <a/summary_rank0.txt)" = 63 ] || fail 'the text has not 60 rows'
has a/summary_rank0.txt 'Rank 0: 60 of 70 rows' '10 left out' 'op.10 '
lacks a/summary_rank0.txt 'op.9 '
[ "$(sed -n 4p a/summary_rank0.txt | cut -c 1-6)" = 'op.69 ' ] || fail 'not by device time'

run 'rank 3 of 4' 0 b RANK=3 WORLD_SIZE=4 ./ops
[ "$(ls b)" = 'summary_rank3.json
summary_rank3.txt
timing.json' ] || fail "left in the run: $(ls b)"
lacks err.txt 'summary_rank'
has b/summary_rank3.txt 'Rank 3: '
run 'rank 0 of 4' 0 c RANK=0 WORLD_SIZE=4 ./ops
has err.txt "summary: $PWD/c/summary_rank0.txt"

# What cannot be written: said once, with the file; the other file, the report and the status stay.
mkdir -p d/summary_rank0.json
run 'a folder in its place' 7 d ./ops fail
has err.txt "cannot write '$PWD/d/summary_rank0.json': Is a directory"
[ "$(grep -c 'summary_rank0.json' err.txt)" = 1 ] || fail "said more than once: $(cat err.txt)"
lacks err.txt 'summary: '
[ "$(wc -l <d/summary_rank0.txt)" = 63 ] || fail 'the text was lost as well'
[ ! -e d/live.plumb ] && [ ! -e d/summary_rank0.json.tmp ] || fail "left behind: $(ls d)"
expect 'its report' 0 "$PLUMB_BIN" report d
empty err.txt

# A killed run gets them when it is recovered.
PLUMB_RUN_DIR=$PWD/e PLUMB_QUIET=1 RANK=2 WORLD_SIZE=4 ./linked signal 9 2>/dev/null
expect 'recover' 0 "$PLUMB_BIN" recover e
[ "$(cat out.txt)" = e/timing.json ] || fail "it printed '$(cat out.txt)'"
jq -e '[.[] | [.name, .count]] == [["frame", 20], ["work", 80], ["step", 60]]' \
    e/summary_rank2.json >/dev/null || fail "json: $(cat e/summary_rank2.json)"
PLUMB_RUN_DIR=$PWD/f PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
expect 'recover by report' 0 "$PLUMB_BIN" report f
[ -f f/summary_rank0.txt ] && [ -f f/summary_rank0.json ] || fail "left in the run: $(ls f)"
PLUMB_RUN_DIR=$PWD/g PLUMB_QUIET=1 ./linked signal 9 2>/dev/null
mkdir g/summary_rank0.txt
expect 'recover beside a folder' 0 "$PLUMB_BIN" recover g
has err.txt "cannot write 'g/summary_rank0.txt': not a regular file; timing.json has the same figures"
[ -f g/summary_rank0.json ] && [ -f g/timing.json ] || fail "left in the run: $(ls g)"
expect 'again' 0 "$PLUMB_BIN" recover g
lacks err.txt 'summary_rank'
finish
