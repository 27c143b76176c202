/* merge.h: adds up the statistics of a live mapping. States of many threads become rows, their
 * places become one call tree, and records that were not folded yet are replayed on top.
 *
 * Two users: a summary inside the recording process (record/span/snapshot.c), which feeds copies of
 * states, and the reader of whole mappings (read.c). Every offset is checked against the
 * mapping's size: it may be a damaged file. One thread; memory from the caller's arena. */
#ifndef PLUMB_LIVE_MERGE_H
#define PLUMB_LIVE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/stats/stats.h"
#include "live/view.h"

enum {
    PLUMB_GROUP = 64, /* buckets that are added up and searched together */
    PLUMB_GROUP_LINES = PLUMB_GROUP / PLUMB_SKETCH_LINE,
    PLUMB_GROUPS = PLUMB_SKETCH_BUCKETS / PLUMB_GROUP
};

/* Counts of PLUMB_GROUP buckets; NULL: all are 0. */
union plumb_merge_group {
    uint32_t *narrow;
    uint64_t *wide;
};

struct plumb_merge_channel {
    struct plumb_stats stats; /* ticks or ns */
    union plumb_merge_group group[PLUMB_GROUPS];
    bool wide;      /* all samples together need more than 31 bits, or may */
    bool unsure;    /* the counts need not add up to those of `stats`: a file may be damaged */
    uint32_t shift; /* buckets are those of value >> shift (plumb_channel_shift) */
};

/* Samples that skip_first_n takes, of the host or of a device. */
struct plumb_merge_skip {
    uint64_t taken;
    uint64_t most; /* samples replayed here are skipped while `taken` is less */
    bool settled;  /* `most` is all that is skipped */
};

/* The P-square estimate of a row. It depends on the order of samples, so it comes from one state
 * and the records that are replayed on top of it. */
struct plumb_merge_p2 {
    struct plumb_p2 p2;
    uint32_t thread; /* its thread, as counted by plumb_merge_thread(); 0: nothing yet */
    uint32_t channel;
    uint32_t mixed; /* enum plumb_timing_median_why: it cannot be used */
};

struct plumb_merge_row {
    uint32_t group, node;
    struct plumb_merge_channel *channel[PLUMB_CHANNELS]; /* NULL: no sample */
    uint64_t self_ticks, self_ns;
    uint64_t device_within_ns;      /* on a device: of other nodes inside its runs */
    uint64_t outer_ns, outer_count; /* of samples measured elsewhere; spans have it in the tree */
    uint64_t failures, abandoned, unbalanced;
    uint64_t untraced;
    struct plumb_merge_skip skip[2]; /* of the host, of a device */
    uint64_t why_off;
    uint64_t why_count; /* failures of the thread that why_off comes from: the one with most */
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

/* The data of a key that its states need. */
struct plumb_merge_key {
    struct plumb_merge_row *row; /* NULL: the key is not valid */
    uint32_t group;
};

struct plumb_merge {
    struct plumb_arena *arena;
    struct plumb_live_view view;   /* of the mapping, which is only read */
    struct plumb_merge_row **rows; /* first-seen order after plumb_merge_order() */
    size_t row_count, row_cap;
    struct plumb_map row_of;
    struct plumb_merge_key *keys; /* those that existed when it was opened */
    uint32_t key_count;
    /* The last resets of the pipelines when it was opened. One that comes later is for the next
     * merge: a state whose buckets are ahead of its count would be added, and the samples that it
     * is ahead by would be dropped. Pipelines that are made later have had none. */
    struct plumb_live_reset *resets;
    uint32_t reset_count;
    struct plumb_merge_place *places; /* 0 is the root */
    size_t tree_count, tree_cap;
    struct plumb_map tree_node_of;
    bool want_tree;
    bool own;  /* the mapping is that of this process: its buckets add up to its counts */
    bool live; /* its process continues to write: of its texts, only names are safe to read */
    struct plumb_merge_ahead ahead[PLUMB_UNDO_STATES];
    size_t ahead_count;
    bool skips;      /* some row may have to skip */
    uint32_t thread; /* of what is being merged: 1, 2, ... */
    uint32_t thread_generation;
    uint64_t missing; /* keys beyond the end of the mapping */
    uint64_t other;   /* of them, those whose node did not fit into the mapping */
};

/* Makes a row of every key of `view`, in their order. `m` is zeroed, or was open before: then it
 * keeps the memory of its maps, and the caller has reset or replaced the arena. Errors:
 * PLUMB_ERR_MEMORY, PLUMB_ERR_FORMAT. */
int plumb_merge_open(struct plumb_merge *m, struct plumb_arena *arena,
                     const struct plumb_live_view *view, bool want_tree);
void plumb_merge_close(struct plumb_merge *m);

/* Adds the number of samples that skip_first_n has taken of a state. Call it for all states before
 * the first block, which needs the rest that is to be skipped. Only needed if m->skips. */
void plumb_merge_skipped(struct plumb_merge *m, const struct plumb_live_state *st);
/* Begins a thread record, which has had `generation` threads. The following calls are about it. */
void plumb_merge_thread(struct plumb_merge *m, uint32_t generation);
/* Adds a state. One of a generation before the pipeline's last reset adds nothing. Returns its row
 * when the thread that has the record now has runs in it, otherwise NULL. */
struct plumb_merge_row *plumb_merge_state(struct plumb_merge *m, const struct plumb_live_state *st);
/* The same for a copy. `head` holds the bytes before its buckets: at least up to `p2`, and up to
 * the buckets if plumb_state_is_long(). `lines` are the lines of buckets in use, in order. */
struct plumb_merge_row *plumb_merge_state_copy(struct plumb_merge *m,
                                               const struct plumb_live_state *head,
                                               const uint32_t *lines);
/* Goes back to thread record number `thread` (m->thread when it was added), for its blocks: the
 * thread has runs in `rows`, as returned by plumb_merge_state(). */
void plumb_merge_resume(struct plumb_merge *m, uint32_t thread, uint32_t generation,
                        struct plumb_merge_row *const *rows, size_t n);

static inline bool plumb_state_is_long(uint32_t flags, uint64_t count)
{
    return flags & PLUMB_STATE_P2 || count >> 32;
}

/* Replays a block that was not folded. `context` and `frames` are the thread's at its last fold and
 * are changed; `tree` of frames and context are places of `m` (plumb_merge_place_map). */
void plumb_merge_block(struct plumb_merge *m, struct plumb_live_context *context,
                       struct plumb_live_frame *frames, const uint64_t *words);
/* Counts `spans` of the spans that the last block ended under `key` as not in the trace. */
void plumb_merge_untraced(struct plumb_merge *m, uint64_t key, uint64_t spans);
/* Sorts the rows, after everything was added, by the time of their first runs, which does not
 * depend on the order of threads and folds. */
void plumb_merge_order(struct plumb_merge *m);
/* Adds `t`, place `i` of a thread's tree, to its merged place, and stores that in map[i], which is
 * 0 before and stays 0 if there is none. Parents come before their children. */
void plumb_merge_place(struct plumb_merge *m, uint32_t *map, uint32_t i,
                       const struct plumb_live_tree *t);
/* Returns the merged place of `key` below merged place `parent`. */
uint32_t plumb_merge_place_of(struct plumb_merge *m, uint32_t parent, uint64_t key, bool async);

/* p50, p90, p95, p99 of one channel, in its unit, directly from the counts. The fifth is the sample
 * after p50: the second of the two middle ones if there are two. */
enum { PLUMB_QUANTILES = 5 };
void plumb_merge_quantiles(const struct plumb_merge_channel *c, double out[PLUMB_QUANTILES]);
/* Returns the channel's buckets as a sorted list, values times `unit_ns`. NULL when out of memory
 * or empty. */
struct plumb_bucket *plumb_merge_buckets(const struct plumb_merge *m,
                                         const struct plumb_merge_channel *c, double unit_ns,
                                         size_t *n);

#endif
