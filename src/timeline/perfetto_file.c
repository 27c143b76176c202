/* perfetto_file.c: the file of perfetto.h: its head, its names, its times. */
#include <stdio.h>

#include "base/error.h"
#include "base/pages.h"
#include "base/u128.h"
#include "live/trace_drops.h"
#include "timeline/perfetto_names.h"

static const char *const fixed_keys[] = {
    [TRACE_KEY_STEP] = "step",
    [TRACE_KEY_PIPELINE] = "pipeline",
    [TRACE_KEY_FAILED] = "failed",
    [TRACE_KEY_ABANDONED] = "abandoned",
    [TRACE_KEY_UNBALANCED] = "unbalanced",
    [TRACE_KEY_CUT] = "cut",
    [TRACE_KEY_SPANS] = "spans",
    [TRACE_KEY_BACK_NS] = "back_ns",
    [TRACE_KEY_FLOP_PER_S] = "flop_per_s",
    [TRACE_KEY_STACK_CUT] = "stack_cut",
    [TRACE_KEY_OTHER_NODES] = "(other nodes)",
    [TRACE_KEY_STACK] = "stack",
};

/* ---- Texts ----------------------------------------------------------------------------------- */

static const char *key_text(struct plumb_trace_file *f, uint32_t id)
{
    if (id >= TRACE_ID_NODES)
        return plumb_live_node_name(&f->source, id - TRACE_ID_NODES);
    if (id >= TRACE_KEY_TEXTS)
        return id - TRACE_KEY_TEXTS < f->text_count
                   ? plumb_live_text(&f->source, f->text_offs[id - TRACE_KEY_TEXTS])
                   : "?";
    return id < sizeof fixed_keys / sizeof *fixed_keys && fixed_keys[id] ? fixed_keys[id] : "?";
}

static const char *text_of(void *arg, enum plumb_pf_index index, uint32_t id)
{
    struct plumb_trace_file *f = arg;
    if (index == PLUMB_PF_CATEGORIES)
        return plumb_live_phase_name(&f->source, (id - 1) & 0xff);
    if (index == PLUMB_PF_KEYS)
        return key_text(f, id);
    switch (id) {
    case TRACE_NAME_DROPPED:
        return "plumb.dropped";
    case TRACE_NAME_CAPTURE:
        return "plumb.capture";
    case TRACE_NAME_JUMPED:
        return "plumb.clock_jumped";
    default:
        break;
    }
    if (id >= TRACE_ID_NODES)
        return plumb_live_node_name(&f->source, id - TRACE_ID_NODES);
    if (id >= TRACE_ID_TEXTS)
        return id - TRACE_ID_TEXTS < f->text_count
                   ? plumb_live_text(&f->source, f->text_offs[id - TRACE_ID_TEXTS])
                   : "?";
    return plumb_live_node_name(&f->source, id);
}

uint32_t plumb_trace_text_id(struct plumb_trace_file *f, uint64_t off)
{
    uint64_t known = off ? plumb_map_get(&f->text_ids, off) : 0;
    if (known)
        return (uint32_t)known - 1;
    if (!off || f->text_count == PLUMB_TRACE_TEXTS ||
        plumb_map_put(&f->text_ids, off, f->text_count + 1) < 0)
        return PLUMB_TRACE_TEXTS;
    f->text_offs[f->text_count] = off;
    return f->text_count++;
}

/* ---- The file -------------------------------------------------------------------------------- */

int plumb_trace_file_open(struct plumb_trace_file *f)
{
    const struct plumb_live_header *h = f->source.h;
    f->text_offs = plumb_pages_map(PLUMB_TRACE_TEXTS * sizeof *f->text_offs);
    if (!f->text_offs)
        return PLUMB_ERR_MEMORY;
    f->texts = (struct plumb_pf_texts){text_of, f};
    f->plain = plumb_trace_plain;
    f->zero = (struct plumb_pf_anchor){h->trace.zero_boottime_ns, h->trace.zero_monotonic_ns,
                                       h->trace.zero_realtime_ns};
    f->seed = plumb_pf_uuid(h->pid, 0, h->process_start, h->start.unix_ns);
    f->process_track = plumb_pf_uuid(f->seed, TRACE_TRACK_PROCESS, 0, 0);
    return PLUMB_OK;
}

void plumb_trace_file_fini(struct plumb_trace_file *f)
{
    plumb_map_fini(&f->text_ids);
    plumb_map_fini(&f->tracks);
    plumb_pages_unmap(f->text_offs, PLUMB_TRACE_TEXTS * sizeof *f->text_offs);
    f->text_offs = NULL;
}

void plumb_trace_file_flush(struct plumb_trace_file *f)
{
    if (f->out.used && !f->failed && !f->write(f->arg, f->out.base, f->out.used))
        f->failed = true;
    f->bytes += f->failed ? 0 : f->out.used;
    f->out.used = 0;
}

void plumb_trace_file_fact(struct plumb_trace_file *f, const char *key, const char *text)
{
    while (!plumb_pf_fact(&f->out, key, text))
        plumb_trace_file_flush(f);
}

void plumb_trace_file_fact_u64(struct plumb_trace_file *f, const char *key, uint64_t value)
{
    while (!plumb_pf_fact_i64(&f->out, key, (int64_t)value))
        plumb_trace_file_flush(f);
}

static bool is_listed(const uint32_t *sequences, uint32_t n, uint32_t wanted)
{
    for (uint32_t i = 0; i < n; i++)
        if (sequences[i] == wanted)
            return true;
    return false;
}

/* The frame holds a list of threads: 8 KiB. Only the writer of a trace and commands call this
 * function. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
void plumb_trace_file_losses(struct plumb_trace_file *f)
{
    uint32_t sequences[PLUMB_PF_LOSSES_MAX], listed = 0;
    uint64_t losers = plumb_trace_losers(&f->source, sequences, PLUMB_PF_LOSSES_MAX, &listed);
    uint32_t of_run = listed;
    for (uint32_t i = 0; i < f->lane_loss_count; i++) {
        if (is_listed(sequences, of_run, f->lane_losses[i]))
            continue;
        losers++;
        if (listed < PLUMB_PF_LOSSES_MAX)
            sequences[listed++] = f->lane_losses[i];
    }
    while (losers && !plumb_pf_losses(&f->out, sequences, listed, losers))
        plumb_trace_file_flush(f);
}
#pragma GCC diagnostic pop

void plumb_trace_file_head(struct plumb_trace_file *f)
{
    const struct plumb_live_view *s = &f->source;
    const struct plumb_live_header *h = s->h;
    const char *command = plumb_live_fact_text(s, PLUMB_FACT_COMMAND);
    struct plumb_pf_head head = {.zero = f->zero,
                                 .uuid = {f->seed, h->start.unix_ns},
                                 .process_track = f->process_track,
                                 .pid = (int32_t)h->pid,
                                 .process_name = plumb_live_fact_text(s, PLUMB_FACT_PROGRAM),
                                 .argv = &command,
                                 .argc = 1};
    while (!plumb_pf_head(&f->out, &head))
        plumb_trace_file_flush(f);
    plumb_trace_file_fact(f, "plumb.version", plumb_live_fact_text(s, PLUMB_FACT_VERSION));
    plumb_trace_file_fact(f, "plumb.program", plumb_live_fact_text(s, PLUMB_FACT_PROGRAM));
    plumb_trace_file_fact(f, "plumb.pipeline", plumb_live_fact_text(s, PLUMB_FACT_PIPELINE));
    plumb_trace_file_fact(f, "plumb.host", plumb_live_fact_text(s, PLUMB_FACT_HOST));
    plumb_trace_file_fact_u64(f, "plumb.pid", h->pid);
    if (h->rank >= 0)
        plumb_trace_file_fact_u64(f, "plumb.rank", (uint64_t)h->rank);
    if (h->world_size >= 0)
        plumb_trace_file_fact_u64(f, "plumb.world_size", (uint64_t)h->world_size);
    if (h->local_rank >= 0)
        plumb_trace_file_fact_u64(f, "plumb.local_rank", (uint64_t)h->local_rank);
    plumb_trace_file_fact_u64(f, "plumb.start_unix_ns", h->start.unix_ns);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

uint64_t plumb_trace_file_ns(const struct plumb_trace_file *f, uint64_t ticks)
{
    const struct plumb_trace_clock *c = &f->clock;
    uint64_t ticks0 = c->ticks0, ns0 = c->ns0, back;
    if (PLUMB_UNLIKELY(c->jumped) && distance(ticks, c->before_ticks) < distance(ticks, ticks0)) {
        ticks0 = c->before_ticks;
        ns0 = c->before_ns;
    }
    if (PLUMB_LIKELY(ticks >= ticks0))
        return ns0 + (uint64_t)((plumb_u128)(ticks - ticks0) * c->ns_per_tick >> 32);
    back = (uint64_t)((plumb_u128)(ticks0 - ticks) * c->ns_per_tick >> 32);
    return back < ns0 ? ns0 - back : 0;
}
