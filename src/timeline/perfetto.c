/* perfetto.c: see perfetto.h for the form of each event. Plain spans go straight to the run of
 * packets that the track keeps open; everything else closes the run and writes one event. The next
 * plain span opens it again. */
#include "timeline/perfetto_names.h"

#include <stdio.h>
#include <string.h>

#include "base/u128.h"

enum { GAP_NODES = 14 }; /* of an instant */

/* ---- Tracks ---------------------------------------------------------------------------------- */

void plumb_thread_track_open(struct plumb_thread_track *l, struct plumb_trace_file *f,
                             uint32_t sequence, bool opened)
{
    uint64_t *bits = l->bits;
    l->file = f;
    l->seq = (struct plumb_pf_sequence){
        .id = sequence, .opened = opened, .last_ns = l->state.last_ns, .texts = &f->texts};
    l->seq.told[PLUMB_PF_NAMES] = (struct plumb_pf_told){bits, PLUMB_TRACE_NAME_IDS};
    bits += PLUMB_TRACE_NAME_IDS / 64;
    l->seq.told[PLUMB_PF_CATEGORIES] = (struct plumb_pf_told){bits, 256};
    bits += 256 / 64;
    l->seq.told[PLUMB_PF_KEYS] = (struct plumb_pf_told){bits, PLUMB_TRACE_KEY_IDS};
}

static void stop_run(struct plumb_thread_track *l)
{
    if (l->running)
        plumb_pf_run_close(&l->run);
    l->running = false;
}

static PLUMB_ALWAYS_INLINE void go_run(struct plumb_thread_track *l)
{
    if (PLUMB_UNLIKELY(!l->running)) {
        l->run = plumb_pf_run_open(&l->file->out, &l->seq);
        l->running = true;
    }
}

static __attribute__((noinline)) void flush_track(struct plumb_thread_track *l)
{
    stop_run(l);
    plumb_trace_file_flush(l->file);
}

static void put(struct plumb_thread_track *l, const struct plumb_pf_event *e)
{
    stop_run(l);
    while (!plumb_pf_event(&l->file->out, &l->seq, e))
        plumb_trace_file_flush(l->file);
}

/* Never before the last time that the track has written: on a track, time does not go back. */
static uint64_t ns_now(struct plumb_thread_track *l, uint64_t ticks)
{
    uint64_t ns = plumb_trace_file_ns(l->file, ticks);
    stop_run(l);
    return ns > l->seq.last_ns ? ns : l->seq.last_ns;
}

void plumb_thread_track_again(struct plumb_thread_track *l, const char *name)
{
    const struct plumb_trace_file *f = l->file;
    struct plumb_pf_track t = {.kind = PLUMB_PF_THREAD,
                               .parent = f->process_track,
                               .name = name[0] ? name : NULL,
                               .pid = (int32_t)f->source.h->pid,
                               .tid = l->state.tid};
    stop_run(l);
    l->track = t.uuid =
        plumb_pf_uuid(f->seed, TRACE_TRACK_THREAD, l->state.tid,
                      (uint64_t)l->state.generation << 32 | (l->seq.id & UINT32_MAX));
    while (!plumb_pf_track(&l->file->out, &t))
        plumb_trace_file_flush(l->file);
    while (!plumb_pf_sequence_open(&l->file->out, &l->seq, l->track, &l->file->zero))
        plumb_trace_file_flush(l->file);
}

static void on_thread(void *self, const struct plumb_trace_state *s, const char *name)
{
    (void)s;
    plumb_thread_track_again(self, name);
}

/* ---- Plain spans ----------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE uint64_t run_ns(const struct plumb_thread_track *l, uint64_t ticks)
{
    uint64_t ns = plumb_trace_file_ns(l->file, ticks);
    return PLUMB_LIKELY(ns >= l->run.last_ns) ? ns : l->run.last_ns;
}

static PLUMB_ALWAYS_INLINE void on_begin(void *self, uint64_t ticks, uint32_t node)
{
    struct plumb_thread_track *l = self;
    for (;;) {
        go_run(l);
        if (PLUMB_LIKELY(
                plumb_pf_run_begin(&l->run, run_ns(l, ticks), plumb_trace_name_of_node(node))))
            return;
        flush_track(l);
    }
}

static PLUMB_ALWAYS_INLINE void on_end(void *self, uint64_t ticks)
{
    struct plumb_thread_track *l = self;
    for (;;) {
        go_run(l);
        if (PLUMB_LIKELY(plumb_pf_run_end(&l->run, run_ns(l, ticks))))
            break;
        flush_track(l);
    }
    l->spans++;
}

static PLUMB_ALWAYS_INLINE uint32_t on_plain(void *self, struct plumb_trace_state *s, uint64_t base,
                                             const uint64_t *words, uint32_t n)
{
    struct plumb_thread_track *l = self;
    struct plumb_trace_plain t = {.run = &l->run,
                                  .state = s,
                                  .clock = &l->file->clock,
                                  .base = base,
                                  .ahead = l->ahead,
                                  .ids = TRACE_NODE_IDS};
    uint32_t taken;
    if (PLUMB_UNLIKELY(l->file->clock.jumped)) /* each record may lie on either side */
        return 0;
    go_run(l);
    taken = l->file->plain(&t, words, n);
    l->spans += t.spans;
    return taken;
}

/* ---- Spans with arguments -------------------------------------------------------------------- */

struct args {
    struct plumb_pf_arg arg[PLUMB_PF_ARGS_MAX + 1]; /* the last for what is too many */
    size_t n;
    struct plumb_pf_pointers stack;
};

static struct plumb_pf_arg *add_arg(struct args *a, uint32_t key, enum plumb_pf_value type)
{
    struct plumb_pf_arg *to = &a->arg[a->n];
    a->n += a->n < PLUMB_PF_ARGS_MAX;
    *to = (struct plumb_pf_arg){.key = key, .type = type};
    return to;
}

static void add_flag(struct args *a, uint32_t key)
{
    add_arg(a, key, PLUMB_PF_BOOL)->v.u64 = 1;
}

static void add_reason(struct plumb_thread_track *l, struct args *a, uint32_t key, uint64_t why_off)
{
    if (why_off)
        add_arg(a, key, PLUMB_PF_TEXT)->v.text =
            plumb_live_why(&l->file->source, why_off, l->file->why);
    else
        add_flag(a, key);
}

static void add_stack(struct args *a, const uint64_t *w)
{
    uint32_t n = (uint32_t)(w[0] >> 8) & 255;
    if (n > 1) {
        a->stack = (struct plumb_pf_pointers){w + 1, n - 1};
        add_arg(a, TRACE_KEY_STACK, PLUMB_PF_POINTERS)->v.pointers = &a->stack;
    }
    if (w[0] >> 16 & 1)
        add_flag(a, TRACE_KEY_STACK_CUT);
}

static void add_argument(struct plumb_thread_track *l, struct args *a, const uint64_t *w,
                         uint64_t took_ns)
{
    struct plumb_trace_file *f = l->file;
    uint64_t off = w[1] & ((UINT64_C(1) << 48) - 1);
    uint32_t type = (uint32_t)(w[0] >> 16) & 63, id;
    bool flops = strcmp(plumb_live_text(&f->source, off), "flops") == 0;
    double value = 0;
    struct plumb_pf_arg *arg;
    if (type < 1 || type > 3 || (flops && !(f->source.h->trace.what & PLUMB_TRACE_HAS_FLOPS)))
        return;
    id = plumb_trace_text_id(f, off) + TRACE_KEY_TEXTS;
    arg = add_arg(a, id, type == 1 ? PLUMB_PF_I64 : type == 2 ? PLUMB_PF_F64 : PLUMB_PF_TEXT);
    if (type == 3)
        arg->v.text = (const char *)&w[2];
    else
        arg->v.u64 = w[2];
    if (!flops || type == 3 || !took_ns)
        return;
    if (type == 1)
        value = (double)(int64_t)w[2];
    else
        memcpy(&value, &w[2], sizeof value);
    add_arg(a, TRACE_KEY_FLOP_PER_S, PLUMB_PF_F64)->v.f64 = value * 1e9 / (double)took_ns;
}

/* Arguments are texts of up to 255 bytes and a NUL that a damaged file may lack. */
static bool is_whole(const uint64_t *w)
{
    uint32_t n = (uint32_t)(w[0] >> 8) & 255;
    return (w[0] >> 16 & 63) != 3 || memchr(&w[2], '\0', (n - 2) * sizeof *w);
}

static void add_pending(struct plumb_thread_track *l, struct args *a,
                        const struct plumb_trace_state *s, uint32_t depth, bool stack,
                        uint64_t took_ns)
{
    uint32_t at = 0;
    const uint64_t *w;
    while ((w = plumb_trace_pending(s, depth, &at)) != NULL) {
        uint32_t kind = (uint32_t)(w[0] >> 2) & 63, n = (uint32_t)(w[0] >> 8) & 255;
        if (stack && kind == PLUMB_WIDE_STACK)
            add_stack(a, w);
        else if (!stack && kind == PLUMB_WIDE_ARG && n >= 3 && is_whole(w))
            add_argument(l, a, w, took_ns);
    }
}

static void on_begin_more(void *self, const struct plumb_trace_state *s,
                          const struct plumb_trace_frame *f)
{
    struct plumb_thread_track *l = self;
    const struct plumb_trace_frame *around = f - 1;
    uint32_t group = plumb_key_group(f->key);
    struct args a = {.n = 0};
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN,
                               .ns = ns_now(l, f->begin_ticks),
                               .name = plumb_trace_name_of_node(plumb_key_node(f->key)),
                               .category = group & 0xff ? (group & 0xff) + 1 : 0,
                               .args = a.arg};
    if (f->step >= 0 && f->step != around->step)
        add_arg(&a, TRACE_KEY_STEP, PLUMB_PF_I64)->v.i64 = f->step;
    if (group >> 8 != plumb_key_group(around->key) >> 8)
        add_arg(&a, TRACE_KEY_PIPELINE, PLUMB_PF_TEXT)->v.text =
            plumb_live_pipeline_name(&l->file->source, group >> 8);
    add_pending(l, &a, s, s->depth, true, 0);
    e.arg_count = a.n;
    e.flows = &s->flow;
    e.flow_count = s->flow != 0;
    put(l, &e);
}

static void on_end_more(void *self, const struct plumb_trace_state *s,
                        const struct plumb_trace_frame *f, uint64_t ticks, enum plumb_trace_end how)
{
    struct plumb_thread_track *l = self;
    struct args a = {.n = 0};
    struct plumb_pf_event e = {.type = PLUMB_PF_END, .args = a.arg};
    uint64_t begin_ns = plumb_trace_file_ns(l->file, f->begin_ticks);
    e.ns = ns_now(l, how == PLUMB_TRACE_END_CUT ? 0 : ticks);
    if (f->flags & PLUMB_TRACE_FAILED)
        add_reason(l, &a, TRACE_KEY_FAILED, f->why_off);
    if (f->flags & PLUMB_TRACE_ABANDONED)
        add_reason(l, &a, TRACE_KEY_ABANDONED, f->why_off);
    if (how == PLUMB_TRACE_END_UNBALANCED)
        add_flag(&a, TRACE_KEY_UNBALANCED);
    if (how == PLUMB_TRACE_END_CUT)
        add_flag(&a, TRACE_KEY_CUT);
    if (f->flags & PLUMB_TRACE_ARGS)
        add_pending(l, &a, s, s->depth, false, e.ns > begin_ns ? e.ns - begin_ns : 0);
    e.arg_count = a.n;
    put(l, &e);
    l->spans += how != PLUMB_TRACE_END_CUT;
}

/* ---- Events other than spans of the thread --------------------------------------------------- */

static uint64_t level_track(struct plumb_trace_file *f, uint32_t level)
{
    return plumb_pf_uuid(f->seed, TRACE_TRACK_ASYNC + (f->continues ? TRACE_TRACK_CONTINUED : 0),
                         level, 0);
}

/* A track on which the span fits; PLUMB_TRACE_LEVELS: none. */
static uint32_t level_for(struct plumb_trace_file *f, uint64_t begin_ns)
{
    char name[32];
    struct plumb_pf_track t = {.kind = PLUMB_PF_LANE, .parent = f->process_track, .name = name};
    uint32_t level = 0;
    while (level < f->levels && f->level_ends[level] > begin_ns)
        level++;
    if (level < f->levels || level == PLUMB_TRACE_LEVELS)
        return level;
    f->levels++;
    snprintf(name, sizeof name, "async %u", level + 1);
    t.uuid = level_track(f, level);
    while (!plumb_pf_track(&f->out, &t))
        plumb_trace_file_flush(f);
    return level;
}

static void async_begin(struct plumb_thread_track *l, const struct plumb_trace_async *a,
                        uint64_t begin_ns, uint64_t track)
{
    uint32_t group = plumb_key_group(a->key);
    struct args args = {.n = 0};
    struct plumb_pf_event e = {.type = PLUMB_PF_BEGIN,
                               .ns = begin_ns,
                               .track = track,
                               .name = plumb_trace_name_of_node(plumb_key_node(a->key)),
                               .category = group & 0xff ? (group & 0xff) + 1 : 0,
                               .args = args.arg};
    if (group >> 8)
        add_arg(&args, TRACE_KEY_PIPELINE, PLUMB_PF_TEXT)->v.text =
            plumb_live_pipeline_name(&l->file->source, group >> 8);
    e.arg_count = args.n;
    put(l, &e);
}

static void on_async(void *self, const struct plumb_trace_state *s,
                     const struct plumb_trace_async *a)
{
    struct plumb_thread_track *l = self;
    struct plumb_trace_file *f = l->file;
    struct args args = {.n = 0};
    uint64_t begin_ns = plumb_trace_file_ns(f, a->begin_ticks);
    uint64_t end_ns = plumb_trace_file_ns(f, a->end_ticks);
    struct plumb_pf_event e = {.type = PLUMB_PF_END, .args = args.arg};
    uint32_t level;
    (void)s;
    stop_run(l);
    level = level_for(f, begin_ns);
    if (level == PLUMB_TRACE_LEVELS) {
        f->async_lost++;
        return;
    }
    e.track = level_track(f, level);
    e.ns = end_ns > begin_ns ? end_ns : begin_ns;
    async_begin(l, a, begin_ns, e.track);
    if (a->how == PLUMB_TRACE_ASYNC_FAILED)
        add_reason(l, &args, TRACE_KEY_FAILED, a->why_off);
    if (a->how == PLUMB_TRACE_ASYNC_ABANDONED)
        add_flag(&args, TRACE_KEY_ABANDONED);
    e.arg_count = args.n;
    put(l, &e);
    f->level_ends[level] = e.ns;
    l->spans++;
}

void plumb_thread_track_open_async(struct plumb_thread_track *l, const struct plumb_trace_async *a)
{
    struct plumb_trace_file *f = l->file;
    uint64_t begin_ns = plumb_trace_file_ns(f, a->begin_ticks);
    uint32_t level;
    stop_run(l);
    level = level_for(f, begin_ns);
    if (level == PLUMB_TRACE_LEVELS) {
        f->async_lost++;
        return;
    }
    async_begin(l, a, begin_ns, level_track(f, level));
    f->level_ends[level] = UINT64_MAX;
}

static void on_instant(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t text)
{
    struct plumb_thread_track *l = self;
    struct plumb_pf_event e = {.type = PLUMB_PF_INSTANT, .ns = ns_now(l, ticks)};
    (void)s;
    e.name = plumb_trace_text_id(l->file, text) + TRACE_ID_TEXTS;
    put(l, &e);
}

static void on_counter(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint32_t kind,
                       uint64_t text, uint64_t value)
{
    struct plumb_thread_track *l = self;
    struct plumb_trace_file *f = l->file;
    struct plumb_pf_event e = {.type = PLUMB_PF_COUNTER, .ns = ns_now(l, ticks)};
    /* Counters of plumb_counter_add() belong to the pipeline of their thread. */
    uint64_t group = kind == PLUMB_COUNTER_I64 ? s->group >> 8 : 0;
    struct plumb_pf_track t = {.kind = PLUMB_PF_COUNTER_TRACK,
                               .parent = f->process_track,
                               .name = plumb_live_text(&f->source, text),
                               .unit = kind == PLUMB_COUNTER_BYTES ? PLUMB_PF_SIZE
                                                                   : PLUMB_PF_UNIT_NONE};
    e.track = t.uuid = plumb_pf_uuid(f->seed, TRACE_TRACK_COUNTER, text, group << 8 | kind);
    if (!plumb_map_get(&f->tracks, t.uuid)) {
        while (!plumb_pf_track(&f->out, &t))
            plumb_trace_file_flush(f);
        plumb_map_put(&f->tracks, t.uuid, 1); /* a failure only means that it is described again */
    }
    e.value_type = kind == PLUMB_COUNTER_F64 ? PLUMB_PF_F64 : PLUMB_PF_I64;
    if (kind == PLUMB_COUNTER_F64)
        memcpy(&e.value.f64, &value, sizeof value);
    else
        e.value.i64 = (int64_t)value;
    put(l, &e);
}

static void on_flow(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t flow)
{
    struct plumb_thread_track *l = self;
    struct plumb_pf_event e = {
        .type = PLUMB_PF_INSTANT, .ns = ns_now(l, ticks), .name = TRACE_NAME_CAPTURE};
    (void)s;
    e.flows = &flow;
    e.flow_count = 1;
    put(l, &e);
}

static void on_gap(void *self, const struct plumb_trace_state *s, const struct plumb_trace_gap *g)
{
    struct plumb_thread_track *l = self;
    uint64_t ns = ns_now(l, g->from_ticks), i = 0;
    (void)s;
    if (!l->track)
        return;
    while (!plumb_pf_sequence_lost(&l->file->out, &l->seq, l->track, &l->file->zero))
        plumb_trace_file_flush(l->file);
    do {
        struct args a = {.n = 0};
        struct plumb_pf_event e = {
            .type = PLUMB_PF_INSTANT, .ns = ns, .name = TRACE_NAME_DROPPED, .args = a.arg};
        if (i == 0)
            add_arg(&a, TRACE_KEY_SPANS, PLUMB_PF_I64)->v.u64 = g->spans;
        for (uint64_t most = i + GAP_NODES; i < g->count && i < most; i++)
            add_arg(&a, g->nodes[i].node + TRACE_ID_NODES, PLUMB_PF_I64)->v.u64 = g->nodes[i].spans;
        if (i == g->count && g->others)
            add_arg(&a, TRACE_KEY_OTHER_NODES, PLUMB_PF_I64)->v.u64 = g->others;
        e.arg_count = a.n;
        put(l, &e);
    } while (i < g->count);
}

static void on_jumped(void *self, const struct plumb_trace_state *s, uint64_t from, uint64_t to)
{
    struct plumb_thread_track *l = self;
    struct args a = {.n = 0};
    struct plumb_pf_event e = {
        .type = PLUMB_PF_INSTANT, .ns = ns_now(l, to), .name = TRACE_NAME_JUMPED, .args = a.arg};
    (void)s;
    if (!l->track)
        return;
    add_arg(&a, TRACE_KEY_BACK_NS, PLUMB_PF_I64)->v.u64 =
        (uint64_t)((plumb_u128)(from - to) * l->file->clock.ns_per_tick >> 32);
    e.arg_count = a.n;
    put(l, &e);
}

static const struct plumb_trace_sink sink = {.thread = on_thread,
                                             .begin = on_begin,
                                             .end = on_end,
                                             .plain = on_plain,
                                             .begin_more = on_begin_more,
                                             .end_more = on_end_more,
                                             .async = on_async,
                                             .instant = on_instant,
                                             .counter = on_counter,
                                             .flow = on_flow,
                                             .gap = on_gap,
                                             .jumped = on_jumped};

/* ---- Slots ----------------------------------------------------------------------------------- */

void plumb_thread_track_slot(struct plumb_thread_track *l, const struct plumb_trace_filter *filter,
                             const struct plumb_trace_slot *slot)
{
    struct plumb_trace_decoder d = {&sink, l, filter, &l->state};
    if (PLUMB_UNLIKELY(slot->data[0] < l->from_ticks && slot->kind == PLUMB_SLOT_BLOCK))
        plumb_trace_slot_from(&d, slot, l->from_ticks);
    else if (plumb_trace_enter_slot(&d, slot))
        plumb_trace_words(&d, &sink, slot->data, slot->words);
    stop_run(l);
}

void plumb_thread_track_gap(struct plumb_thread_track *l, const struct plumb_trace_gap *gap)
{
    struct plumb_trace_decoder d = {&sink, l, NULL, &l->state};
    plumb_trace_gap_slot(&d, gap);
}
