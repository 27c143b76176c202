/* keep.c: see keep.h. The writer reads slots in place, while threads continue to record: a slot or
 * block that changes during the read is left for the next look. */
#include "record/trace/keep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/print.h"
#include "record/trace/trace.h"

/* ---- Looking --------------------------------------------------------------------------------- */

struct look {
    const struct plumb_keep_rules *rules;
    const struct plumb_trace_live *t;
    char *why;
    bool found;
};

static void look_at_end(struct look *l, const struct plumb_trace_open *open, uint64_t ticks)
{
    const char *name = plumb_live_node_name(&l->t->file.source, plumb_key_node(open->key));
    uint64_t begin = plumb_trace_file_ns(&l->t->file, open->begin_ticks);
    uint64_t end = plumb_trace_file_ns(&l->t->file, ticks);
    for (uint32_t i = 0; i < l->rules->count && end > begin; i++)
        if (end - begin > l->rules->rule[i].over_ns && strcmp(name, l->rules->rule[i].node) == 0) {
            plumb_print(l->why, PLUMB_KEEP_WHY, "%s took %.3f ms, more than %.3f ms", name,
                        (double)(end - begin) * 1e-6, (double)l->rules->rule[i].over_ns * 1e-6);
            l->found = true;
        }
}

/* The frame holds the open spans of a thread: 4 KiB. Only the writer of the trace calls this
 * function. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
/* Returns the index after the last word. Ends before `from` have already been looked at. */
static uint32_t look_at_words(struct look *l, const struct plumb_trace_slot *slot, uint32_t from)
{
    struct plumb_trace_open open[PLUMB_TRACE_DEPTH];
    uint32_t depth = slot->depth, i = PLUMB_BLOCK_HEAD;
    uint64_t group = (uint64_t)slot->group << PLUMB_NODE_BITS;
    for (uint32_t d = 1; d <= depth; d++)
        open[d] = d <= PLUMB_TRACE_FRAMES ? slot->frames[d - 1] : (struct plumb_trace_open){0, 0};
    while (i < slot->words && slot->data[i]) {
        uint64_t word = slot->data[i], ticks = slot->data[0] + plumb_record_ticks(word);
        uint32_t kind = word & 3, n = 1;
        if (kind == PLUMB_REC_END && depth) {
            if (i >= from && open[depth].key)
                look_at_end(l, &open[depth], ticks);
            depth--;
        } else if (kind == PLUMB_REC_BEGIN && depth < PLUMB_TRACE_DEPTH - 1) {
            open[++depth] = (struct plumb_trace_open){ticks, group | plumb_record_node(word)};
        } else if (kind == PLUMB_REC_WIDE) {
            n = (uint32_t)(word >> 8) & 255;
            if (n < 2 || n > slot->words - i)
                break;
            if ((word >> 2 & 63) == PLUMB_WIDE_GROUP)
                group = (slot->data[i + 1] & 0xffff) << PLUMB_NODE_BITS;
            if ((word >> 2 & 63) == PLUMB_WIDE_CLOSE && depth > slot->data[i + 1])
                depth = (uint32_t)slot->data[i + 1];
        }
        i += n;
    }
    return i;
}
#pragma GCC diagnostic pop

static void look_at_slot(struct look *l, struct plumb_keep_watch *w,
                         const struct plumb_trace_slot *slot)
{
    uint32_t from = slot->block == w->block ? w->word : 0;
    if (slot->kind != PLUMB_SLOT_BLOCK || slot->block < w->block ||
        slot->depth >= PLUMB_TRACE_DEPTH || slot->words > PLUMB_BLOCK_WORDS)
        return;
    w->word = look_at_words(l, slot, from);
    w->block = slot->block;
}

bool plumb_keep_look(struct plumb_keep_watch *w, const struct plumb_keep_rules *rules,
                     const struct plumb_trace_live *t, struct plumb_live_thread *live, char *why)
{
    const struct plumb_live_view *s = &t->file.source;
    struct plumb_live_queue *q = plumb_live_queue_of(s, live);
    struct look l = {rules, t, why, false};
    struct plumb_trace_slot slot;
    uint64_t put, folded;
    if (!q)
        return false;
    put = PLUMB_ACQUIRE(q->put);
    if (put - w->slots > q->slots)
        w->slots = put - q->slots;
    for (; w->slots < put; w->slots++)
        if (plumb_trace_copy_slot(s, q, w->slots + 1, &slot))
            look_at_slot(&l, w, &slot);
    folded = PLUMB_ACQUIRE(live->folded);
    if (plumb_trace_unfolded(s, live, q, folded + 1, &slot)) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (PLUMB_LOAD(live->folding) == folded && PLUMB_LOAD(live->folded) == folded)
            look_at_slot(&l, w, &slot);
    }
    return l.found;
}

/* ---- The signal ------------------------------------------------------------------------------ */

static int taken; /* 0: none */

static void on_signal(int sig)
{
    int saved = errno;
    (void)sig;
    plumb_trace_keep_impl("a signal asked for it", NULL);
    errno = saved;
}

void plumb_keep_signal_take(const char *name)
{
    struct sigaction now, mine;
    int sig = plumb_keep_signal_number(name);
    if (!name[0])
        return;
    if (!sig) {
        plumb_say("plumb: PLUMB_KEEP_SIGNAL: '%.40s' is not a signal that can be taken", name);
        return;
    }
    if (sigaction(sig, NULL, &now) < 0 || now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL) {
        plumb_say("plumb: PLUMB_KEEP_SIGNAL: the program uses signal %d itself; it keeps nothing",
                  sig);
        return;
    }
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESTART;
    sigemptyset(&mine.sa_mask);
    taken = sigaction(sig, &mine, NULL) == 0 ? sig : 0;
}

void plumb_keep_signal_give_back(void)
{
    struct sigaction now;
    if (taken && sigaction(taken, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == on_signal)
        signal(taken, SIG_IGN); /* a late signal must not end the program */
    taken = 0;
}
