#!/bin/sh
# labels: plain
# TX-27: files of results carry their host, so that two hosts share a folder without overwriting each other's, and the
# summary has all of them: times, sweeps, launches and energy.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"
cat >any.rules <<'END'
[any]
metric = wall_clock
limit = <= old * 100000
END
for host in alpha beta; do
    for name in cpu realtime; do
        expect "$name of $host" 0 "$PLUMB_BIN" ab --rounds 6 --warmup 0 --out shared --name $name --host $host --rule any.rules -- \
            true ::: true
    done
done
[ "$(ls shared | tr '\n' ' ')" = 'cpu-alpha.json cpu-beta.json realtime-alpha.json realtime-beta.json summary.csv summary.txt ' ] ||
    fail "files: $(ls shared)"
for file in cpu-alpha cpu-beta realtime-alpha realtime-beta; do
    [ "$(grep -c "shared/$file.json" shared/summary.csv)" = 2 ] || fail "$file is not in summary.csv: $(cat shared/summary.csv)"
    has shared/summary.txt "shared/$file.json"
done
jq -e '.context.host_name == "beta"' shared/cpu-beta.json >/dev/null || fail 'the file does not have its host'
cp shared/cpu-alpha.json before.json
expect 'again' 0 "$PLUMB_BIN" ab --rounds 6 --warmup 0 --out shared --name cpu --host beta --rule any.rules -- true ::: true
cmp -s before.json shared/cpu-alpha.json || fail 'a file of another host was changed'

# Launches and energy lie in the same folder, by host, and in the same summary.
host=$(hostname)
cat >chain.c <<'END'
#include <stdlib.h>

#include <plumb/plumb.h>

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 1, fused = argc > 2 && atoi(argv[2]);
    for (int i = 0; i < 1 + 4; i++) {
        PLUMB_PHASE(i ? "inference" : "warmup");
        PLUMB_SPAN("iteration");
        for (int k = 0; k < (fused ? 1 : depth); k++)
            plumb_dispatch("op");
    }
    return 0;
}
END
build_linked chain.c chain
expect 'launches' 0 "$PLUMB_BIN" count-launches --depths 3 --iters 4 --out 'shared/launches-cpu-{host}.json' -- ./chain '{depth}' '{fused}'
[ -s "shared/launches-cpu-$host.json" ] || fail "no launches of $host: $(ls shared)"
mkdir -p cap/intel-rapl:0
echo package-0 >cap/intel-rapl:0/name
echo 1000000000 >cap/intel-rapl:0/max_energy_range_uj
echo 5 >cap/intel-rapl:0/energy_uj
expect 'energy' 0 "$PLUMB_BIN" record --powercap cap --energy-output 'shared/energy-cpu-{host}.json' -- \
    sh -c 'echo 7000005 >cap/intel-rapl:0/energy_uj'
[ -s "shared/energy-cpu-$host.json" ] || fail "no energy of $host: $(ls shared)"
cp "shared/launches-cpu-$host.json" shared/launches-cpu-alpha.json
expect 'the summary' 0 "$PLUMB_BIN" ab --rounds 6 --warmup 0 --out shared --name cpu --host beta --rule any.rules -- true ::: true
for file in "launches-cpu-$host" launches-cpu-alpha; do
    grep -q "^launches/depth:3/fused,.*shared/$file.json" shared/summary.csv || fail "$file is not in the summary: $(cat shared/summary.csv)"
    has shared/summary.txt "shared/$file.json"
done
head -1 shared/summary.csv | grep -q 'extra.cpu_joules.*extra.native_calls' || fail "columns: $(head -1 shared/summary.csv)"
grep "^energy/sh -c" shared/summary.csv | grep -q ',7,' || fail "joules: $(cat shared/summary.csv)"
finish
