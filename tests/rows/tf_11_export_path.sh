#!/bin/sh
# labels: plain
# TF-11: the report is written at exit without any call; PLUMB_TIMING_REPORT puts a copy where it says,
# apart for each process, and nothing goes wrong when that cannot be.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
. "$PLUMB_SOURCE_DIR/tests/cli/_build.sh"
PLUMB_DIR=$PWD/out
export PLUMB_DIR

cat >forks.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/plumb.h>
static void work(int n)
{
    for (int i = 0; i < n; i++) {
        PLUMB_SPAN("work");
    }
}
/* Leaves its folder, forks, and says who the child was: what each counts tells them apart. */
int main(int argc, char **argv)
{
    pid_t child;
    if (argc > 1 && chdir("/") != 0)
        return 3;
    work(1);
    child = fork();
    if (child == 0) {
        work(5);
        if (argc > 1 && strcmp(argv[1], "again") == 0) {
            plumb_error err;
            plumb_stop(&err);
            if (plumb_start(NULL, &err) < 0)
                return 4;
            work(7);
        }
        exit(0);
    }
    work(2);
    waitpid(child, NULL, 0);
    printf("%d %d\n", (int)getpid(), (int)child);
    return 0;
}
EOF
build -DPLUMB_LINKED forks.c -o forks -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"

# newest: the run directory that was made last
newest() {
    find "$PLUMB_DIR" -name timing.json | sort | tail -n 1
}

# counts FILE N: the copy holds N runs of `work`
counts() {
    [ "$(jq '.nodes[] | select(.name == "work") | .count' "$1")" = "$2" ] ||
        fail "$name: $1 has $(jq -c '[.nodes[] | [.name, .count]]' "$1"), not $2 of work"
}

expect 'the default path' 0 env PLUMB=1 ./linked
[ -f "$(newest)" ] || fail 'no timing.json in a run directory'
rm -rf out

# Asking for the copy is asking to record; the run directory has the same bytes.
expect 'an explicit path' 0 env PLUMB_TIMING_REPORT=new/folder/report.json ./linked
cmp -s new/folder/report.json "$(newest)" || fail 'the copy is not the report'
[ "$(ls new/folder)" = report.json ] || fail "left in the folder: $(ls new/folder)"
expect 'it is a report' 0 "$PLUMB_BIN" report new/folder/report.json
has out.txt 'frame'
expect 'a later run replaces it' 5 env PLUMB_TIMING_REPORT=new/folder/report.json ./linked status 5
[ "$(jq -r .metadata.command new/folder/report.json)" = './linked status 5' ] || fail 'not the later one'
expect 'plumb record' 5 "$PLUMB_BIN" record --timing-report by_option.json -- ./linked status 5
counts by_option.json 80
expect 'killed by SIGTERM' 143 sh -c 'PLUMB_TIMING_REPORT=term.json ./linked signal 15; exit $?'
counts term.json 80
expect 'PLUMB=0 wins' 0 env PLUMB=0 PLUMB_TIMING_REPORT=none.json ./linked
[ ! -e none.json ] || fail 'PLUMB=0 left a copy'

mkdir home
expect 'expanded' 0 env HOME="$PWD/home" WORD=word RANK=3 WORLD_SIZE=4 \
    PLUMB_TIMING_REPORT='~/%q{WORD}-%r-100%%.json' ./linked
counts 'home/word-3-100%.json' 80

# Never the path of another process: a forked child, or another rank.
expect 'a forked child' 0 env PLUMB_TIMING_REPORT=family.json ./forks
read -r parent child <out.txt
counts family.json 3
counts family.$child.json 5
[ "$(ls family*)" = "family.$child.json
family.json" ] || fail "left: $(ls family*)"
expect '%p' 0 env PLUMB_TIMING_REPORT=by-%p.json ./forks
read -r parent child <out.txt
counts by-$parent.json 3
counts by-$child.json 5
expect 'no extension' 0 env PLUMB_TIMING_REPORT=dir.d/plain ./forks
read -r parent child <out.txt
counts dir.d/plain 3
counts dir.d/plain.$child 5
expect 'a relative path is that of the start' 0 env PLUMB_TIMING_REPORT=start.json ./forks moved
read -r parent child <out.txt
counts start.json 3
counts start.$child.json 5
expect 'a child that starts again' 0 env PLUMB_TIMING_REPORT="$PWD/again.json" ./forks again
read -r parent child <out.txt
counts again.json 3
counts again.$child.json 7
for rank in 0 1; do
    expect "rank $rank" 0 env RANK=$rank WORLD_SIZE=2 PLUMB_TIMING_REPORT=ranks.json ./linked
done
[ "$(jq .rank.rank ranks.json)" = 0 ] && [ "$(jq .rank.rank ranks.rank1.json)" = 1 ] || fail 'ranks are mixed'

# A copy that cannot be written: one line, and otherwise the run is as without it.
cannot() {
    why=$1
    path=$2
    expect "$why" 5 env PLUMB_TIMING_REPORT="$path" ./linked status 5
    has err.txt "$why"
    [ "$(grep -c "$why" err.txt)" = 1 ] || fail "$name: said more than once"
    counts "$(newest)" 80
}
: >file
mkdir folder
mkfifo pipe
ln -s file link
cannot "cannot make directory '$PWD/file/below'" file/below/report.json
cannot "cannot write '$PWD/folder': not a regular file; the report is in '" folder
cannot "cannot write '$PWD/pipe': not a regular file" pipe
cannot "cannot write '$PWD/link': not a regular file" link
[ -p pipe ] && [ -L link ] || fail 'what lay in the way was replaced'
cannot "'%q{NO_SUCH}/x.json': NO_SUCH is not set, which the path needs; no copy of the report is written" \
    '%q{NO_SUCH}/x.json'
long=$(printf 'd%.0s' $(seq 1000))
cannot 'is too long; no copy of the report is written' "$long"

# The signatures of stages are next to each report, if the program records them.
cat >tells.c <<'EOF'
#include <plumb/plumb.h>
int main(void)
{
    PLUMB_STAGE(stage, "denoise");
    plumb_stage_input_value(stage, "steps", plumb_value_i64(50));
    return 0;
}
EOF
build -DPLUMB_LINKED tells.c -o tells -L"$lib_dir" -lplumb -Wl,-rpath,"$lib_dir"
expect 'signatures beside the copy' 0 env PLUMB_TIMING_REPORT=told/report.json ./tells
cmp -s told/report_io_signature.json "$(dirname "$(newest)")/timing_io_signature.json" ||
    fail "$name: the copy is not the file beside timing.json"
[ "$(jq .stages.denoise.input_signatures.steps told/report_io_signature.json)" = 50 ] || fail "$name: not the input"
expect 'signatures beside a copy without extension' 0 env PLUMB_TIMING_REPORT=told/plain ./tells
[ "$(ls told)" = "plain
plain_io_signature.json
report.json
report_io_signature.json" ] || fail "$name: left $(ls told)"
expect 'signatures without a run directory' 0 env PLUMB_DIR=file/below PLUMB_TIMING_REPORT=told/only.json ./tells
[ "$(jq .stages.denoise.calls told/only_io_signature.json)" = 1 ] || fail "$name: no file"

# A run without any takes those of the run before away, and nothing that is not plumb's.
expect 'no signatures after some' 0 env PLUMB_SIGNATURE=off PLUMB_TIMING_REPORT=told/report.json ./tells
[ ! -e told/report_io_signature.json ] && [ -e told/report.json ] || fail "$name: left $(ls told)"
for other in '{"stages": {}}' '' '{'; do
    printf '%s' "$other" >told/plain_io_signature.json
    expect 'something else of that name' 0 env PLUMB_SIGNATURE=off PLUMB_TIMING_REPORT=told/plain ./tells
    [ "$(cat told/plain_io_signature.json)" = "$other" ] || fail "$name: it is gone"
done
cp told/only_io_signature.json told/kept
ln -sf kept told/plain_io_signature.json
expect 'a link of that name' 0 env PLUMB_SIGNATURE=off PLUMB_TIMING_REPORT=told/plain ./tells
[ -L told/plain_io_signature.json ] && [ -s told/kept ] || fail "$name: left $(ls told)"

# Where the run has no directory the copy is what it leaves.
expect 'no run directory' 0 env PLUMB_DIR=file/below PLUMB_TIMING_REPORT=only.json ./linked
has err.txt 'recording in memory' 'frame'
counts only.json 80
finish
