#!/bin/sh
# labels: plain
# TX-22: the energy of any command, of the stages that it records, and of a scope of a C program: exact joules from
# counters, one of which wraps; power of GPUs from a driver that is made up; an absent source is 0 with a note; and the
# command's exit status is passed on.
. "$PLUMB_SOURCE_DIR/tests/cli/_lib.sh"

# counter FOLDER NAME MICROJOULES
counter() {
    mkdir -p "$1"
    echo "$2" >"$1/name"
    echo 262143328850 >"$1/max_energy_range_uj"
    echo "$3" >"$1/energy_uj"
}

# is JQ [FILE]: holds for the result
is() {
    jq -e "$1" "${2:-joules.json}" >/dev/null || fail "$1: $(cat "${2:-joules.json}")"
}

# By itself, where there is nothing to read.
mkdir empty
expect absent 3 "$PLUMB_BIN" record --powercap empty --energy-output joules.json -- sh -c 'exit 3'
is '.cpu_available == false and .cpu_joules == 0 and .cpu_mean_w == 0 and .cpu_rapl_domains == []'
is '.gpu_available == false and .gpu_joules == 0 and .gpu_mean_w == 0 and .gpu_peak_w == 0 and .gpu_sample_count == 0'
is '(.notes | length) == 2 and (.notes[0] | contains("no RAPL counters in empty")) and (.notes[1] | contains("libnvidia-ml.so.1"))'
is '.duration_s > 0 and .command == "sh -c exit 3"'
has err.txt 'no RAPL counters in empty'
expect missing 127 "$PLUMB_BIN" record --energy -- ./no-such-program
expect killed 137 "$PLUMB_BIN" record --energy --powercap empty -- sh -c 'kill -9 $$'

# Two packages and their memory; the first counter wraps once. Parts of a package do not count twice.
counter 'cap/intel-rapl:0' package-0 262143000000
counter 'cap/intel-rapl:0:0' core 5
counter 'cap/intel-rapl:0:1' dram 100
counter 'cap/intel-rapl:1' package-1 7
cat >work.sh <<'W'
echo 671150 >cap/intel-rapl:0/energy_uj
echo 9000000 >cap/intel-rapl:0:0/energy_uj
echo 500100 >cap/intel-rapl:0:1/energy_uj
echo 2250007 >cap/intel-rapl:1/energy_uj
exit 7
W
expect wrap 7 "$PLUMB_BIN" record --powercap cap --energy-output joules.json -- sh work.sh
is '.cpu_available == true and .cpu_joules == 3.75 and (.cpu_rapl_domains | sort) == ["dram", "package-0", "package-1"]'
is '.cpu_mean_w * .duration_s - 3.75 | fabs < 1e-9'
is 'has("stages") | not'
has err.txt 'processors 3.75 J'

# A driver whose two devices take 100 W and 50 W.
cat >nvml.c <<'C'
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts);

static unsigned int power[2] = {100000, 50000};

int nvmlInit_v2(void)
{
    return 0;
}
int nvmlShutdown(void)
{
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = &power[index];
    return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts)
{
    *milliwatts = *(unsigned int *)device;
    return 0;
}
C
mkdir driver
$CC -shared -fPIC nvml.c -o driver/libnvidia-ml.so.1 || fail 'the driver is not built'
LD_LIBRARY_PATH=$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} expect gpu 0 \
    "$PLUMB_BIN" record --powercap empty --energy-output joules.json -- sleep 0.3
is '.gpu_available == true and .gpu_peak_w == 150 and .gpu_sample_count >= 2 and (.notes | length) == 1'
is '.gpu_joules > 0 and .gpu_joules <= 150 * .duration_s and (.gpu_mean_w - .gpu_joules / .duration_s | fabs) < 1e-9'
is '.gpu_joules >= 150 * 0.3 * 0.99'

# Stages: the counter moves in one of them.
cat >stages.c <<'C'
#include <plumb/plumb.h>
#include <stdio.h>
#include <time.h>

static void rest(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        PLUMB_STAGE(stage, "cold");
        rest(20);
    }
    {
        PLUMB_STAGE(stage, "hot");
        rest(150);
        FILE *file = fopen("cap/intel-rapl:0/energy_uj", "w");
        fputs("4671150\n", file);
        fclose(file);
        rest(150);
    }
    return 5;
}
C
build_linked stages.c stages
expect stages 5 "$PLUMB_BIN" record --energy --powercap cap --run-dir run -- ./stages
is '.cpu_joules == 4 and ([.stages[] | [.name, .runs]] == [["cold", 2], ["hot", 1]])' run/energy.json
is '(.stages[1].cpu_joules > .stages[0].cpu_joules) and (.stages | map(.cpu_joules) | add) <= 4.000001' run/energy.json
is '.stages[1].duration_s >= 0.3 and .stages[0].gpu_joules == 0' run/energy.json

# The measured runs of a stage run alone, each of which uses 1.5 J; the last one wraps the counter.
cat >engine.c <<'C'
#include <plumb/plumb.h>
#include <plumb/stage_library.h>
#include <stdio.h>

static unsigned long long counter = 262143328850ULL - 2 * 1500000 - 1000;

static int engine_open(void **out, const char *config, plumb_error *err)
{
    (void)config;
    (void)err;
    *out = &counter;
    return 0;
}

static int engine_run(void *instance, plumb_stage_call *call, plumb_error *err)
{
    FILE *file = fopen("cap/intel-rapl:0/energy_uj", "w");
    (void)instance;
    (void)call;
    (void)err;
    fprintf(file, "%llu\n", counter);
    fclose(file);
    counter = (counter + 1500000) % 262143328850ULL;
    return 0;
}

static const plumb_stage_ops burn = {PLUMB_STAGE_OPS_BEGIN, "burn", NULL, NULL, engine_open, engine_run, NULL, NULL, NULL};
static const plumb_stage_ops *const stages[] = {&burn, NULL};
PLUMB_STAGE_LIBRARY(stages);
C
$CC -std=gnu11 -Wall -Wextra -I "$PLUMB_SOURCE_DIR/include" -shared -fPIC engine.c -o libengine.so || fail 'the engine is not built'
jq -n '{format: "plumb-signature", schema: 1, request_id: "r", timestamp: "2026-01-01T00:00:00+00:00", rank: null, pid: 0,
    lost_calls: 0, versions: {plumb: "0"}, stages: {burn: {stage_name: "burn", input_signatures: {}, output_signature: null,
    output_signatures: {}, metadata: {}, request_id: null, dropped: 0, calls: 1, other_calls: 0, signatures: []}}}' >burn.json
expect bench 0 "$PLUMB_BIN" bench --stage burn --from ./libengine.so --powercap cap --warmup 1 --repeat 4 --out . burn.json
is '.plumb.cpu_joules == 1.5 and .plumb.cpu_watts > 0' bench.json
has out.txt '1.5 J a run'
expect bench 0 "$PLUMB_BIN" bench --stage burn --from ./libengine.so --powercap empty --repeat 2 --out . burn.json
is '.plumb.cpu_joules == null and (.plumb.remarks | contains("no RAPL counters in empty"))' bench.json

# A scope of a program.
cat >scope.c <<'C'
#include <plumb/read/energy.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    plumb_energy_options o = plumb_energy_options_default();
    plumb_energy_meter *meter;
    plumb_energy energy;
    plumb_error err = {0, ""};
    o.powercap = "cap";
    if (plumb_energy_open(&meter, &o, &err) < 0)
        return 1;
    if (system("echo 4250007 >cap/intel-rapl:1/energy_uj") != 0)
        return 1;
    plumb_energy_stop(&energy, meter);
    plumb_energy_close(meter);
    printf("%g %u %u\n", energy.cpu_joules, energy.cpu_available, energy.gpu_available);
    return 0;
}
C
$CC -std=c11 -Wall -Wextra -Werror -I "$PLUMB_SOURCE_DIR/include" scope.c -L "$(dirname "$PLUMB_LIB")" -lplumb-read \
    -Wl,-rpath,"$(dirname "$PLUMB_LIB")" -o scope || fail 'the scope is not built'
[ "$(./scope)" = '2 1 0' ] || fail "the scope: $(./scope)"
exit "$((failures > 0))"
