/* nodes.c: see nodes.h. */
#include "timeline/nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"

/* ---- The filter ------------------------------------------------------------------------------ */

static const char *name_in(void *arg, uint32_t node)
{
    return plumb_live_node_name(arg, node);
}

static bool wants(const struct plumb_trace_filter *self, const struct plumb_trace_state *s,
                  const struct plumb_trace_frame *f)
{
    /* The answers are kept in it. */
    struct plumb_node_match *m = (struct plumb_node_match *)(uintptr_t)self->arg;
    (void)f;
    for (uint32_t d = s->depth; d > 0; d--)
        if (plumb_node_matches(m, plumb_key_node(s->frames[d].key)))
            return true;
    for (uint32_t i = 0; i < s->path_depth; i++)
        if (plumb_node_matches(m, s->path[i]))
            return true;
    return false;
}

int plumb_trace_only_open(struct plumb_trace_only *o, const struct plumb_live_view *s,
                          uint64_t list_off)
{
    if (plumb_node_match_open(&o->match, plumb_live_text(s, list_off), 1 << PLUMB_NODE_BITS,
                              name_in, (void *)(uintptr_t)s) < 0)
        return PLUMB_ERR_MEMORY;
    o->filter = (struct plumb_trace_filter){wants, &o->match, NULL};
    return PLUMB_OK;
}

void plumb_trace_only_close(struct plumb_trace_only *o)
{
    plumb_node_match_fini(&o->match);
}

/* ---- The second reading ---------------------------------------------------------------------- */

struct node_track {
    struct plumb_trace_nodes *all;
    struct plumb_trace_state state;
    struct plumb_node_track track;
};
struct plumb_trace_nodes {
    const struct plumb_trace_file *file;
    const struct plumb_trace_filter *filter;
    struct plumb_node_trace *set;
    char dir[1024];
    struct node_track **tracks; /* by number */
    uint32_t track_cap;
    uint64_t dropped;          /* spans */
    char why[PLUMB_WHY_BYTES]; /* of the span that is being written */
};

static uint64_t ns_of(const struct node_track *l, uint64_t ticks)
{
    return plumb_trace_file_ns(l->all->file, ticks);
}

static void begin_at(struct node_track *l, uint64_t ticks, uint32_t node)
{
    if (l->track.depth == 0)
        plumb_node_track_path(&l->track, l->state.path, l->state.path_depth);
    plumb_node_track_begin(&l->track, node, ns_of(l, ticks));
}

static void on_thread(void *self, const struct plumb_trace_state *s, const char *name)
{
    struct node_track *l = self;
    plumb_node_track_open(&l->track, l->all->set, s->tid, name);
}

static void on_begin(void *self, uint64_t ticks, uint32_t node)
{
    begin_at(self, ticks, node);
}

static void on_end(void *self, uint64_t ticks)
{
    struct node_track *l = self;
    plumb_node_track_end(&l->track, ns_of(l, ticks),
                         plumb_live_phase_name(&l->all->file->source, l->state.group & 0xff), NULL,
                         0);
}

static void on_begin_more(void *self, const struct plumb_trace_state *s,
                          const struct plumb_trace_frame *f)
{
    struct node_track *l = self;
    uint32_t depth = l->track.depth;
    (void)s;
    begin_at(l, f->begin_ticks, plumb_key_node(f->key));
    if (l->track.depth > depth && f->step >= 0 && f->step != f[-1].step)
        plumb_node_track_step(&l->track, f->step);
}

static struct plumb_chrome_arg text_arg(const char *key, const char *text)
{
    return (struct plumb_chrome_arg){key, PLUMB_CHROME_TEXT, {.text = text}};
}

static struct plumb_chrome_arg true_arg(const char *key)
{
    return (struct plumb_chrome_arg){key, PLUMB_CHROME_BOOL, {.boolean = true}};
}

static size_t put_args(struct plumb_chrome_arg args[PLUMB_NODE_ARGS], const struct node_track *l,
                       const struct plumb_trace_frame *f, enum plumb_trace_end how)
{
    const struct plumb_live_view *s = &l->all->file->source;
    size_t n = 0;
    if (f->flags & PLUMB_TRACE_FAILED)
        args[n++] =
            text_arg("failed", f->why_off ? plumb_live_why(s, f->why_off, l->all->why) : "");
    if (f->flags & PLUMB_TRACE_ABANDONED)
        args[n++] = true_arg("abandoned");
    if (how == PLUMB_TRACE_END_UNBALANCED)
        args[n++] = true_arg("unbalanced");
    if (how == PLUMB_TRACE_END_CUT)
        args[n++] = true_arg("cut");
    return n;
}

/* An argument of the program's; false: it is another one, or is not wanted. */
static bool take_argument(struct plumb_chrome_arg *out, const struct plumb_live_view *s,
                          const uint64_t *w)
{
    uint32_t kind = (uint32_t)(w[0] >> 2) & 63, words = (uint32_t)(w[0] >> 8) & 255;
    uint32_t type = (uint32_t)(w[0] >> 16) & 63;
    if (kind != PLUMB_WIDE_ARG || words < 3 || type < 1 || type > 3)
        return false;
    *out = (struct plumb_chrome_arg){.key = plumb_live_text(s, w[1] & ((UINT64_C(1) << 48) - 1))};
    if (strcmp(out->key, "flops") == 0 && !(s->h->trace.what & PLUMB_TRACE_HAS_FLOPS))
        return false;
    out->type = type == 1 ? PLUMB_CHROME_I64 : type == 2 ? PLUMB_CHROME_F64 : PLUMB_CHROME_TEXT;
    if (type == 3)
        out->v.text = (const char *)&w[2];
    else
        memcpy(&out->v, &w[2], sizeof w[2]);
    /* A text has a NUL that a damaged file may lack. */
    return type != 3 || memchr(&w[2], '\0', (words - 2) * sizeof *w);
}

static size_t put_arguments(struct plumb_chrome_arg args[PLUMB_NODE_ARGS], size_t n,
                            const struct node_track *l, const struct plumb_trace_state *s)
{
    uint32_t at = 0;
    const uint64_t *w;
    while (n < PLUMB_NODE_ARGS && (w = plumb_trace_pending(s, s->depth, &at)) != NULL)
        n += take_argument(&args[n], &l->all->file->source, w);
    return n;
}

static void on_end_more(void *self, const struct plumb_trace_state *s,
                        const struct plumb_trace_frame *f, uint64_t ticks, enum plumb_trace_end how)
{
    struct node_track *l = self;
    struct plumb_chrome_arg args[PLUMB_NODE_ARGS];
    /* Where the end is not known: to the last that is. */
    uint64_t end = how == PLUMB_TRACE_END_CUT ? s->last_ticks : ticks;
    size_t n = put_args(args, l, f, how);
    if (f->flags & PLUMB_TRACE_ARGS)
        n = put_arguments(args, n, l, s);
    plumb_node_track_end(
        &l->track, ns_of(l, end),
        plumb_live_phase_name(&l->all->file->source, plumb_key_group(f->key) & 0xff), args, n);
}

static void on_launch(void *self, const struct plumb_trace_state *s, uint64_t ticks, uint64_t flow)
{
    struct node_track *l = self;
    (void)s;
    (void)ticks;
    if (l->track.depth == 0)
        plumb_node_track_path(&l->track, l->state.path, l->state.path_depth);
    plumb_node_track_launch(&l->track, flow);
}

static void on_within(void *self, const struct plumb_trace_state *s, uint64_t flow)
{
    on_launch(self, s, 0, flow);
}

static void on_measured(void *self, const struct plumb_trace_state *s, uint64_t key, uint32_t kind,
                        uint64_t ns)
{
    struct node_track *l = self;
    (void)s;
    if (l->track.depth == 0)
        plumb_node_track_path(&l->track, l->state.path, l->state.path_depth);
    if (kind == PLUMB_SAMPLE_DEVICE)
        plumb_node_track_device(&l->track, plumb_key_node(key), ns);
}

static void on_gap(void *self, const struct plumb_trace_state *s, const struct plumb_trace_gap *gap)
{
    struct node_track *l = self;
    (void)s;
    l->all->dropped += gap->spans;
}

static const struct plumb_trace_sink sink = {
    .thread = on_thread,
    .begin = on_begin,
    .end = on_end,
    .begin_more = on_begin_more,
    .end_more = on_end_more,
    .flow = on_launch,
    .within = on_within,
    .measured = on_measured,
    .gap = on_gap,
};

static struct node_track *track_at(struct plumb_trace_nodes *n, uint32_t number)
{
    if (number >= n->track_cap) {
        uint32_t cap = n->track_cap ? n->track_cap : 64;
        struct node_track **grown, **before;
        size_t bytes;
        while (cap <= number)
            cap *= 2;
        grown = plumb_pages_map(cap * sizeof(struct node_track *));
        if (!grown)
            return NULL;
        before = n->tracks;
        bytes = n->track_cap * sizeof(struct node_track *);
        if (before)
            memcpy(grown, before, bytes);
        PLUMB_RELEASE(n->tracks, grown);
        PLUMB_RELEASE(n->track_cap, cap);
        if (before)
            plumb_pages_unmap(before, bytes);
    }
    if (!n->tracks[number] &&
        (n->tracks[number] = plumb_pages_map(sizeof(struct node_track))) != NULL) {
        n->tracks[number]->all = n;
        plumb_node_track_open(&n->tracks[number]->track, n->set, 0, "");
    }
    return n->tracks[number];
}

void plumb_trace_nodes_slot(struct plumb_trace_nodes *n, uint32_t track,
                            const struct plumb_trace_slot *slot)
{
    struct node_track *l = track_at(n, track);
    struct plumb_trace_decoder d;
    if (!l)
        return;
    d = (struct plumb_trace_decoder){&sink, l, n->filter, &l->state};
    plumb_trace_slot(&d, slot);
}

void plumb_trace_nodes_work(struct plumb_trace_nodes *n, const struct plumb_lane_work *work)
{
    plumb_node_trace_work(n->set, work);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

int plumb_trace_nodes_open(struct plumb_trace_nodes **out, const struct plumb_trace_file *file,
                           const struct plumb_trace_filter *filter, const char *dir,
                           plumb_error *err)
{
    const struct plumb_live_view *s = &file->source;
    struct plumb_trace_nodes *n;
    struct plumb_node_trace_options o = {.patterns = plumb_live_text(s, s->h->trace.nodes_off),
                                         .trace_name = plumb_live_fact_text(s, PLUMB_FACT_PROGRAM),
                                         .rank = s->h->rank,
                                         .world_size = s->h->world_size,
                                         .pid = s->h->pid,
                                         .base_unix_ns = s->h->start.unix_ns,
                                         .max_text_bytes = 4 * s->h->trace.max_bytes,
                                         .nodes_max = 1 << PLUMB_NODE_BITS,
                                         .filtered = filter != NULL,
                                         .name_of = name_in,
                                         .arg = (void *)(uintptr_t)s};
    int rc;
    *out = NULL;
    if (!s->h->trace.nodes_off)
        return PLUMB_OK;
    n = plumb_pages_map(sizeof *n);
    if (!n)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for PLUMB_TRACE_NODES");
    n->file = file;
    n->filter = filter;
    snprintf(n->dir, sizeof n->dir, "%s", dir);
    o.dir = n->dir;
    rc = plumb_node_trace_open(&n->set, &o, err);
    if (rc < 0)
        plumb_pages_unmap(n, sizeof *n);
    else
        *out = n;
    return rc;
}

static void fini(struct plumb_trace_nodes *n)
{
    for (uint32_t i = 0; i < n->track_cap; i++)
        if (n->tracks[i])
            plumb_pages_unmap(n->tracks[i], sizeof *n->tracks[i]);
    if (n->tracks)
        plumb_pages_unmap(n->tracks, n->track_cap * sizeof(struct node_track *));
    plumb_pages_unmap(n, sizeof *n);
}

int plumb_trace_nodes_close(struct plumb_trace_nodes *n, struct plumb_buf *told, plumb_error *err)
{
    int rc = 0;
    if (!n)
        return rc;
    rc = plumb_node_trace_close(n->set, told, err);
    if (n->dropped)
        plumb_buf_printf(told,
                         "PLUMB_TRACE_NODES: %llu spans were dropped before they reached the "
                         "files of nodes; a larger PLUMB_TRACE_RING helps\n",
                         (unsigned long long)n->dropped);
    fini(n);
    return rc;
}

void plumb_trace_nodes_drop(struct plumb_trace_nodes *n)
{
    if (!n)
        return;
    plumb_node_trace_drop(n->set);
    fini(n);
}

void plumb_trace_nodes_forget(struct plumb_trace_nodes *n)
{
    if (!n)
        return;
    plumb_node_trace_forget(n->set);
    fini(n);
}
