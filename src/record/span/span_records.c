/* span_records.c: see span_records.h. */
#include "record/span/span_records.h"

#include <stdio.h>
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"
#include "record/span/ring.h"
#include "record/stage/stage.h"

void plumb_wide(struct plumb_in in, enum plumb_wide kind, uint32_t small, const uint64_t *payload,
                uint32_t n)
{
    struct plumb_thread *th = in.th;
    uint64_t t = plumb_ticks_from(th->clock);
    uint64_t *w = plumb_block_space(in, n, t);
    for (uint32_t i = 1; i < n; i++)
        PLUMB_STORE(w[i], payload[i - 1]);
    /* The first word is stored last: a block is read up to its first zero. */
    plumb_order();
    PLUMB_STORE(w[0], plumb_placed(th, t) | (uint64_t)small << 16 | (uint64_t)n << 8 |
                          (uint64_t)kind << 2 | PLUMB_REC_WIDE);
    th->head = w + n;
    if (kind == PLUMB_WIDE_SAMPLE && small == PLUMB_SAMPLE_DEVICE)
        PLUMB_STORE(th->sampled, th->number);
}

/* Sets the result in a stage's last log line. */
static void mark_stage(struct plumb_thread *th, plumb_span span, uint32_t what, const char *why)
{
    struct plumb_stage_run *s = plumb_stage_of(th, span);
    if (!s)
        return;
    s->mark = what;
    snprintf(s->why, sizeof s->why, "%s", why ? why : "no reason given");
}

void plumb_span_mark_impl(plumb_span span, uint32_t what, const char *why)
{
    struct plumb_in in;
    uint64_t payload[2] = {0, 0};
    if (!plumb_enter(&in, true))
        return;
    payload[0] = plumb_span_depth(in.th, span);
    if (!payload[0]) {
        plumb_drop(in.run, PLUMB_DROP_STALE);
    } else {
        if (why) {
            plumb_lock();
            payload[1] = plumb_text_why(in.run, why);
            plumb_unlock();
        }
        plumb_wide(in, PLUMB_WIDE_MARK, what, payload, 3);
        mark_stage(in.th, span, what, why);
    }
    plumb_leave(in);
}

void plumb_span_arg_impl(plumb_span span, const char *key, uint32_t type, const void *value)
{
    struct plumb_in in;
    uint64_t payload[34] = {0};
    size_t bytes = 8;
    if (!span.id || !plumb_enter(&in, true))
        return;
    if (type == 3) {
        const char *text = value ? value : "";
        bytes = strlen(text);
        bytes = bytes > 255 ? 255 : bytes;
        memcpy(&payload[1], text, bytes);
        bytes++;
    } else {
        memcpy(&payload[1], value, 8);
    }
    payload[0] = plumb_thread_name(in, key ? key : "") | (uint64_t)plumb_span_depth(in.th, span)
                                                             << 48;
    plumb_wide(in, PLUMB_WIDE_ARG, type, payload, (uint32_t)(2 + (bytes + 7) / 8));
    plumb_leave(in);
}

void plumb_record_ns_impl(plumb_node node, uint32_t channel, uint64_t ns)
{
    struct plumb_in in;
    uint64_t payload[2];
    if (node == 0 || node >= PLUMB_ACQUIRE(plumb_rt.node_count) || !plumb_enter(&in, false))
        return;
    payload[0] = node | (uint64_t)in.th->group << 32;
    payload[1] = ns;
    if (ns > PLUMB_SAMPLE_MAX_NS)
        plumb_drop(in.run, PLUMB_DROP_RANGE);
    else
        plumb_wide(in, PLUMB_WIDE_SAMPLE, channel == 1 ? PLUMB_SAMPLE_DEVICE : PLUMB_SAMPLE_HOST,
                   payload, 3);
    if (channel == 1 && ns <= PLUMB_SAMPLE_MAX_NS)
        plumb_stage_device(in.th, node, ns);
    plumb_leave(in);
}
