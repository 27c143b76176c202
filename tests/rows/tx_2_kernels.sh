#!/bin/sh
# labels: plain
# TX-2: kernels and operators are listed by their own time, as many rows as asked for, and the trace has them for
# other viewers too. The primitives of a collector on the host take their time from the operators that called them.
set -u
failures=0

fail() {
    echo "FAIL: $1" >&2
    failures=$((failures + 1))
}

cat >host.c <<'C'
#include <pthread.h>
#include <stdio.h>

#include <plumb/collector.h>
#include <plumb/fake.h>
#include <plumb/plumb.h>

static plumb_lane lane[2];

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    plumb_lane_options o = plumb_lane_options_default();
    (void)arg;
    (void)options;
    o.kind = PLUMB_LANE_OF_HOST;
    o.name = "primitives 1";
    if (plumb_lane_open(&lane[0], self, &o, err) < 0)
        return err->code;
    o.name = "primitives 2";
    return plumb_lane_open(&lane[1], self, &o, err);
}

static void primitive(int at, const char *name, const char *shapes, uint64_t ns)
{
    const plumb_clock host = {0};
    plumb_event_arg args[1] = {{.key = plumb_name_get("shapes"), .type = 3}};
    plumb_event e = plumb_event_default(PLUMB_EVENT_SPAN);
    plumb_origin origin;
    plumb_origin_capture(&origin, lane[at], 0);
    e.name = plumb_name_get(name);
    e.begin = plumb_host_ticks();
    plumb_fake_advance(ns);
    e.end = plumb_host_ticks();
    args[0].value.i64 = (int64_t)plumb_name_get(shapes);
    e.origin = &origin;
    e.args = args;
    e.arg_count = 1;
    if (plumb_emit(lane[at], host, &e) < 0)
        fprintf(stderr, "%s is not recorded\n", name);
}

static void *layers(void *arg)
{
    int at = *(const int *)arg;
    char name[32];
    PLUMB_SPAN("forward");
    for (int i = 0; i < 60; i++) {
        PLUMB_SPAN("layer");
        plumb_fake_advance(1000);
        snprintf(name, sizeof name, "primitive %d", i);
        primitive(at, name, i % 2 ? "1x64" : "1x128", 1000 * (uint64_t)(i + 1));
    }
    primitive(at, "convolution", "1x3x8x8", 500000);
    primitive(at, "convolution", "1x3x8x8", 500000);
    return NULL;
}

int main(void)
{
    plumb_collector_ops ops = plumb_collector_ops_default();
    int places[] = {0, 1};
    pthread_t other;
    ops.name = "primitives";
    ops.start = start;
    plumb_collector_register(&ops, NULL, NULL);
    {
        PLUMB_SPAN("warm-up"); /* opens the run */
    }
    layers(&places[0]);
    pthread_create(&other, NULL, layers, &places[1]);
    pthread_join(other, NULL);
    return 0;
}
C
$CC -std=gnu11 -Wall -Wextra -O1 -I "$PLUMB_SOURCE_DIR/include" host.c -o host -ldl -lpthread || fail 'the host is not built'
PLUMB_CLOCK=virtual PLUMB_COLLECT=fake,primitives PLUMB_TRACE=1 "$PLUMB_BIN" record --run-dir run -- ./host >/dev/null 2>err.txt ||
    fail "the host is not recorded: $(cat err.txt)"
"$PLUMB_BIN" export run -o x_trace.json.gz >/dev/null 2>&1 || fail 'the run is not exported'
gzip -dc x_trace.json.gz | jq -e '[.traceEvents[] | select(.ph == "X" and .name == "convolution")] | length == 4' \
    >/dev/null || fail 'no primitives in the export'

for source in run x_trace.json.gz; do
    "$PLUMB_BIN" report kernels --format json $source >out.json 2>err.txt || fail "$source: $(cat err.txt)"
    # holds FILTER
    holds() {
        jq -e "$1" out.json >/dev/null || fail "$source: $1: $(jq -c '.top_ops[:3], .top_kernels[:2]' out.json)"
    }
    holds '.num_kernels == 61 and .launches == 124 and .unlinked == 0 and .queues == 0 and .threads == 2'
    holds '.top_kernels[0] | .name == "convolution" and .ms == 2 and .cpu_ms == 2 and .cuda_ms == null and
        .device_ms == null and .count == 4 and .mean_us == 500000 / 1000 and .shape == "1x3x8x8" and .stage == "forward"'
    holds '[.top_kernels[].ms] | . == (sort | reverse)'
    holds '[.top_ops[].ms] | . == (sort | reverse)'
    # Twice 60 * 1 us, and nothing of the primitives inside.
    holds '.top_ops[] | select(.name == "layer") | .ms == 0.12 and .total_ms == 3.78 and .count == 120'
    holds '.top_ops[] | select(.name == "forward") | .ms == 0'
    # Of one thread at a time, the sums are no more than the time.
    holds '.total_kernel_time_ms + .total_op_time_ms <= .wall_ms + 0.00001'
    "$PLUMB_BIN" report kernels --format csv --top 7 $source >out.csv
    [ "$(wc -l <out.csv)" = 8 ] || fail "$source: rows: $(cat out.csv)"
done
"$PLUMB_BIN" report kernels --by shape --format json run | jq -e '.num_kernels == 61' >/dev/null || fail 'by shape'

exit $((failures > 0))
