/* ring.c: see ring.h. Each kept file comes from a separate reading of the slots, with its own
 * tracks and names, so it is complete by itself. Recording continues during the reading; slots that
 * are overwritten while they are read are left out (timeline/mapping.h). */
#include "record/trace/ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/text/nearest.h"
#include "base/whole_file.h"
#include "live/read.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/trace/keep.h"
#include "record/trace/trace.h"

enum { WATCHES = 4096 };

/* Requests, which any thread and any signal handler may make at any time, also while the writer
 * starts or ends. So they are separate from the writer's state, and live as long as the process.
 * KEEP_OFF: there is no writer. */
enum keep_state { KEEP_OFF = 0, KEEP_NOTHING = 1, KEEP_BEING_SAID = 2, KEEP_WANTED = 3 };
static struct {
    uint32_t state;           /* enum keep_state; atomic */
    char why[PLUMB_KEEP_WHY]; /* each byte atomic: a late thread may still be writing */
} wish;

static struct plumb_live_trace *trace_of(const struct plumb_trace_ring *r)
{
    return &r->run->h->trace;
}

/* ---- Files that are kept --------------------------------------------------------------------- */

struct piece {
    struct plumb_trace_live live;
    uint64_t limit;
    struct plumb_whole_file file;
    int code;
};

static bool write_piece(void *arg, const unsigned char *bytes, size_t n)
{
    struct piece *p = arg;
    p->code = p->live.file.bytes + n > p->limit ? EFBIG : plumb_whole_file_put(&p->file, bytes, n);
    return p->code == 0;
}

static void fill_piece(struct plumb_trace_ring *r, struct piece *p, const char *why)
{
    struct plumb_trace_file *f = &p->live.file;
    f->clock = r->live->file.clock;
    plumb_trace_file_head(f);
    plumb_trace_modules(f, 0);
    plumb_trace_file_fact(f, "plumb.keep.why", why);
    plumb_trace_live_collect(&p->live);
    plumb_trace_file_fact(f, "plumb.trace_end", "with the newest record");
    plumb_trace_file_losses(f);
    plumb_trace_file_flush(f);
}

/* Writes the newest records to a file of the run's directory. Returns 0 or an errno. */
static int write_piece_file(struct plumb_trace_ring *r, const char *name, const char *why,
                            uint64_t *bytes, uint64_t *spans)
{
    struct piece *p = plumb_pages_map(sizeof *p);
    unsigned char *buffer = plumb_pages_map(PLUMB_TRACE_BUFFER);
    char path[1200];
    int code = p && buffer ? 0 : ENOMEM, ended;
    snprintf(path, sizeof path, "%s/%s", r->run->dir, name);
    if (!code) {
        p->live.file.out = (struct plumb_pf_out){buffer, PLUMB_TRACE_BUFFER, 0};
        p->live.file.source = r->live->file.source;
        p->live.file.write = write_piece;
        p->live.file.arg = p;
        p->live.filter = r->live->filter;
        p->limit = trace_of(r)->max_bytes - trace_of(r)->kept_bytes;
        code = plumb_whole_file_begin(&p->file, path, PLUMB_WHOLE_FIRST, 0600);
    }
    if (!code) {
        code = plumb_trace_live_open(&p->live, false) < 0 ? ENOMEM : 0;
        if (!code) {
            fill_piece(r, p, why);
            code = p->code;
            *bytes = p->live.file.bytes;
            *spans = plumb_trace_live_spans(&p->live);
        }
        ended = plumb_whole_file_end(&p->file, !code);
        code = code ? code : ended;
        plumb_trace_live_fini(&p->live);
    }
    plumb_pages_unmap(buffer, PLUMB_TRACE_BUFFER);
    plumb_pages_unmap(p, sizeof *p);
    return code;
}

/* Copies the reason of the request. */
static void take_why(char *why)
{
    for (size_t i = 0; i < sizeof wish.why; i++)
        why[i] = PLUMB_LOAD(wish.why[i]);
}

static void keep_now(struct plumb_trace_ring *r, const char *why)
{
    struct plumb_live_trace *t = trace_of(r);
    uint64_t bytes = 0, spans = 0;
    char name[64];
    int code;
    snprintf(name, sizeof name, "kept-%u.pftrace", t->kept + 1);
    code = t->kept_bytes >= t->max_bytes ? EFBIG : write_piece_file(r, name, why, &bytes, &spans);
    if (code) {
        PLUMB_BUMP(t->kept_refused, 1); /* those that wait for the piece read it */
        if (t->kept_refused == 1)
            plumb_say("plumb: cannot keep the newest records in %s/%s: %s", r->run->dir, name,
                      code == EFBIG ? "PLUMB_TRACE_MAX is reached" : strerror(code));
        return;
    }
    t->kept_bytes += bytes;
    PLUMB_RELEASE(t->kept, t->kept + 1);
    plumb_log(PLUMB_LOG_INFO, "plumb: kept %s/%s: %s", r->run->dir, name, why);
}

int plumb_trace_keep_impl(const char *why, plumb_error *err)
{
    uint32_t before = KEEP_NOTHING, said = KEEP_BEING_SAID;
    size_t n = 0;
    bool heard = __atomic_compare_exchange_n(&wish.state, &before, KEEP_BEING_SAID, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (heard) {
        for (; why && why[n] && n < sizeof wish.why - 1; n++)
            PLUMB_STORE(wish.why[n], why[n]);
        PLUMB_STORE(wish.why[n], '\0');
        heard = __atomic_compare_exchange_n(&wish.state, &said, KEEP_WANTED, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        plumb_trace_writer_wake();
    }
    /* A request that already waits will include these records. */
    if (!heard && (before == KEEP_OFF || said == KEEP_OFF))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "no trace in ring mode is on (PLUMB_TRACE_MODE=ring)");
    return PLUMB_OK;
}

/* Returns the watch of a thread block; NULL if there are too many. */
static struct plumb_keep_watch *watch_of(struct plumb_trace_ring *r, uint64_t off)
{
    uint64_t i = plumb_map_get(&r->watch_of, off);
    if (!i && r->watch_count < WATCHES && plumb_map_put(&r->watch_of, off, r->watch_count + 1) == 0)
        i = ++r->watch_count;
    return i ? &r->watches[i - 1] : NULL;
}

/* Looks for a span on any thread that took too long since the last look. */
static void look_for_slow_spans(struct plumb_trace_ring *r)
{
    const struct plumb_live_view *s = &r->live->file.source;
    uint64_t off = r->rules.count ? PLUMB_ACQUIRE(s->h->thread_off) : 0;
    char why[PLUMB_KEEP_WHY];
    while (off) {
        struct plumb_live_thread *live = plumb_live_at(s, off, sizeof *live);
        struct plumb_keep_watch *watch = live ? watch_of(r, off) : NULL;
        if (watch && plumb_keep_look(watch, &r->rules, r->live, live, why))
            plumb_trace_keep_impl(why, NULL);
        off = live ? live->next_off : 0;
    }
}

void plumb_trace_ring_pass(struct plumb_trace_ring *r)
{
    char why[PLUMB_KEEP_WHY];
    look_for_slow_spans(r);
    if (PLUMB_ACQUIRE(wish.state) != KEEP_WANTED)
        return;
    take_why(why);
    /* Before any record is read (an exchange is also a barrier for later loads): later requests may
     * mean newer records. */
    __atomic_exchange_n(&wish.state, KEEP_NOTHING, __ATOMIC_ACQ_REL);
    keep_now(r, why);
}

void plumb_trace_ring_open(struct plumb_trace_ring *r)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    plumb_error err = {0, ""};
    if (trace_of(r)->mode != PLUMB_LIVE_TRACE_RING)
        return;
    if (plumb_keep_rules_parse(&r->rules, s->keep_if, &err) < 0)
        plumb_say("plumb: PLUMB_KEEP_IF: %s; it keeps nothing", err.message);
    if (r->rules.count && !(r->watches = plumb_pages_map(WATCHES * sizeof *r->watches)))
        r->rules.count = 0;
    plumb_keep_signal_take(s->keep_signal);
}

/* A rule for an unknown node never keeps anything, which its author should know. */
static void warn_unknown_nodes(struct plumb_trace_ring *r)
{
    const struct plumb_live_view *s = &r->live->file.source;
    uint32_t nodes = PLUMB_ACQUIRE(s->h->nodes.count);
    for (uint32_t i = 0; i < r->rules.count; i++) {
        const char *wanted = r->rules.rule[i].node;
        struct plumb_nearest nearest = plumb_nearest_start(wanted);
        uint32_t id = 1;
        while (id < nodes && strcmp(plumb_live_node_name(s, id), wanted) != 0)
            plumb_nearest_offer(&nearest, plumb_live_node_name(s, id++));
        if (id < nodes)
            continue;
        plumb_lock();
        plumb_run_note(r->run, "PLUMB_KEEP_IF: no node that ran is called '%s'%s%s%s", wanted,
                       nearest.best ? ": did you mean '" : "", nearest.best ? nearest.best : "",
                       nearest.best ? "'?" : "");
        plumb_unlock();
    }
}

int plumb_trace_ring_close(struct plumb_trace_ring *r)
{
    struct plumb_live_trace *t = trace_of(r);
    char why[PLUMB_KEEP_WHY];
    uint32_t before;
    int code = 0;
    if (t->mode != PLUMB_LIVE_TRACE_RING)
        return 0;
    warn_unknown_nodes(r);
    plumb_keep_signal_give_back();
    before = __atomic_exchange_n(&wish.state, KEEP_OFF, __ATOMIC_ACQ_REL);
    if (before == KEEP_WANTED) {
        take_why(why);
        keep_now(r, why);
    }
    if (t->kept_bytes < t->max_bytes) {
        code =
            write_piece_file(r, PLUMB_TRACE_FILE, "the run ended", &t->file_bytes, &t->file_spans);
        if (code)
            t->file_bytes = 0;
    }
    plumb_map_fini(&r->watch_of);
    if (r->watches)
        plumb_pages_unmap(r->watches, WATCHES * sizeof *r->watches);
    return code;
}

void plumb_trace_ring_listen(void)
{
    PLUMB_RELEASE(wish.state, KEEP_NOTHING);
}

void plumb_trace_ring_forget(void)
{
    memset(&wish, 0, sizeof wish);
}
