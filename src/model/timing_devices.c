/* timing_devices.c: conclusions from the times of devices and waits: the meaning of a row's host
 * times, and the part of a request that is in no stage. Any thread. */
#include <inttypes.h>
#include <string.h>

#include "model/timing.h"

const char *plumb_timing_device_times(const struct plumb_timing_node *node)
{
    if (node->device.ns.count > 0 || node->use.works > 0)
        return "events";
    if (!node->on_device)
        return "";
    return node->synced ? "synced" : "launch";
}

uint64_t plumb_timing_unaccounted_ns(const struct plumb_timing_request *r)
{
    return r->wall_ns > r->exclusive_ns ? r->wall_ns - r->exclusive_ns : 0;
}

/* Beyond 5 %, of a request that has stages at all and is over. */
static bool is_much(const struct plumb_timing_request *r)
{
    return r->records > 0 && r->state != PLUMB_TIMING_REQUEST_OPEN &&
           plumb_timing_unaccounted_ns(r) > r->wall_ns / 20;
}

static double part_of(const struct plumb_timing_request *r)
{
    return r->wall_ns ? (double)plumb_timing_unaccounted_ns(r) / (double)r->wall_ns : 0;
}

static void put_ms(struct plumb_buf *out, uint64_t ns)
{
    /* Not through printf: the decimal separator would be the host's. */
    uint64_t hundredths = (ns + 5000) / 10000;
    plumb_buf_printf(out, "%" PRIu64 ".%02" PRIu64 " ms", hundredths / 100, hundredths % 100);
}

static void put_node(struct plumb_buf *out, const struct plumb_timing *t, uint32_t node,
                     const char *none)
{
    if (node == PLUMB_TIMING_NONE)
        plumb_buf_str(out, none);
    else
        plumb_buf_printf(out, "'%.100s'", t->nodes[node].name);
}

bool plumb_timing_unaccounted_line(struct plumb_buf *out, const struct plumb_timing *t)
{
    const struct plumb_timing_request *worst = NULL;
    size_t n = 0;
    uint64_t thousandths;
    for (size_t i = 0; i < t->request_count; i++) {
        const struct plumb_timing_request *r = &t->requests[i];
        if (!is_much(r))
            continue;
        n++;
        if (!worst || part_of(r) > part_of(worst))
            worst = r;
    }
    if (!worst)
        return false;
    thousandths = (uint64_t)(part_of(worst) * 1000 + 0.5);
    plumb_buf_printf(out, "request '%.100s': %" PRIu64 ".%" PRIu64 " %% of it (", worst->id,
                     thousandths / 10, thousandths % 10);
    put_ms(out, plumb_timing_unaccounted_ns(worst));
    plumb_buf_str(out, ") lies in none of its stages; the longest gap, ");
    put_ms(out, worst->gap.ns);
    plumb_buf_str(out, ", is between ");
    put_node(out, t, worst->gap.after, "its begin");
    plumb_buf_str(out, " and ");
    put_node(out, t, worst->gap.before, "its end");
    if (n > 1)
        plumb_buf_printf(out, " (%zu more requests have gaps above 5 %%)", n - 1);
    return true;
}
