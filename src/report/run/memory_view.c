/* memory_view.c: `plumb report memory` as text, Markdown, CSV and JSON. */
#include "report/run/memory_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/timing_memory.h"
#include "model/timing_parts.h"
#include "model/timing_section.h"
#include "report/picture/chart.h"
#include "report/run/render.h"
#include "report/table/page.h"

enum { OWNERS = 10 }; /* shown of a pool */

/* ---- Rows ------------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double peak_of(const struct plumb_timing_memory *m)
{
    double sum = (double)m->peak_rss;
    for (size_t i = 0; i < m->use_count; i++)
        sum += larger((double)m->uses[i].peak_allocated, (double)m->uses[i].peak_reserved);
    return sum;
}

static int by_peak(const void *a, const void *b)
{
    const struct plumb_memory_row *x = a;
    const struct plumb_memory_row *y = b;
    double p = peak_of(x->memory);
    double q = peak_of(y->memory);
    if (p < q || p > q)
        return p > q ? -1 : 1;
    return (x->memory > y->memory) - (x->memory < y->memory); /* first-seen order */
}

int plumb_memory_rows(struct plumb_memory_row **out, size_t *n, const struct plumb_render_input *in,
                      plumb_error *err)
{
    const struct plumb_timing *t = in->timing;
    const struct plumb_timing_request *r =
        in->request == PLUMB_TIMING_NONE ? NULL : &t->requests[in->request];
    const struct plumb_summary_options *o = &in->options->summary;
    size_t most = r ? r->stage_count : t->node_count;
    struct plumb_memory_row *rows = calloc(most + 1, sizeof *rows);
    size_t count = 0;
    if (!rows)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the memory of nodes");
    for (size_t i = 0; i < most; i++) {
        const struct plumb_timing_node *node = &t->nodes[r ? r->stages[i].node : i];
        const struct plumb_timing_memory *m = r ? &r->stages[i].memory : &node->memory;
        if ((!o->pipeline || strcmp(o->pipeline, node->pipeline) == 0) &&
            (!o->phase || strcmp(o->phase, node->phase) == 0) && plumb_timing_measured(m))
            rows[count++] = (struct plumb_memory_row){node, m};
    }
    qsort(rows, count, sizeof *rows, by_peak);
    *out = rows;
    *n = count;
    return PLUMB_OK;
}

size_t plumb_memory_shown(const struct plumb_render_input *in, size_t n)
{
    size_t top = in->options->summary.top;
    return top > 0 && top < n ? top : n;
}

/* Whether a checkpoint belongs to the chosen request, if one is chosen. */
static bool is_chosen(const struct plumb_page *p, const struct plumb_timing_checkpoint *c)
{
    return p->in->request == PLUMB_TIMING_NONE || p->in->request == c->request;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static const struct plumb_timing_pool *pool_at(const struct plumb_timing *t, uint32_t index)
{
    return index < t->memory.pool_count ? &t->memory.pools[index] : NULL;
}

void plumb_memory_resident_cells(struct plumb_grid *g, const struct plumb_timing_memory *m)
{
    if (!m || m->samples == 0) {
        plumb_grid_nones(g, 5);
        return;
    }
    plumb_grid_whole(g, m->samples);
    plumb_grid_whole(g, m->rss);
    plumb_grid_whole(g, m->peak_rss);
    plumb_grid_signed(g, m->growth);
    plumb_grid_whole(g, m->peak_exact);
}

/* Six cells: device, pool, and the four numbers. */
static void add_use(struct plumb_grid *g, const struct plumb_timing *t,
                    const struct plumb_timing_use *use)
{
    const struct plumb_timing_pool *pool = use ? pool_at(t, use->pool) : NULL;
    if (!pool) {
        plumb_grid_nones(g, 6);
        return;
    }
    plumb_grid_text(g, pool->device);
    plumb_grid_text(g, pool->pool);
    plumb_grid_whole(g, use->allocated);
    plumb_grid_whole(g, use->reserved);
    plumb_grid_whole(g, use->peak_allocated);
    plumb_grid_whole(g, use->peak_reserved);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool several_pipelines(const struct plumb_memory_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(rows[i].node->pipeline, rows[0].node->pipeline) != 0)
            return true;
    return false;
}

static void put_nodes(struct plumb_page *p, const struct plumb_memory_row *rows, size_t n)
{
    static const struct plumb_grid_column columns[] = {
        {"pipeline", "Pipeline", PLUMB_GRID_TEXT, NULL},
        {"name", "Node", PLUMB_GRID_TEXT, NULL},
        {"phase", "Stage", PLUMB_GRID_TEXT, NULL},
        {"samples", "Runs", PLUMB_GRID_COUNT, "runs whose resident set was read"},
        {"rss_bytes", "RSS", PLUMB_GRID_BYTES,
         "resident set of the process, at the end of the last run"},
        {"peak_rss_bytes", "Peak RSS", PLUMB_GRID_BYTES, "its highest value in that time"},
        {"growth_bytes", "Growth", PLUMB_GRID_BYTES, "what all runs added: end minus begin"},
        {"peak_exact", "Exact", PLUMB_GRID_FLAG,
         "yes: the kernel counted the peak; no: it is the highest sample"},
        {"device", "Device", PLUMB_GRID_TEXT, NULL},
        {"pool", "Pool", PLUMB_GRID_TEXT, NULL},
        {"allocated_bytes", "Allocated", PLUMB_GRID_BYTES, "held by the program at the end"},
        {"reserved_bytes", "Reserved", PLUMB_GRID_BYTES,
         "held by the pool at the end, in use or not"},
        {"peak_allocated_bytes", "Peak alloc", PLUMB_GRID_BYTES,
         "the highest of Allocated in that time, exact"},
        {"peak_reserved_bytes", "Peak res", PLUMB_GRID_BYTES,
         "the highest of Reserved in that time, exact"},
    };
    struct plumb_grid g;
    bool several = several_pipelines(rows, n);
    size_t shown = plumb_memory_shown(p->in, n);
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct plumb_timing_memory *m = rows[i].memory;
        plumb_grid_text(&g, several ? rows[i].node->pipeline : NULL);
        plumb_grid_text(&g, rows[i].node->name);
        plumb_grid_text(&g, rows[i].node->phase);
        plumb_memory_resident_cells(&g, m);
        add_use(&g, p->in->timing, m->use_count > 0 ? &m->uses[0] : NULL);
        for (size_t k = 1; k < m->use_count; k++) {
            plumb_grid_nones(&g, 8);
            add_use(&g, p->in->timing, &m->uses[k]);
        }
    }
    plumb_page_title(p, p->in->request == PLUMB_TIMING_NONE
                            ? "Memory of nodes (MiB)"
                            : "Memory of the request's stages (MiB)");
    plumb_page_grid(p, &g);
    plumb_page_more(p, n - shown);
}

static void put_process(struct plumb_page *p)
{
    const struct plumb_timing *t = p->in->timing;
    if (t->memory.peak_rss == 0)
        return;
    plumb_page_paragraph(p);
    plumb_buf_str(p->out, "Process: ");
    plumb_put_bytes(p->out, (double)t->memory.rss);
    plumb_buf_str(p->out, " resident at the end, peak ");
    plumb_put_bytes(p->out, (double)t->memory.peak_rss);
    if (t->memory.total > 0) {
        plumb_buf_str(p->out, ", of ");
        plumb_put_bytes(p->out, (double)t->memory.total);
    }
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static void add_pool(struct plumb_grid *g, const struct plumb_timing_pool *pool)
{
    double fragmentation = plumb_timing_fragmentation(pool);
    plumb_grid_text(g, pool->device);
    plumb_grid_text(g, pool->pool);
    plumb_grid_whole(g, pool->allocated);
    plumb_grid_whole(g, pool->reserved);
    plumb_grid_whole(g, pool->peak_allocated);
    plumb_grid_whole(g, pool->peak_at_ns);
    plumb_grid_whole(g, pool->peak_reserved);
    plumb_grid_real(g, plumb_timing_overhead_percent(pool->allocated, pool->reserved));
    plumb_grid_real(
        g, plumb_timing_overhead_percent(pool->allocated_at_reserved, pool->peak_reserved));
    plumb_grid_real(g, fragmentation < 0 ? NAN : 100 * fragmentation);
    plumb_grid_whole(g, pool->allocs);
    plumb_grid_whole(g, pool->frees);
    plumb_grid_whole(g, pool->leaked_blocks);
    plumb_grid_whole(g, pool->leaked_bytes);
}

static void put_pools(struct plumb_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"device", "Device", PLUMB_GRID_TEXT, NULL},
        {"pool", "Pool", PLUMB_GRID_TEXT, NULL},
        {"allocated_bytes", "Allocated", PLUMB_GRID_BYTES, "held by the program at the end"},
        {"reserved_bytes", "Reserved", PLUMB_GRID_BYTES,
         "held by the pool at the end, in use or not"},
        {"peak_allocated_bytes", "Peak alloc", PLUMB_GRID_BYTES,
         "the highest of Allocated in that time, exact"},
        {"peak_at_ns", "at(ms)", PLUMB_GRID_NS, "when, since the start of the run"},
        {"peak_reserved_bytes", "Peak res", PLUMB_GRID_BYTES,
         "the highest of Reserved in that time, exact"},
        {"overhead_percent", "Overhead(%)", PLUMB_GRID_PERCENT,
         "reserved and not allocated at the end, in Reserved"},
        {"overhead_at_peak_percent", "At peak(%)", PLUMB_GRID_PERCENT,
         "the same when Reserved was at its highest"},
        {"fragmentation_percent", "Fragm(%)", PLUMB_GRID_PERCENT,
         "of what is reserved and free at the end, the part outside the largest hole"},
        {"allocs", "Allocs", PLUMB_GRID_COUNT, "calls that allocated"},
        {"frees", "Frees", PLUMB_GRID_COUNT, NULL},
        {"leaked_blocks", "Leaked", PLUMB_GRID_COUNT,
         "blocks that were not freed when the run ended"},
        {"leaked_bytes", "Leaked(MiB)", PLUMB_GRID_BYTES, NULL},
    };
    struct plumb_grid g;
    if (p->in->timing->memory.pool_count == 0)
        return;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->in->timing->memory.pool_count; i++)
        add_pool(&g, &p->in->timing->memory.pools[i]);
    plumb_page_title(p, "Pools of the run (MiB)");
    plumb_page_grid(p, &g);
}

static int by_at_peak(const void *a, const void *b)
{
    const struct plumb_timing_owner *x = *(const struct plumb_timing_owner *const *)a;
    const struct plumb_timing_owner *y = *(const struct plumb_timing_owner *const *)b;
    if (x->at_peak != y->at_peak)
        return x->at_peak > y->at_peak ? -1 : 1;
    if (x->alloc_bytes != y->alloc_bytes)
        return x->alloc_bytes > y->alloc_bytes ? -1 : 1;
    return (x > y) - (x < y);
}

static void add_owner(struct plumb_grid *g, const struct plumb_timing_pool *pool,
                      const struct plumb_timing_owner *owner)
{
    plumb_grid_text(g, pool->device);
    plumb_grid_text(g, pool->pool);
    plumb_grid_text(g, owner->node[0] ? owner->node : "(outside every node)");
    plumb_grid_text(g, owner->phase);
    if (pool->by_size)
        plumb_grid_none(g);
    else
        plumb_grid_whole(g, owner->at_peak);
    plumb_grid_real(g, !pool->by_size && pool->peak_allocated > 0
                           ? 100.0 * (double)owner->at_peak / (double)pool->peak_allocated
                           : NAN);
    plumb_grid_whole(g, owner->allocs);
    plumb_grid_whole(g, owner->alloc_bytes);
    plumb_grid_whole(g, owner->frees);
    plumb_grid_whole(g, owner->free_bytes);
}

/* Appends the owners of one pool, those that held most at its peak first, of malloc those that
 * allocated most. Returns how many are left out. */
static size_t add_owners(struct plumb_page *p, struct plumb_grid *g,
                         const struct plumb_timing_pool *pool)
{
    size_t top = p->in->options->summary.top > 0 ? p->in->options->summary.top : OWNERS;
    size_t n = pool->owner_count;
    const struct plumb_timing_owner **owners = calloc(n + 1, sizeof *owners);
    if (!owners) {
        g->failed = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        owners[i] = &pool->owners[i];
    qsort(owners, n, sizeof *owners, by_at_peak);
    for (size_t i = 0; i < n && i < top; i++)
        add_owner(g, pool, owners[i]);
    free(owners);
    return n > top ? n - top : 0;
}

static void put_owners(struct plumb_page *p)
{
    enum { AT_PEAK = 4 };
    static const struct plumb_grid_column columns[] = {
        {"device", "Device", PLUMB_GRID_TEXT, NULL},
        {"pool", "Pool", PLUMB_GRID_TEXT, NULL},
        {"node", "Node", PLUMB_GRID_TEXT, NULL},
        {"phase", "Stage", PLUMB_GRID_TEXT, NULL},
        [AT_PEAK] = {"at_peak_bytes", "At peak", PLUMB_GRID_BYTES,
                     "held when the pool was at its peak; of malloc it is not known"},
        {"at_peak_percent", "%", PLUMB_GRID_PERCENT, NULL},
        {"allocs", "Allocs", PLUMB_GRID_COUNT, "calls that allocated"},
        {"alloc_bytes", "Allocated", PLUMB_GRID_BYTES, NULL},
        {"frees", "Frees", PLUMB_GRID_COUNT, NULL},
        {"free_bytes", "Freed", PLUMB_GRID_BYTES,
         "of its blocks; of malloc: by it, whoever had allocated them"},
    };
    struct plumb_grid g;
    size_t hidden = 0;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->in->timing->memory.pool_count; i++)
        hidden += add_owners(p, &g, &p->in->timing->memory.pools[i]);
    if (plumb_grid_rows(&g) == 0) {
        plumb_grid_fini(&g);
        return;
    }
    plumb_page_title(p, plumb_grid_shows(&g, AT_PEAK)
                            ? "Who allocated, by what it held when the pool was at its peak (MiB)"
                            : "Who allocated (MiB)");
    plumb_page_grid(p, &g);
    plumb_page_more(p, hidden);
}

static void put_leaks(struct plumb_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"device", "Device", PLUMB_GRID_TEXT, NULL},
        {"pool", "Pool", PLUMB_GRID_TEXT, NULL},
        {"bytes", "Bytes", PLUMB_GRID_COUNT, NULL},
        {"address", "Address", PLUMB_GRID_TEXT, NULL},
        {"node", "Allocated by", PLUMB_GRID_TEXT, NULL},
    };
    struct plumb_grid g;
    size_t hidden = 0;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->in->timing->memory.pool_count; i++) {
        const struct plumb_timing_pool *pool = &p->in->timing->memory.pools[i];
        for (size_t k = 0; k < pool->leak_count; k++) {
            uint32_t owner = pool->leaks[k].owner;
            bool known = owner < pool->owner_count;
            plumb_grid_text(&g, pool->device);
            plumb_grid_text(&g, pool->pool);
            char address[32];
            snprintf(address, sizeof address, "0x%" PRIx64, pool->leaks[k].address);
            plumb_grid_whole(&g, pool->leaks[k].bytes);
            plumb_grid_copy(&g, address);
            plumb_grid_text(&g, !known                        ? "(not known)"
                                : pool->owners[owner].node[0] ? pool->owners[owner].node
                                                              : "(outside every node)");
        }
        hidden += pool->leaked_blocks > pool->leak_count
                      ? (size_t)(pool->leaked_blocks - pool->leak_count)
                      : 0;
    }
    if (plumb_grid_rows(&g) == 0) {
        plumb_grid_fini(&g);
        return;
    }
    plumb_page_title(p, "Still allocated at the end, the largest blocks");
    plumb_page_grid(p, &g);
    plumb_page_more(p, hidden);
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static void put_checkpoints(struct plumb_page *p)
{
    static const struct plumb_grid_column columns[] = {
        {"name", "Checkpoint", PLUMB_GRID_TEXT, NULL},
        {"request", "Request", PLUMB_GRID_TEXT, NULL},
        {"at_ns", "at(ms)", PLUMB_GRID_NS, "when, since the start of the run"},
        {"rss_bytes", "RSS", PLUMB_GRID_BYTES, "resident set of the process then"},
        {"peak_rss_bytes", "Peak RSS", PLUMB_GRID_BYTES,
         "the highest of it since a stage last began its peaks again"},
        {"allocated_bytes", "Allocated", PLUMB_GRID_BYTES, "held by the program then"},
        {"reserved_bytes", "Reserved", PLUMB_GRID_BYTES, "held by the pool then, in use or not"},
        {"peak_allocated_bytes", "Peak alloc", PLUMB_GRID_BYTES,
         "the highest of Allocated, since when Peak RSS counts too"},
        {"peak_reserved_bytes", "Peak res", PLUMB_GRID_BYTES, "the highest of Reserved, likewise"},
    };
    struct plumb_grid g;
    plumb_grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->in->timing->memory.checkpoint_count; i++) {
        const struct plumb_timing_checkpoint *c = &p->in->timing->memory.checkpoints[i];
        struct plumb_timing_bytes b = plumb_timing_checkpoint_bytes(p->in->timing, c);
        if (!is_chosen(p, c))
            continue;
        plumb_grid_text(&g, c->name);
        plumb_grid_text(&g, c->request < p->in->timing->request_count
                                ? p->in->timing->requests[c->request].id
                                : NULL);
        plumb_grid_whole(&g, c->at_ns);
        if (c->memory.samples > 0) {
            plumb_grid_whole(&g, c->memory.rss);
            plumb_grid_whole(&g, c->memory.peak_rss);
        } else {
            plumb_grid_nones(&g, 2);
        }
        plumb_grid_whole(&g, b.allocated);
        plumb_grid_whole(&g, b.reserved);
        plumb_grid_whole(&g, b.peak_allocated);
        plumb_grid_whole(&g, b.peak_reserved);
    }
    if (plumb_grid_rows(&g) > 0) {
        plumb_page_title(p, "Checkpoints (MiB)");
        plumb_page_grid(p, &g);
    } else {
        plumb_grid_fini(&g);
    }
}

static void put_mib(struct plumb_page *p, double bytes)
{
    plumb_put_fixed(p->out, bytes / 1048576, 2, 0);
    plumb_buf_str(p->out, " MiB");
}

/* The analysis of the section that timing.json analyses too: the chosen request, otherwise the last
 * one, otherwise the whole run. */
static void put_analysis(struct plumb_page *p)
{
    struct plumb_timing_analysis a;
    uint32_t request = p->in->request != PLUMB_TIMING_NONE
                           ? p->in->request
                           : plumb_timing_last_request(p->in->timing);
    plumb_timing_analyse(&a, p->in->timing, request);
    if (!a.peak)
        return;
    plumb_page_title(p, a.host ? "Analysis of the checkpoints (resident set)"
                               : "Analysis of the checkpoints");
    plumb_page_item(p, "peak: ");
    put_mib(p, (double)a.at_peak.peak_held);
    plumb_buf_str(p->out, " at ");
    plumb_page_name(p, a.peak->name);
    plumb_page_item(p, "pool overhead there: ");
    put_mib(p, (double)a.overhead);
    plumb_buf_str(p->out, " (");
    plumb_put_fixed(p->out, a.overhead_percent, 2, 0);
    plumb_buf_str(p->out, " % of reserved)");
    if (a.total > 0) {
        plumb_page_item(p, "remaining: ");
        put_mib(p, (double)a.remaining);
        plumb_buf_str(p->out, " of ");
        put_mib(p, (double)a.total);
    }
    if (a.baseline) {
        plumb_page_item(p, "increase since the baseline ");
        plumb_page_name(p, a.baseline->name);
        plumb_buf_str(p->out, ": ");
        put_mib(p, (double)a.increase);
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

static bool anything(const struct plumb_timing *t, size_t rows)
{
    return rows > 0 || t->memory.pool_count > 0 || t->memory.checkpoint_count > 0 ||
           t->memory.peak_rss > 0;
}

static void put_page(struct plumb_page *p)
{
    struct plumb_memory_row *rows = NULL;
    size_t n = 0;
    if (plumb_memory_rows(&rows, &n, p->in, NULL) < 0) {
        p->out->failed = true;
        return;
    }
    if (!anything(p->in->timing, n))
        plumb_buf_str(p->out, PLUMB_MEMORY_EMPTY);
    if (n > 0)
        put_nodes(p, rows, n);
    put_process(p);
    if (n == 0 && p->in->timing->memory.pool_count == 0 && p->in->timing->memory.peak_rss > 0) {
        plumb_page_paragraph(p);
        plumb_buf_str(p->out,
                      "Memory of parts: mark them with PLUMB_STAGE(), or count every allocation by "
                      "node with 'plumb record --malloc -- CMD'");
    }
    put_pools(p);
    put_owners(p);
    put_leaks(p);
    put_checkpoints(p);
    put_analysis(p);
    free(rows);
}

void plumb_render_memory_text(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_page p;
    plumb_page_begin(&p, in, out, false, in->options->explain);
    put_page(&p);
    plumb_page_end(&p);
}

void plumb_render_memory_md(const struct plumb_render_input *in, struct plumb_buf *out)
{
    struct plumb_page p;
    plumb_page_begin(&p, in, out, true, in->options->explain);
    put_page(&p);
    plumb_page_end(&p);
}
