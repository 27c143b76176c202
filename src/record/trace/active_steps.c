/* active_steps.c: see active_steps.h. A second, short pass over each ring block before it is
 * folded: the fold itself does not know the step that a span began in, and must not pay for it.
 *
 * Threads: each counts its own blocks, and adds atomically to the shared figures of a node. */
#include "record/trace/active_steps.h"

#include <string.h>

#include "base/pages.h"
#include "config/step_list.h"
#include "live/view.h"
#include "record/runtime/enter.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

struct figures {
    uint64_t count, self_ticks, ns, device_count, device_ns, device_within_ns; /* atomic */
};
struct plumb_active {
    struct plumb_step_list steps;
    uint32_t nodes;
    struct figures of[]; /* [nodes] */
};

struct open_span {
    uint64_t begin, child;
    uint32_t node, mark;
    bool in; /* begun in an active step */
};
struct plumb_active_spans {
    uint32_t depth;
    int64_t step;
    struct open_span open[PLUMB_TRACE_DEPTH]; /* [0]: around the outermost */
};

static size_t bytes_of(uint32_t nodes)
{
    return sizeof(struct plumb_active) + nodes * sizeof(struct figures);
}

void plumb_active_open(struct plumb_run *run, const char *text)
{
    struct plumb_step_list steps;
    uint32_t nodes = (uint32_t)1 << PLUMB_NODE_BITS; /* untouched pages cost nothing */
    if (plumb_step_list_parse(&steps, text, NULL) < 0 || steps.count == 0)
        return; /* the writer of the trace reports it */
    run->active = plumb_pages_map(bytes_of(nodes));
    if (!run->active)
        return;
    run->active->steps = steps;
    run->active->nodes = nodes;
}

void plumb_active_close(struct plumb_run *run)
{
    if (run->active)
        plumb_pages_unmap(run->active, bytes_of(run->active->nodes));
    run->active = NULL;
}

void plumb_active_attach(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    if (in.run->active && !th->active)
        th->active = plumb_pages_map(sizeof *th->active);
    if (th->active)
        th->active->depth = 0;
}

void plumb_active_forget(struct plumb_thread *th)
{
    plumb_pages_unmap(th->active, sizeof *th->active);
    th->active = NULL;
}

bool plumb_active_has(const struct plumb_run *run, int64_t step)
{
    return run->active && plumb_step_list_has(&run->active->steps, step);
}

/* ---- Counting -------------------------------------------------------------------------------- */

static struct figures *figures_of(struct plumb_in in, uint32_t node)
{
    return &in.run->active->of[node < in.run->active->nodes ? node : 0];
}

static void begin(struct plumb_in in, uint32_t node, uint64_t ticks)
{
    struct plumb_active_spans *s = in.th->active;
    if (s->depth + 1 >= PLUMB_TRACE_DEPTH)
        return;
    s->open[++s->depth] =
        (struct open_span){ticks, 0, node, PLUMB_FRAME_OK, plumb_active_has(in.run, s->step)};
}

static void end(struct plumb_in in, uint64_t ticks)
{
    struct plumb_active_spans *s = in.th->active;
    struct open_span *o = &s->open[s->depth];
    uint64_t took = ticks > o->begin ? ticks - o->begin : 0;
    if (!s->depth)
        return;
    s->depth--;
    /* An abandoned span does not count; its contents belong to the span around it. */
    o[-1].child += o->mark == PLUMB_FRAME_ABANDONED ? o->child : took;
    if (!o->in || o->mark != PLUMB_FRAME_OK)
        return;
    PLUMB_ADD(figures_of(in, o->node)->count, 1);
    PLUMB_ADD(figures_of(in, o->node)->self_ticks, took > o->child ? took - o->child : 0);
}

static void close_to(const struct plumb_thread *th, uint64_t depth)
{
    struct plumb_active_spans *s = th->active;
    for (; s->depth > depth; s->depth--)
        s->open[s->depth - 1].child += s->open[s->depth].child;
}

static bool is_inside(const struct plumb_active_spans *s, uint32_t depth, uint32_t node)
{
    while (++depth <= s->depth)
        if (s->open[depth].node == node)
            return true;
    return false;
}

/* Like the replay of a block: counts a device sample of `own` once for each node around it. */
static void sample_within(struct plumb_in in, const uint64_t *w, uint32_t n, uint32_t own)
{
    const struct plumb_active_spans *s = in.th->active;
    uint32_t node = n >= 4 ? plumb_key_node(w[3] - 1) : 0;
    if (n >= 4 && w[3] && node != own)
        PLUMB_ADD(figures_of(in, node)->device_within_ns, w[2]);
    for (uint32_t d = n >= 4 ? 0 : s->depth; d > 0; d--) {
        node = s->open[d].node;
        if (node != own && s->open[d].in && !is_inside(s, d, node))
            PLUMB_ADD(figures_of(in, node)->device_within_ns, w[2]);
    }
}

static void sample(struct plumb_in in, const uint64_t *w, uint32_t n, uint32_t kind)
{
    uint32_t node = (uint32_t)w[1] & ((1u << PLUMB_NODE_BITS) - 1);
    struct figures *f = figures_of(in, node);
    if (!plumb_active_has(in.run, in.th->active->step))
        return;
    if (kind == PLUMB_SAMPLE_DEVICE) {
        PLUMB_ADD(f->device_count, 1);
        PLUMB_ADD(f->device_ns, w[2]);
        sample_within(in, w, n, node);
    } else if (kind == PLUMB_SAMPLE_HOST) {
        PLUMB_ADD(f->count, 1);
        PLUMB_ADD(f->ns, w[2]);
    } else if (kind == PLUMB_SAMPLE_ASYNC) {
        PLUMB_ADD(f->count, 1);
        PLUMB_ADD(f->self_ticks, w[2]);
    }
}

static void count_wide(struct plumb_in in, const uint64_t *w, uint32_t n)
{
    struct plumb_thread *th = in.th;
    struct plumb_active_spans *s = th->active;
    uint32_t kind = (uint32_t)(w[0] >> 2) & 63, small = (uint32_t)(w[0] >> 16) & 63;
    if (kind == PLUMB_WIDE_STEP)
        s->step = (int64_t)w[1];
    else if (kind == PLUMB_WIDE_CLOSE)
        close_to(th, w[1]);
    else if (kind == PLUMB_WIDE_MARK && small != PLUMB_FRAME_LEFT && w[1] <= s->depth)
        s->open[w[1]].mark = small;
    else if (kind == PLUMB_WIDE_SAMPLE && n >= 3)
        sample(in, w, n, small);
}

void plumb_active_count(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    const uint64_t *w = th->block + PLUMB_BLOCK_HEAD;
    th->active->step = th->live->context.step;
    while (w < th->head) {
        uint64_t ticks = th->base + plumb_record_ticks(*w);
        uint32_t kind = *w & 3, n = 1;
        if (kind == PLUMB_REC_BEGIN) {
            begin(in, plumb_record_node(*w), ticks);
        } else if (kind == PLUMB_REC_END) {
            end(in, ticks);
        } else {
            n = (uint32_t)(*w >> 8) & 255;
            count_wide(in, w, n);
        }
        w += n;
    }
}

/* ---- The figures ----------------------------------------------------------------------------- */

/* Counts the unfolded blocks. */
static void count_rest(struct plumb_run *run)
{
    for (struct plumb_thread *th = PLUMB_ACQUIRE(plumb_rt.threads); th; th = th->next)
        if (plumb_belongs(th, run) && th->active && th->block[1] == th->live->folded + 1)
            plumb_active_count((struct plumb_in){th, run});
}

void plumb_active_report(struct plumb_run *run, struct plumb_shape_times *out, double tick_ns)
{
    struct plumb_live_view s = plumb_live_view_of(run->base, run->mapped);
    size_t room = 0;
    if (!run->active)
        return;
    count_rest(run);
    out->steps = plumb_arena_strdup(&out->arena, plumb_live_text(&s, run->h->trace.steps_off));
    for (uint32_t i = 0; i < run->h->nodes.count && i < run->active->nodes; i++) {
        const struct figures *f = &run->active->of[i];
        struct plumb_active_time *at;
        if (!f->count && !f->device_count)
            continue;
        at = plumb_arena_grow(&out->arena, out->active, &room, out->active_count + 1, sizeof *at);
        if (!at)
            return;
        out->active = at;
        at[out->active_count++] = (struct plumb_active_time){
            .name = plumb_arena_strdup(&out->arena, plumb_live_node_name(&s, i)),
            .count = f->count ? f->count : f->device_count,
            .self_ns = plumb_ticks_to_ns(f->self_ticks, tick_ns) + f->ns,
            .device_ns = f->device_ns,
            .device_samples = f->device_count,
            .device_within_ns = f->device_within_ns,
        };
    }
}
