#!/bin/sh
# labels: plain
# TF-10: the summary for people has its sections, and its totals are those of timing.json, for a run
# with stages, pools and checkpoints, and for the last request of one.
set -u
failures=0
fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

cat >prog.c <<'END'
#include <plumb/plumb.h>
static void stages(int n)
{
    static char blocks[2][64];
    PLUMB_STAGE(outer, "pipeline");
    for (int i = 0; i < n; i++) {
        PLUMB_STAGE(inner, "denoise");
        plumb_mem_alloc("cuda:0", "caching", blocks[i % 2], 3 << 20);
        plumb_checkpoint("inside");
        plumb_mem_free("cuda:0", "caching", blocks[i % 2], 0);
    }
}
int main(int argc, char **argv)
{
    static char segment[64];
    plumb_mem_total("cuda:0", "caching", 64 << 20);
    plumb_mem_reserve("cuda:0", "caching", segment, 8 << 20);
    plumb_memory_baseline();
    (void)argv;
    for (int i = 1; i < argc; i++) {
        plumb_request request = plumb_request_begin(argv[i], NULL);
        stages(i);
        plumb_request_end(request);
    }
    if (argc == 1)
        stages(2);
    return 0;
}
END
lib=$(dirname "$PLUMB_LIB")
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" prog.c -o prog \
    -L"$lib" -lplumb -Wl,-rpath,"$lib" || exit 1

# same WHAT NAME JSON-VALUE: the line of NAME has the value, rounded to one decimal
same() {
    shown=$(sed -n "s/^$2 *\([0-9.]*\) ms.*/\1/p" out.txt)
    wanted=$(LC_ALL=C printf '%.1f' "$3")
    [ "$shown" = "$wanted" ] || fail "$1: $2 is '$shown', not $wanted: $(cat out.txt)"
}

# check RUN: the totals and each stage
check() {
    "$PLUMB_BIN" report summary "$1" >out.txt || fail "$1: exit status $?"
    [ "$(grep -cE '^(=|-){60}$' out.txt)" -ge 8 ] || fail "$1: the rules are not there"
    same "$1" 'wall clock' "$(jq .wall_clock_ms "$1/timing.json")"
    same "$1" 'stages in all' "$(jq .total_stages_ms "$1/timing.json")"
    for stage in $(jq -r '.stages | keys[]' "$1/timing.json"); do
        same "$1" "$stage" "$(jq ".stages.\"$stage\".duration_ms" "$1/timing.json")"
        percent=$(jq ".stages.\"$stage\".percentage" "$1/timing.json")
        grep -qE "^$stage +[0-9.]+ ms \($(LC_ALL=C printf '%.1f' "$percent")%\)$" out.txt ||
            fail "$1: $stage is not at $percent %"
    done
    for text in 'Memory statistics' 'Stages' 'Memory checkpoints' 'peak reserved at checkpoints' \
        'device memory' 'increase since baseline' 'inside' 'peak: 3.00/8.00 MB'; do
        grep -qF -- "$text" out.txt || fail "$1: no '$text'"
    done
    overhead=$(jq .memory.analysis.pool_overhead_mb "$1/timing.json")
    grep -qE "^pool overhead +$(LC_ALL=C printf '%.2f' "$overhead") MB" out.txt ||
        fail "$1: the overhead is not $overhead"
}

"$PLUMB_BIN" record --run-dir run -- ./prog 2>err.txt || fail "cannot record: $(cat err.txt)"
check run
head -n 2 out.txt | grep -q '^Run ' || fail 'the run is not named'
RANK=3 WORLD_SIZE=4 "$PLUMB_BIN" record --run-dir served -- ./prog first last 2>err.txt ||
    fail "cannot record: $(cat err.txt)"
check served
head -n 2 out.txt | grep -q '^Request last$' || fail "not the last request: $(head -n 2 out.txt)"
grep -qE '^  rank 3: [0-9.]+ ms, peak 0.01 GB$' out.txt || fail "no line of the rank: $(cat out.txt)"
"$PLUMB_BIN" report summary --request first served >out.txt
same first denoise "$(jq '.requests[0].stages[] | select(.name == "denoise").duration_ms' served/timing.json)"

# A long name and a long time stay two words. The clock stands still but for what the program adds.
cat >long.c <<'END'
#include <plumb/fake.h>
#include <plumb/plumb.h>
int main(void)
{
    plumb_request request = plumb_request_begin("long", NULL);
    {
        PLUMB_STAGE(stage, "a_stage_of_thirty_characters_x");
        plumb_fake_advance(UINT64_C(123456700000));
    }
    {
        PLUMB_STAGE(stage, "a_stage_whose_name_is_longer_than_its_column");
        plumb_fake_advance(UINT64_C(1234567800000));
    }
    plumb_request_end(request);
    return 0;
}
END
$CC -std=c11 -D_GNU_SOURCE -DPLUMB_LINKED -I"$PLUMB_SOURCE_DIR/include" long.c -o long \
    -L"$lib" -lplumb -Wl,-rpath,"$lib" || exit 1
PLUMB=1 PLUMB_QUIET=1 PLUMB_RUN_DIR=$PWD/long.run PLUMB_CLOCK=virtual PLUMB_COLLECT=fake ./long || fail "long: status $?"
"$PLUMB_BIN" report summary long.run >out.txt || fail 'long: no summary'
for line in 'stages in all                 1358024.5 ms' 'a_stage_of_thirty_characters_x 123456.7 ms (9.1%)' \
    'a_stage_whose_name_is_longer_than_its_column 1234567.8 ms (90.9%)'; do
    grep -qxF "$line" out.txt || fail "long: no line '$line' in $(cat out.txt)"
done

[ "$failures" = 0 ] || exit 1
