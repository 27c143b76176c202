/* counts.c: see counts.h.
 *
 * A signal handler may interrupt any of this on its own thread and come here again. So an entry is
 * complete before it is in the thread's index, a cell is emptied before it is changed, and the
 * worst that a handler causes is a second entry for the same key: the reader adds them up. */
#include "inject/count/counts.h"

#include <stddef.h>

#include "base/atomic.h"
#include "inject/count/bare.h"
#include "inject/count/functions.h"
#include "inject/count/leave.h"
#include "inject/count/trampoline.h"
#include "inject/count/wanted.h"
#include <plumb/detail/abi.h>

enum {
    ENTRIES_MOST = 1 << 19,
    THREADS_MOST = 2048,
    THREADS_LEAST = 32,
    INDEX_FIRST = 1024,
    INDEX_WORDS = 8, /* of all indexes together, for each entry */
    WIPE_ON_FORK = 18
};

/* The head of the range; cleared in a child. */
struct counts {
    uint32_t threads, entries;
    uint64_t steps_lost;
    uint64_t index_used; /* words */
    uint64_t unattributed[PLUMB_CALLS_FUNCTIONS];
};

static struct counts *counts;
static struct plumb_calls_entry *entries;
static struct plumb_counted_thread *threads;
static uint32_t *indexes;
static uint32_t entry_limit, thread_limit;

static void (*look)(struct plumb_open_node *out);
static void (*glance)(struct plumb_open_node *out);

bool plumb_counts_init(void)
{
    char *at = NULL;
    size_t head = (sizeof *counts + 4095) & ~(size_t)4095;
    uint64_t budget = plumb_bare_budget();
    entry_limit = ENTRIES_MOST;
    for (thread_limit = THREADS_MOST; thread_limit >= THREADS_LEAST; thread_limit /= 2) {
        size_t bytes = head + entry_limit * sizeof *entries + thread_limit * sizeof *threads +
                       (size_t)entry_limit * INDEX_WORDS * sizeof *indexes;
        at = bytes <= budget ? plumb_bare_map(bytes) : NULL;
        if (at && plumb_bare_call(SYS_madvise, (long)at, (long)bytes, WIPE_ON_FORK, 0, 0, 0) == 0)
            break;
        if (at)
            plumb_bare_call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
        at = NULL;
        entry_limit /= 2;
    }
    if (!at)
        return false;
    counts = (struct counts *)at;
    entries = (struct plumb_calls_entry *)(at + head);
    threads = (struct plumb_counted_thread *)(entries + entry_limit);
    indexes = (uint32_t *)(threads + thread_limit);
    return true;
}

void plumb_counts_describe(struct plumb_calls_area *area)
{
    area->entries = entries;
    area->entry_count = &counts->entries;
    area->entry_limit = entry_limit;
    area->unattributed = counts->unattributed;
    area->steps_lost = &counts->steps_lost;
}

void plumb_counts_attach(const struct plumb_api *api, void (*before_exec)(void))
{
    struct plumb_open_place place = {.size = sizeof place};
    if (api->size < offsetof(struct plumb_api, leave) + sizeof api->leave)
        return;
    plumb_leave_tell(api->leave, before_exec);
    api->open_place(&place);
    if (place.head_at != PLUMB_RECORD_HEAD || place.base_at != PLUMB_RECORD_BASE)
        return;
    glance = place.glance;
    PLUMB_RELEASE(look, place.look);
    PLUMB_RELEASE(plumb_record_at, place.thread_at);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static uintptr_t thread_pointer(void)
{
    uintptr_t p;
    __asm__("mov %%fs:0, %0" : "=r"(p));
    return p;
}

/* Returns words of an index; NULL: there are none left. */
static uint32_t *take_index(uint32_t words)
{
    uint64_t limit = (uint64_t)entry_limit * INDEX_WORDS, at;
    if (PLUMB_LOAD(counts->index_used) + words > limit)
        return NULL;
    at = PLUMB_ADD(counts->index_used, words);
    return at + words <= limit ? indexes + at : NULL;
}

/* Returns the part of the calling thread: that of an earlier thread with this pointer, or a new
 * one. NULL: there is no more. */
static struct plumb_counted_thread *join(void)
{
    uintptr_t mine = thread_pointer();
    uint32_t n = PLUMB_LOAD(counts->threads), i = 0;
    while (i < n && i < thread_limit && PLUMB_LOAD(threads[i].pointer) != mine)
        i++;
    if (i == n && n < thread_limit)
        i = PLUMB_ADD(counts->threads, 1);
    if (i >= thread_limit)
        return NULL;
    if (!threads[i].index) {
        threads[i].index = take_index(INDEX_FIRST);
        threads[i].index_size = INDEX_FIRST;
        threads[i].step = -1;
    }
    if (!threads[i].index)
        return NULL;
    PLUMB_STORE(threads[i].pointer, mine);
    plumb_own_counts = &threads[i];
    return &threads[i];
}

/* ---- Entries --------------------------------------------------------------------------------- */

static uint32_t hash(uint64_t key, int64_t step, uint32_t function)
{
    uint64_t h =
        (key ^ (uint64_t)step * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 29;
    return (uint32_t)((h + function) * UINT64_C(0xc4ceb9fe1a85ec53) >> 32);
}

/* Returns the place of the key in the index, or the free one where it belongs. */
static uint32_t *place_of(uint32_t *index, uint32_t size, uint64_t key, int64_t step,
                          uint32_t function)
{
    uint32_t mask = size - 1, i = hash(key, step, function) & mask;
    while (index[i]) {
        const struct plumb_calls_entry *e = &entries[index[i] - 1];
        if (e->key == key && e->step == step && e->function == function + 1)
            break;
        i = (i + 1) & mask;
    }
    return &index[i];
}

/* Doubles the index, unless there is no memory: it then fills up to three quarters. */
static void grow(struct plumb_counted_thread *t)
{
    uint32_t size = t->index_size, *index = take_index(size * 2);
    if (!index)
        return;
    for (uint32_t i = 0; i < size; i++) {
        const struct plumb_calls_entry *e = t->index[i] ? &entries[t->index[i] - 1] : NULL;
        if (e)
            *place_of(index, size * 2, e->key, e->step, e->function - 1) = t->index[i];
    }
    /* A handler that comes between the two finds fewer entries, and makes others. */
    PLUMB_STORE(t->index, index);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    PLUMB_STORE(t->index_size, size * 2);
}

static struct plumb_calls_entry *make(struct plumb_counted_thread *t, uint64_t key, int64_t step,
                                      uint32_t function)
{
    uint32_t i;
    if (t->index_used >= t->index_size / 2)
        grow(t);
    if (t->index_used >= t->index_size / 4 * 3 || PLUMB_LOAD(counts->entries) >= entry_limit)
        return NULL;
    i = PLUMB_ADD(counts->entries, 1);
    if (i >= entry_limit)
        return NULL;
    entries[i].key = key;
    entries[i].step = step;
    PLUMB_RELEASE(entries[i].function, function + 1);
    *place_of(t->index, t->index_size, key, step, function) = i + 1;
    t->index_used++;
    return &entries[i];
}

/* Returns the thread's entry for the key. When most of the memory is used, new steps are no longer
 * told apart. NULL: all is used. */
static struct plumb_calls_entry *entry_of(struct plumb_counted_thread *t, uint64_t key,
                                          int64_t step, uint32_t function)
{
    uint32_t at = *place_of(t->index, t->index_size, key, step, function);
    if (at)
        return &entries[at - 1];
    if (step >= 0 && PLUMB_LOAD(counts->entries) > entry_limit / 4 * 3) {
        PLUMB_ADD(counts->steps_lost, 1);
        return entry_of(t, key, -1, function);
    }
    return make(t, key, step, function);
}

/* ---- The call -------------------------------------------------------------------------------- */

static const uint64_t *record(void)
{
    const uint64_t *p;
    __asm__ volatile("mov %%fs:(%1), %0" : "=r"(p) : "r"(PLUMB_ACQUIRE(plumb_record_at)));
    return p ? p : plumb_no_record.word;
}

static void call_look(void *out)
{
    look(out);
}

/* Asks the runtime for the open node. Returns false if it cannot tell now. */
static bool look_around(struct plumb_counted_thread *t, const uint64_t *words)
{
    struct plumb_open_node node = {.key = 0, .step = -1, .known = words == plumb_no_record.word};
    if (!node.known)
        glance(&node);
    if (!node.known)
        plumb_with_vectors_saved(call_look, &node);
    if (!node.known)
        return false;
    t->key = node.key;
    t->step = node.step;
    return true;
}

/* `count`: NULL empties the cell. */
static void set_cell(struct plumb_cell *cell, uint64_t head, uint64_t base, uint64_t *count)
{
    PLUMB_STORE(cell->calls, NULL);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    cell->head = head;
    cell->base = base;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    PLUMB_STORE(cell->calls, count);
}

PLUMB_BARE_HIDDEN __attribute__((used)) void plumb_count_slow(uint32_t function)
{
    struct plumb_counted_thread *t = plumb_own_counts;
    struct plumb_calls_entry *e = NULL;
    if (!t || t->pointer != thread_pointer())
        t = join();
    if (t) {
        const uint64_t *words = record();
        uint64_t head = words[PLUMB_RECORD_HEAD / 8], base = words[PLUMB_RECORD_BASE / 8];
        bool known = look_around(t, words);
        e = entry_of(t, t->key, t->step, function);
        if (known && e)
            set_cell(&t->cell[function], head, base, &e->calls);
    }
    /* One instruction: a handler of this thread may count in the same entry. */
    if (e)
        __asm__ volatile("incq %0" : "+m"(e->calls) : : "cc");
    else
        PLUMB_ADD(counts->unattributed[function], 1);
}
