/* sched.c: see sched.h. */
#include "record/collect/sched.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scratch.h"
#include "live/ledger.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/thread.h"

enum { EVENTS = 4096, DEPTH = PLUMB_DEPTH_MAX + 1 };

uint32_t plumb_sched_met, plumb_sched_on;
int64_t plumb_sched_behind_ns;

static struct { /* under plumb_rt.lock */
    struct plumb_sched_event event[EVENTS];
    uint64_t put, taken;
} events;

void plumb_sched_attached(void)
{
    int saved = errno;
    if (!PLUMB_LOAD(plumb_sched_on))
        return;
    __atomic_fetch_add(&plumb_sched_met, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &plumb_sched_met, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

/* ---- What the kernel wrote ------------------------------------------------------------------- */

/* A record of a switch as perf_event_open() lays it out, for the fields that collect/sched.c asks
 * for. */
struct switch_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
};

static void add_switch(struct plumb_sched_watch *w, const struct switch_record *r)
{
    uint32_t misc = r->header.misc;
    if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
        w->is_out = true;
        w->cpu = r->cpu;
        w->open.out_ns = r->time;
        w->open.preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        return;
    }
    if (!w->is_out)
        return; /* it was not running when the watch began */
    w->is_out = false;
    w->open.in_ns = r->time;
    w->open.moved = r->cpu != w->cpu;
    if (w->count == PLUMB_SCHED_PENDING)
        w->lost++;
    else if (w->open.in_ns > w->open.out_ns)
        w->pending[w->count++] = w->open;
}

void plumb_sched_read(struct plumb_sched_watch *w)
{
    struct perf_event_mmap_page *page = w->page;
    const unsigned char *data = (const unsigned char *)w->page + page->data_offset;
    uint64_t size = page->data_size, head = PLUMB_ACQUIRE(page->data_head);
    uint64_t tail = page->data_tail;
    /* Without a size the page is that of the child of a fork, which is empty (run/fork.c). */
    while (size && tail < head && w->count < PLUMB_SCHED_PENDING) {
        struct switch_record r;
        unsigned char *to = (unsigned char *)&r;
        uint64_t n;
        memcpy(&r.header, data + tail % size, sizeof r.header); /* records lie at multiples of 8 */
        n = r.header.size < sizeof r ? r.header.size : sizeof r;
        if (n < sizeof r.header || r.header.size > head - tail)
            break;
        for (uint64_t i = 0; i < n; i++)
            to[i] = data[(tail + i) % size];
        if (r.header.type == PERF_RECORD_SWITCH && n == sizeof r)
            add_switch(w, &r);
        else if (r.header.type == PERF_RECORD_LOST && n == sizeof r) {
            w->lost += r.time; /* this field of a LOST record: how many */
            w->is_out = false;
        }
        tail += r.header.size;
    }
    PLUMB_RELEASE(page->data_tail, tail);
}

/* ---- Whose it was ---------------------------------------------------------------------------- */

struct stack {
    uint32_t depth, group;
    uint64_t key[DEPTH]; /* [1 .. depth] */
};

struct search {
    const struct plumb_off *off;
    uint64_t overlap;
    struct stack now, best;
};

/* Checks the gap between two neighbouring records. */
static void look_at_gap(struct search *s, uint64_t from, uint64_t to)
{
    uint64_t a = from > s->off->out ? from : s->off->out;
    uint64_t b = to < s->off->in ? to : s->off->in;
    if (b <= a || b - a <= s->overlap)
        return;
    s->overlap = b - a;
    s->best.depth = s->now.depth;
    memcpy(s->best.key + 1, s->now.key + 1, s->now.depth * sizeof s->now.key[0]);
}

/* The times of the two clocks differ by at most a microsecond, less than twice the time of a
 * switch. The interval lies between two neighbours, so they are the pair that has more than half of
 * it. */
static bool is_found(const struct search *s)
{
    return s->overlap > (s->off->in - s->off->out) / 2;
}

/* Applies a record to the stack. Returns its number of words; 0 at the end. */
static uint32_t apply(struct stack *s, const uint64_t *w)
{
    uint64_t word = PLUMB_LOAD(*w);
    uint32_t n = (uint32_t)(word >> 8) & 255;
    switch (word & 3) {
    case PLUMB_REC_BEGIN:
        if (s->depth < PLUMB_DEPTH_MAX)
            s->key[++s->depth] = plumb_key(s->group, plumb_record_node(word));
        return 1;
    case PLUMB_REC_END:
        s->depth -= s->depth > 0;
        return 1;
    case PLUMB_REC_WIDE:
        if (n < 2)
            return 0;
        if ((word >> 2 & 63) == PLUMB_WIDE_GROUP)
            s->group = (uint32_t)PLUMB_LOAD(w[1]) & 0xffff;
        if ((word >> 2 & 63) == PLUMB_WIDE_CLOSE && PLUMB_LOAD(w[1]) < s->depth)
            s->depth = (uint32_t)PLUMB_LOAD(w[1]);
        return n;
    default:
        return 0;
    }
}

static void open_at_last_fold(struct stack *s, const struct plumb_live_thread *live)
{
    s->group = live->context.group;
    s->depth = (uint32_t)live->context.depth;
    for (uint32_t d = 1; d <= s->depth; d++)
        s->key[d] = live->frames[d].key;
}

/* Finds the spans that were open in the interval. The thread has come back from it, so all its
 * earlier records are visible: no later record can belong before the interval. */
static void search(struct search *s, struct plumb_in in)
{
    const struct plumb_live_thread *live = in.th->live;
    uint64_t last = PLUMB_ACQUIRE(in.th->number), before = 0;
    s->overlap = 0;
    open_at_last_fold(&s->now, live);
    for (uint64_t i = live->folded + 1; i <= last; i++) {
        const uint64_t *block = plumb_ring_block(in, i);
        const uint64_t *w = block + PLUMB_BLOCK_HEAD, *end = block + PLUMB_BLOCK_WORDS;
        uint64_t base = PLUMB_LOAD(block[0]);
        while (w < end) {
            uint64_t word = PLUMB_LOAD(*w), ticks = base + plumb_record_ticks(word);
            uint32_t n;
            if (!word)
                break;
            look_at_gap(s, before, ticks);
            if (is_found(s))
                return;
            n = apply(&s->now, w);
            if (!n)
                break;
            before = ticks;
            w += n;
        }
    }
    look_at_gap(s, before, UINT64_MAX);
}

/* Under the lock: returns the figures of a key, cleared if they are from before the pipeline's last
 * reset. */
static struct plumb_live_sched *figures_of(struct plumb_run *run, uint64_t key)
{
    const struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, plumb_key_group(key));
    uint64_t known = plumb_map_get(&run->scheds, key + 1);
    struct plumb_live_sched *f;
    if (known) {
        f = plumb_table_at(run, &run->h->scheds, (uint32_t)known - 1);
    } else {
        f = plumb_table_add(run, &run->h->scheds);
        if (!f || plumb_map_put(&run->scheds, key + 1, run->h->scheds.count + 1) < 0)
            return NULL;
        memset(f, 0, sizeof *f);
        f->key = key;
        plumb_table_commit(&run->h->scheds);
    }
    if (f->reset_generation != PLUMB_LOAD(p->reset_generation)) {
        *f = (struct plumb_live_sched){.key = key,
                                       .reset_generation = PLUMB_LOAD(p->reset_generation)};
    }
    return f;
}

/* Adds the interval once for each open node, however often that is open. */
static void enter(struct plumb_in in, const struct plumb_off *off, const struct stack *s)
{
    uint64_t ticks = off->in - off->out;
    for (uint32_t d = 1; d <= s->depth; d++) {
        struct plumb_live_sched *f;
        bool again = false;
        for (uint32_t k = 1; k < d && !again; k++)
            again = s->key[k] == s->key[d];
        if (again || !(f = figures_of(in.run, s->key[d])))
            continue;
        f->migrations += off->moved;
        if (off->preempted) {
            f->preemptions++;
            f->preempted_ticks += ticks;
            f->longest_ticks = ticks > f->longest_ticks ? ticks : f->longest_ticks;
        } else {
            f->blocks++;
            f->blocked_ticks += ticks;
        }
    }
    events.event[events.put++ % EVENTS] =
        (struct plumb_sched_event){in.th->tid, off->preempted, off->out, off->in};
}

void plumb_sched_begin(void)
{
    plumb_lock();
    events.put = events.taken = 0;
    plumb_unlock();
    PLUMB_RELEASE(plumb_sched_on, 1);
}

bool plumb_sched_next(struct plumb_sched_event *out, uint64_t *lost)
{
    bool any;
    plumb_lock();
    if (events.put - events.taken > EVENTS) {
        *lost += events.put - events.taken - EVENTS;
        events.taken = events.put - EVENTS;
    }
    any = events.taken != events.put;
    if (any)
        *out = events.event[events.taken++ % EVENTS];
    plumb_unlock();
    return any;
}

static uint64_t ticks_of(const struct plumb_anchor *now, uint64_t kernels_ns)
{
    double hz = (double)PLUMB_LOAD(plumb_rt.host_hz);
    uint64_t raw_ns = kernels_ns + (uint64_t)PLUMB_LOAD(plumb_sched_behind_ns);
    double ago =
        raw_ns < now->raw_ns ? (double)(now->raw_ns - raw_ns) : -(double)(raw_ns - now->raw_ns);
    return now->ticks - (uint64_t)(int64_t)(ago * 1e-9 * hz);
}

void plumb_sched_settle(struct plumb_in in, struct plumb_sched_watch *w)
{
    struct plumb_anchor now;
    struct search *s;
    plumb_sched_read(w);
    if (!w->count || !(s = plumb_scratch_take()))
        return;
    plumb_anchor_take(&now, plumb_rt.clock);
    for (uint32_t i = 0; i < w->count; i++) {
        w->pending[i].out = ticks_of(&now, w->pending[i].out_ns);
        w->pending[i].in = ticks_of(&now, w->pending[i].in_ns);
        s->off = &w->pending[i];
        s->best.depth = 0;
        search(s, in);
        plumb_lock();
        enter(in, s->off, &s->best);
        plumb_unlock();
    }
    plumb_scratch_give(s);
    w->count = 0;
}

void plumb_sched_fold(struct plumb_in in)
{
    struct plumb_sched_watch *w = in.th->sched;
    const struct perf_event_mmap_page *page = w->page;
    /* A watch of the parent process: its page is not mapped here. */
    if (w->pid != plumb_rt.pid || w->tid != PLUMB_LOAD(in.th->tid) || plumb_locked)
        return;
    if (w->count || PLUMB_LOAD(page->data_head) != page->data_tail)
        plumb_sched_settle(in, w);
}
