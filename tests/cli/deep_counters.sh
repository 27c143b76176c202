#!/bin/sh
# Counters of stages in `plumb deep`, with and without a trace, in every format; `plumb doctor` names those of the
# machine; `plumb report counts` has the exact ones.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
export XDG_CACHE_HOME="$PWD/cache" PLUMB_QUIET=1
cat >prog.c <<'C'
#include <plumb/plumb.h>
#include <time.h>

static volatile unsigned long x;

int main(void)
{
    const struct timespec t = {0, 2000000};
    for (int i = 0; i < 3; i++) {
        {
            PLUMB_STAGE(s, "spin");
            for (int k = 0; k < 200000; k++)
                x++;
        }
        PLUMB_STAGE(s, "sleep");
        nanosleep(&t, NULL);
    }
    return 0;
}
C
build_linked prog.c prog

# 1. A run without a trace has the counters alone, and needs no peaks.
expect "record" 0 env PLUMB=1 PLUMB_COLLECT=perf:simulated PLUMB_RUN_DIR="$PWD/run" ./prog
expect "text" 0 "$PLUMB_BIN" deep run
has err.txt "the counters alone: 'run' has no trace"
has out.txt 'Counters of stages' 'The hardware counters are simulated' 'Evidence of the counters' 'sleep: its thread was on a processor for'
lacks out.txt 'Peaks of this machine'
lacks out.txt 'Branch miss%'
[ ! -e cache ] || fail "peaks were measured for nothing"
awk '/^Stage / { for (i = 1; i <= NF; i++) if ($i == "Counted%") counted = 1 }
     $1 == "spin" && $2 == 3 && / 2\.000 / && $NF == "50.0" { spin = 1 } END { exit !(counted && spin) }' out.txt ||
    fail "table: $(cat out.txt)"
expect "explained" 0 "$PLUMB_BIN" deep --explain --format md run
has out.txt '| spin |' 'instructions a cycle' 'counters took turns'
expect "CSV" 0 "$PLUMB_BIN" deep --format csv run
awk -F, 'NR == 1 { n = NF; if ($2 != "stage" || $14 != "ipc") exit 1; next } NF != n { exit 1 }
    $2 == "spin" && !($3 == 3 && $14 == 2 && $16 == "") { exit 1 }' out.txt || fail "CSV: $(cat out.txt)"
expect "JSON" 0 "$PLUMB_BIN" deep --format json run
jq -e '.counters as $c | ($c.stages | map({key: .stage, value: .}) | from_entries) as $s |
    ($s | keys == ["sleep", "spin"]) and $s.spin.ipc == 2 and $s.spin.branch_miss_rate == null and
    (($s.spin.cache_miss_rate - 0.25) | fabs) < 0.02 and (($s.spin.counted_share - 0.5) | fabs) < 0.02 and
    $s.spin.counters.instructions.total == 2 * $s.spin.counters.cycles.total and
    ($s.spin.counters | has("branches") | not) and $s.sleep.on_cpu_share < 0.5 and
    ([$c.counters[] | select(.state == "simulated")] | length) == 7 and (has("peaks") | not)' out.txt >/dev/null ||
    fail "JSON: $(cat out.txt)"
expect "no picture" 2 "$PLUMB_BIN" deep --format svg run
has err.txt 'has no trace, so there are no kernels'

expect 'no report' 2 "$PLUMB_BIN" deep --report md run
has err.txt 'has no trace, so there are no kernels'
expect 'no utilisation' 2 "$PLUMB_BIN" deep --mfu run run
has err.txt "'run' has no trace, so there are no operations to add up"

# 2. With a trace that has no kernels the peaks are there too; a kernel that is asked for is still not found.
mkdir -p cache/plumb
PLUMB_QUIET='' expect "peaks" 0 "$PLUMB_BIN" deep --peaks
expect "record a trace" 0 env PLUMB=1 PLUMB_TRACE=1 PLUMB_COLLECT=perf:software PLUMB_RUN_DIR="$PWD/traced" ./prog
expect "a trace" 0 "$PLUMB_BIN" deep traced
empty err.txt
has out.txt 'Peaks of this machine' 'Counters of stages' 'those of the hardware are of user code'
lacks out.txt 'Instructions '
expect "a kernel" 2 "$PLUMB_BIN" deep --kernel x traced
has err.txt 'has no kernel with operations'
expect "without counters" 0 env PLUMB=1 PLUMB_RUN_DIR="$PWD/without" ./prog
expect "nothing" 2 "$PLUMB_BIN" deep without
has err.txt 'record with PLUMB_TRACE=1'

# 3. A refused counter is named with its reason, never with a 0.
sed 's/"name": "instructions", "state": "simulated", "why": null/"name": "instructions", "state": "absent", "why": "not today"/' \
    run/timing.json >timing.json
mkdir absent && mv timing.json absent/timing.json
expect "absent" 0 "$PLUMB_BIN" deep absent
has out.txt 'absent: instructions: not today'

# 4. Exact counts, of which simulated and estimated ones are none.
expect "counts" 0 "$PLUMB_BIN" report counts --format json run
jq -e '[.counts[] | select(.kind == "page_faults" and .step == null)] | map(.node) == ["sleep", "spin"] and all(.calls == 3)' \
    out.txt >/dev/null || fail "counts: $(cat out.txt)"
lacks out.txt '"instructions"'

# 5. The machine.
expect "doctor" 0 sh -c '"$0" doctor; [ $? -le 1 ]' "$PLUMB_BIN"
grep -Eq '^(seen|not seen|blocked) +counters +(of the hardware|none of the hardware)' out.txt || fail "doctor: $(cat out.txt)"
grep -q 'collector .*perf (built in)' out.txt || fail "doctor: $(cat out.txt)"
finish
