/* module.c: the module that a thread is in. Its path is read from the data of the span path: spans
 * that were begun since the last fold are in the thread's ring, earlier ones in the frames of that
 * fold. Nothing is folded for it, so layers that are not chosen stay cheap. For the same reason a
 * thread that asks has at most one unfolded block from then on.
 *
 * A path is looked up by a hash of its nodes; its name and whether it is chosen are found once a
 * path and run. */
#include <stdio.h>
#include <string.h>

#include "record/activation/activation.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/node.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

#define DECIDE_WAIT_NS UINT64_C(5000000000)

/* ---- The path -------------------------------------------------------------------------------- */

struct stack {
    uint32_t node[PLUMB_DEPTH_MAX + 1]; /* [1 .. depth] */
    uint32_t depth;
};

static void push(struct stack *s, uint32_t node)
{
    if (s->depth < PLUMB_DEPTH_MAX)
        s->node[++s->depth] = node;
}

/* Replays the begins and ends of a block; replay.h is the complete replay. */
static void replay(struct stack *s, const uint64_t *w, const uint64_t *end)
{
    while (w < end) {
        uint64_t word = PLUMB_LOAD(*w);
        uint32_t n = 1;
        switch (word & 3) {
        case PLUMB_REC_BEGIN:
            push(s, plumb_record_node(word));
            break;
        case PLUMB_REC_END:
            s->depth -= s->depth > 0;
            break;
        case PLUMB_REC_WIDE:
            n = (uint32_t)(word >> 8) & 0xff;
            if ((word >> 2 & 0x3f) == PLUMB_WIDE_CLOSE && n > 1 && PLUMB_LOAD(w[1]) < s->depth)
                s->depth = (uint32_t)PLUMB_LOAD(w[1]);
            break;
        default:
            return;
        }
        if (n == 0)
            return;
        w += n;
    }
}

static void open_nodes(struct stack *s, struct plumb_thread *th)
{
    struct plumb_unfolded u = {0};
    uint32_t depth;
    plumb_unfolded_open(&u, th);
    depth = th->live->context.depth;
    s->depth = 0;
    for (uint32_t d = 1; d <= depth && d <= PLUMB_DEPTH_MAX; d++)
        push(s, plumb_key_node(th->live->frames[d].key));
    while (plumb_unfolded_next(&u, th))
        replay(s, u.at, u.end);
    plumb_unfolded_close(&u, th);
    PLUMB_STORE(th->batch, 1); /* a window of the trace sets it too */
}

uint32_t plumb_act_path(uint32_t path[PLUMB_ACT_PATH], struct plumb_thread *th, uint32_t node)
{
    struct stack s;
    uint32_t n = 0;
    uint32_t all = th->path_depth;
    open_nodes(&s, th);
    all += s.depth;
    for (uint32_t i = 0; i < all; i++) {
        uint32_t at = i < th->path_depth ? th->path[i] : s.node[i - th->path_depth + 1];
        uint32_t flags = PLUMB_ACQUIRE(plumb_node_at(at)->flags);
        if (flags & PLUMB_POINT_STAGE)
            n = 0;
        else if (!(flags & PLUMB_POINT_REGION) && n < PLUMB_ACT_PATH - 1)
            path[n++] = at; /* a region is not a part of the model */
    }
    if (n == 0 || path[n - 1] != node)
        path[n++] = node;
    return n;
}

/* ---- Modules --------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint32_t *path, uint32_t n)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < n; i++)
        hash = ((hash ^ path[i]) * 1099511628211u) ^ (hash >> 29);
    return hash ? hash : 1;
}

/* Under the lock of activations: returns the module of a name, NULL if there is none yet. Names
 * with one hash, which hardly happens, are separate modules. */
static struct plumb_act_module *named(const char *name)
{
    struct plumb_act_module *m = (struct plumb_act_module *)(uintptr_t)plumb_map_get(
        &plumb_act.names, plumb_hash_text(name));
    return m && strcmp(m->name, name) == 0 ? m : NULL;
}

/* Enters a new path: returns the module of its name, or `made` if there is none. */
static struct plumb_act_module *enter_path(uint64_t key, const char *name,
                                           struct plumb_act_module *made)
{
    struct plumb_act_module *m;
    pthread_mutex_lock(&plumb_act.lock);
    m = (struct plumb_act_module *)(uintptr_t)plumb_map_get(&plumb_act.modules, key);
    if (!m) { /* otherwise another thread was faster */
        m = named(name);
        if (!m && made &&
            plumb_map_put(&plumb_act.names, plumb_hash_text(name), (uint64_t)(uintptr_t)made) ==
                PLUMB_OK)
            m = made;
        if (m && plumb_map_put(&plumb_act.modules, key, (uint64_t)(uintptr_t)m) < 0)
            m = NULL;
        plumb_act.module_count += m != NULL;
    }
    pthread_mutex_unlock(&plumb_act.lock);
    return m;
}

static struct plumb_act_module *make(const uint32_t *path, uint32_t n, uint64_t key)
{
    char name[1024];
    size_t used = 0;
    struct plumb_act_module *m;
    const char *kept = NULL;
    for (uint32_t i = 0; i < n && used < sizeof name; i++)
        used += (size_t)snprintf(name + used, sizeof name - used, "%s%s", i ? "." : "",
                                 plumb_node_at(path[i])->name);
    /* Nodes "block.0", and "block" with "0" inside, are one module to a reader of the records. */
    m = enter_path(key, name, NULL);
    if (m)
        return m;
    plumb_lock();
    m = plumb_keep_bytes(sizeof *m);
    if (m)
        kept = plumb_keep_text(name);
    plumb_unlock();
    if (!m || !kept)
        return NULL;
    *m = (struct plumb_act_module){.name = kept};
    return enter_path(key, name, m);
}

/* Decides whether the run wants it. libc's regexec() takes 18 KiB of stack. */
static void decide(struct plumb_act_module *m, uint32_t generation)
{
    bool chosen, dumped;
    __atomic_add_fetch(&plumb_act.deciding, 1, __ATOMIC_SEQ_CST);
    chosen = plumb_pattern_matches(&plumb_act.layers, m->name);
    dumped = plumb_act.dumps && plumb_pattern_matches(&plumb_act.dump, m->name);
    __atomic_sub_fetch(&plumb_act.deciding, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&plumb_act.lock);
    if (m->generation != generation) {
        m->chosen = chosen;
        m->dumped = dumped;
        plumb_act.matched += chosen;
        PLUMB_RELEASE(m->generation, generation);
    }
    pthread_mutex_unlock(&plumb_act.lock);
}

static struct plumb_act_module *next_undecided(uint32_t *wanted)
{
    struct plumb_act_module *m;
    pthread_mutex_lock(&plumb_act.lock);
    m = plumb_act.undecided;
    if (m)
        plumb_act.undecided = m->next;
    *wanted = m ? m->wanted : 0;
    pthread_mutex_unlock(&plumb_act.lock);
    return m;
}

void plumb_act_modules_do_decide(void)
{
    struct plumb_act_module *m;
    uint32_t wanted;
    while ((m = next_undecided(&wanted)) != NULL)
        decide(m, wanted);
}

void plumb_act_modules_forget(void)
{
    pthread_mutex_lock(&plumb_act.lock);
    plumb_act.undecided = NULL;
    pthread_mutex_unlock(&plumb_act.lock);
}

/* Once a run: has it decided on a thread with enough stack. Returns false if that was not in
 * time. */
static bool have_decided(struct plumb_act_module *m, uint32_t generation)
{
    const struct plumb_act_module *other;
    pthread_mutex_lock(&plumb_act.lock);
    for (other = plumb_act.undecided; other && other != m;)
        other = other->next;
    if (!other) {
        m->next = plumb_act.undecided;
        plumb_act.undecided = m;
    }
    m->wanted = generation;
    pthread_mutex_unlock(&plumb_act.lock);
    plumb_helper_do(PLUMB_JOB_MODULES, DECIDE_WAIT_NS);
    if (PLUMB_ACQUIRE(m->generation) == generation)
        return true;
    plumb_act_queue_lose();
    return false;
}

struct plumb_act_module *plumb_act_module(const uint32_t *path, uint32_t n)
{
    uint64_t key = hash_of(path, n);
    uint32_t generation = PLUMB_LOAD(plumb_act.generation);
    struct plumb_act_module *m;
    bool full;
    pthread_mutex_lock(&plumb_act.lock);
    m = (struct plumb_act_module *)(uintptr_t)plumb_map_get(&plumb_act.modules, key);
    full = plumb_act.module_count >= PLUMB_ACT_MODULES;
    pthread_mutex_unlock(&plumb_act.lock);
    if (!m && !full)
        m = make(path, n, key);
    if (m && PLUMB_ACQUIRE(m->generation) != generation && !have_decided(m, generation))
        m = NULL;
    return m;
}
