/* merge.h: adds up the statistics of a live mapping: states of many threads become rows, places
 * become one call tree, records that were not yet folded are replayed on top.
 *
 * Two users: a snapshot inside the recording process (core/snapshot.c), which feeds copies of
 * states, and the reader of whole mappings (live_read.c). Every offset is checked against the
 * mapping's size: it may be a damaged file. One thread; memory from the caller's arena. */
#ifndef PLUMB_FORMAT_MERGE_H
#define PLUMB_FORMAT_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/stats.h"
#include "format/live.h"

enum { PLUMB_SKETCH_GROUPS = PLUMB_SKETCH_BUCKETS / 64 };

/* What a thread leaves of a state before it changes it while a summary is made: the state's first
 * fields, up to `p2` where no more are needed, and each line of buckets before its own first
 * change. The rest of the buckets is read in place. */
struct plumb_copy_line {
    struct plumb_copy_line *next;
    uint32_t line; /* its index */
    uint32_t reserved;
    uint32_t counts[PLUMB_SKETCH_LINE];
};
struct plumb_copy {
    struct plumb_copy_line *lines; /* newest first; released */
    uint64_t groups;               /* bit g: a line of group g is among them; released after it */
    struct plumb_live_state head;
};

/* Where the buckets of one state are. They are read in place, when a quantile or list is made. */
struct plumb_merge_sketch {
    struct plumb_merge_sketch *next;
    const uint64_t *lines;  /* the lines in use, as struct plumb_live_state has them */
    const uint32_t *counts; /* by index */
    /* NULL: `counts` stay as they are, and so does a state. Else a thread may go on changing them;
     * before it does, it leaves a copy here. */
    struct plumb_copy *const *copy;
};

/* What is counted besides states, in one line of buckets. */
struct plumb_merge_extra {
    struct plumb_merge_extra *next;
    uint32_t line;
    uint32_t used; /* bit i: count[i] is not 0 */
    uint64_t count[PLUMB_SKETCH_LINE];
};

struct plumb_merge_channel {
    struct plumb_stats stats; /* ticks or ns */
    struct plumb_merge_sketch *sketches;
    struct plumb_merge_extra *extra;         /* a list, each line once */
    uint64_t lines[PLUMB_SKETCH_LINE_WORDS]; /* in use in a state or in `extra` */
    uint32_t shift; /* buckets are those of value >> shift (plumb_channel_shift) */
    bool unsure;    /* the counts need not add up to those of `stats`: a file may be damaged */
};

/* Samples that skip_first_n takes, of the host or of a device. */
struct plumb_merge_skip {
    uint64_t taken;
    uint64_t most; /* samples replayed here are skipped while `taken` is less */
    bool settled;  /* `most` is all that is skipped */
};

/* The P-square estimate of a row. It follows samples in their order, so it is of one state and what
 * is replayed on top of it. */
struct plumb_merge_p2 {
    struct plumb_p2 p2;
    uint32_t thread; /* whose it is, as counted by plumb_merge_thread(); 0: nothing yet */
    uint32_t channel;
    uint32_t mixed; /* enum plumb_timing_median_why: it cannot be used */
};

struct plumb_merge_row {
    uint32_t group, node;
    struct plumb_merge_channel *channel[PLUMB_CHANNELS]; /* NULL: no sample */
    uint64_t self_ticks, self_ns;
    uint64_t device_within_ns;      /* on a device, of other nodes inside its runs */
    uint64_t outer_ns, outer_count; /* of samples measured elsewhere; spans have it in the tree */
    uint64_t failures, abandoned, unbalanced;
    uint64_t untraced;
    struct plumb_merge_skip skip[2]; /* of the host, of a device */
    uint64_t why_off;
    uint64_t why_count; /* failures behind why_off: the thread with most wins */
    struct plumb_merge_p2 p2;
    uint32_t threads;
    uint32_t far_threads; /* the same of the state for long samples */
    uint32_t last_thread; /* the last of them, as counted by plumb_merge_thread() */
    uint64_t first_ticks; /* begin of its earliest run that is known */
    uint32_t order;       /* in which it was made */
    bool listed;          /* has a key or a sample of its own */
};

struct plumb_merge_place {
    uint32_t parent; /* UINT32_MAX: this is the root */
    uint32_t async;
    uint64_t key;
    uint64_t count, total, self; /* ticks */
};

/* Samples of a block about to be replayed whose buckets are already raised, because its fold was
 * cut short; see struct plumb_live_undo. */
struct plumb_merge_ahead {
    uint64_t key;
    uint32_t channel;
    uint64_t samples;
};

/* What the states of a key need. */
struct plumb_merge_key {
    struct plumb_merge_row *row; /* NULL: the key makes no sense */
    const struct plumb_live_pipeline *pipeline;
};

struct plumb_merge {
    struct plumb_arena *arena;
    const unsigned char *base;
    size_t bytes;
    const struct plumb_live_header *h;
    struct plumb_merge_row **rows; /* first-seen order after plumb_merge_order() */
    size_t row_count, row_cap;
    struct plumb_map row_of;
    struct plumb_merge_key *keys; /* those there were when it was opened */
    uint32_t key_count;
    struct plumb_merge_place *places; /* 0 is the root */
    size_t place_count, place_cap;
    struct plumb_map place_of;
    bool want_tree;
    bool live; /* its process goes on writing: of texts, only names are there for sure */
    struct plumb_merge_ahead ahead[PLUMB_UNDO_STATES];
    size_t ahead_count;
    bool skips;      /* some row may have to skip */
    uint32_t thread; /* of what is being merged: 1, 2, ... */
    uint32_t thread_generation;
    uint64_t missing; /* keys that do not lie in the mapping: it ends before them */
    uint64_t other;   /* of them, those whose node found no room in the mapping */
};

/* Makes a row of every key, in their order. `m` is zeroed, or was open before: then it keeps the
 * memory of its maps, and the caller has reset or replaced the arena. PLUMB_ERR_MEMORY,
 * PLUMB_ERR_FORMAT. */
int plumb_merge_open(struct plumb_merge *m, struct plumb_arena *arena, const unsigned char *base,
                     size_t bytes, bool want_tree);
void plumb_merge_close(struct plumb_merge *m);

/* First, for every state: what skip_first_n has taken, so that blocks know what is left to skip.
 * Not needed unless m->skips. */
void plumb_merge_skipped(struct plumb_merge *m, const struct plumb_live_state *st);
/* Then, for every thread record, at its `generation`: its states, and its block. */
void plumb_merge_thread(struct plumb_merge *m, uint32_t generation);
/* Adds a state. One of a generation before the pipeline's last reset adds nothing. */
void plumb_merge_state(struct plumb_merge *m, const struct plumb_live_state *st);
/* Adds a state that its thread may be changing: `head` is a copy of what lies before its buckets,
 * `copy` as in struct plumb_merge_sketch. `head` must stay until the last figure is made. */
void plumb_merge_live_state(struct plumb_merge *m, const struct plumb_live_state *head,
                            const uint32_t *counts, struct plumb_copy *const *copy);

/* How much of a state a copy has. */
static inline bool plumb_copy_is_long(uint32_t flags, uint64_t count)
{
    return flags & PLUMB_STATE_P2 || count >> 32;
}
static inline size_t plumb_copy_head_bytes(uint32_t flags, uint64_t count)
{
    return plumb_copy_is_long(flags, count) ? offsetof(struct plumb_live_state, buckets)
                                            : offsetof(struct plumb_live_state, p2);
}

/* Replays a block that was not folded. `context` and `frames` are the thread's at its last fold and
 * are changed; `tree` of frames and context are places of `m` (plumb_merge_place_map). */
void plumb_merge_block(struct plumb_merge *m, struct plumb_live_context *context,
                       struct plumb_live_frame *frames, const uint64_t *words);
/* Afterwards: `spans` of those that the block ended under `key` are not in the trace. */
void plumb_merge_untraced(struct plumb_merge *m, uint64_t key, uint64_t spans);
/* When everything is added: puts the rows in the order in which the program first met them,
 * whatever the order of threads and folds. */
void plumb_merge_order(struct plumb_merge *m);
/* Adds place `i` of a thread's tree, `t`, to the merged place of it: into map[i], which is 0
 * before, and stays so where there is none. Parents come before their children. */
void plumb_merge_place(struct plumb_merge *m, uint32_t *map, uint32_t i,
                       const struct plumb_live_tree *t);
/* The merged place of `key` below merged place `parent`. */
uint32_t plumb_merge_place_of(struct plumb_merge *m, uint32_t parent, uint64_t key, bool async);

/* A checked look into the mapping: NULL when [off, off + bytes) does not lie in it. */
const void *plumb_merge_at(const struct plumb_merge *m, uint64_t off, size_t bytes);
const void *plumb_merge_element(const struct plumb_merge *m, const struct plumb_live_table *t,
                                uint32_t i, size_t element_bytes);
/* The text at `off`; "" when there is none. */
const char *plumb_merge_text(const struct plumb_merge *m, uint64_t off);

/* p50, p90, p95, p99 of one channel, in its unit, straight from the counts; then the sample above
 * p50, which is the second of the two middle ones where there are two. */
enum { PLUMB_QUANTILES = 5 };
void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[PLUMB_QUANTILES]);
/* The channel's buckets as a sorted list, values times `unit_ns`. NULL when out of memory or empty.
 */
struct plumb_bucket *plumb_merge_buckets(const struct plumb_merge *m,
                                         const struct plumb_merge_channel *c, double unit_ns,
                                         size_t *n);

#endif
