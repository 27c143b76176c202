/* layout.h: the layout of `live.plumb`, the mapping that a recording process writes and that
 * outlives it. However the process ends, the file holds every span that had ended and every span
 * that was open. Internal and versioned; created by every run, removed at a clean end.
 *
 *   header | objects, carved in order: names, sites, keys, threads (with ring, stack, undo log),
 *            states (statistics of one key on one thread), tree places, async slots, and the
 *            tables of stages and memory (ledger.h)
 *
 * Objects refer to each other by byte offset (`_off`, 0 refers to nothing). Every object is carved
 * under the runtime's lock and is neither moved nor freed during a run. The ring of a thread is
 * written by that thread alone (a thread block whose thread has ended is reused by the next one).
 * Its states, its tree and its stack are written by the thread that folds.
 *
 * Life of a span: two 8-byte records in the thread's ring, at begin and end. Full blocks of 128
 * words wait until there are several; then they are *folded* together: their records are replayed
 * (replay.h) into the statistics. A kill can cut a fold short at any instruction, so a fold is
 * repeatable: it first copies the data that it will change to the undo log, and advances `folded`
 * with one store after the last change. The reader of a dead process's mapping restores the undo
 * log and replays the blocks again. Blocks that were not folded are simply replayed, in the order
 * of their numbers, up to the first missing one.
 *
 * The alternative, to update the statistics at each end, was estimated and rejected. Where rdtsc
 * does not overlap with other work, the roughly fifty instructions of an update add to every span.
 * They also touch about five more cache lines a span, and each update would need an undo record.
 * ARCHITECTURE.md has the figures. */
#ifndef PLUMB_LIVE_LAYOUT_H
#define PLUMB_LIVE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/clock_line.h"
#include "base/stats/p2.h"
#include "base/stats/sketch.h"
#include "base/stats/stats.h"
#include "live/lane.h"
#include "live/ledger.h"
#include "live/metric/cell.h"
#include "live/region.h"
#include "live/trace.h"

#define PLUMB_LIVE_MAGIC UINT64_C(0x31766c626d756c70) /* "plumblv1" */
#define PLUMB_LIVE_NAME "live.plumb"
/* A longer sample that was measured elsewhere (9 years) is refused: it is a negative difference, or
 * the difference between a date and a duration. */
#define PLUMB_SAMPLE_MAX_NS ((UINT64_C(1) << 58) - 1)
enum {
    PLUMB_LIVE_VERSION = 22,
    PLUMB_BLOCK_WORDS = 128, /* a ring block; the first two words are its header */
    PLUMB_BLOCK_HEAD = 2,
    PLUMB_DEPTH_MAX = 255, /* spans nested deeper are counted, not recorded */
    PLUMB_NODE_BITS = 20,
    PLUMB_NODE_OTHER = 1, /* takes the runs of nodes beyond a bound */
    PLUMB_TICK_BITS = 42,
    PLUMB_CARRY = 16,
    /* A block ends at most 126 runs, and a few states are saved twice. The rest is for the spans
     * around device samples: see PLUMB_UNDO_RUNS. */
    PLUMB_UNDO_STATES = 312,
    PLUMB_UNDO_RUNS = 184,
    PLUMB_UNDO_TREES = 256, /* two blocks' worth, so that several fit when they share places */
    PLUMB_GROUP_BITS = 16,  /* pipeline << 8 | phase */
    PLUMB_SKIPS = 8,        /* changes of skip_first_n that are remembered */
    PLUMB_ASYNC_CHUNK = 1024,
    PLUMB_ASYNC_CHUNKS = 64
};

/* ---- Records: one 64-bit word each, or a wide record of several --------------------------------
 *   bits 0..1   kind
 *   begin       2..21 node, 22..63 ticks since the block's base
 *   end         2..21 zero, 22..63 ticks
 *   wide        2..7 enum plumb_wide, 8..15 words with this one, 16..21 small value, 22..63 ticks
 * A zero word ends the block early. */
enum plumb_record {
    PLUMB_REC_NONE = 0,
    PLUMB_REC_BEGIN = 1,
    PLUMB_REC_END = 2,
    PLUMB_REC_WIDE = 3
};
enum plumb_wide {
    PLUMB_WIDE_GROUP = 1, /* word 1: group that spans ended from here on count to */
    PLUMB_WIDE_STEP = 2,  /* word 1: step, -1 none */
    PLUMB_WIDE_ADOPT = 3, /* word 1: depth n of the adopted path; then n node ids, two a word */
    PLUMB_WIDE_CLOSE = 4, /* small: enum plumb_close; word 1: depth to close down to; as long as
                           * the spans that it closes are many (record/span/close.c), two words at
                           * least */
    PLUMB_WIDE_MARK = 5, /* small: enum plumb_frame_mark; word 1: depth; word 2: text offset or 0 */
    PLUMB_WIDE_SAMPLE =
        6, /* small: enum plumb_sample; word 1: node | group << 32; word 2: value; of a collector's
            * work word 3: key of the stage that launched it, + 1; 0: none */
    /* small: 1 i64, 2 f64, 3 str; word 1: key text offset | depth << 48 (0: none); then the value
     */
    PLUMB_WIDE_ARG = 7,
    /* The following ones are written only while a run is traced. */
    PLUMB_WIDE_INSTANT = 8, /* word 1: text offset */
    PLUMB_WIDE_COUNTER = 9, /* small: enum plumb_counter; word 1: text offset; word 2: value now */
    /* small: 0 captured, 1 adopted, 2 work on the host begins (only if nodes have files); word 1:
     * the flow */
    PLUMB_WIDE_FLOW = 10,
    PLUMB_WIDE_STACK = 11 /* small: 1 cut; of the span just begun: return addresses, inner first */
};
enum plumb_counter { PLUMB_COUNTER_I64 = 1, PLUMB_COUNTER_F64 = 2, PLUMB_COUNTER_BYTES = 3 };
enum plumb_close { PLUMB_CLOSE_OUTER = 0, PLUMB_CLOSE_THREAD = 1 };
enum plumb_sample {
    PLUMB_SAMPLE_HOST = 0,           /* value in ns */
    PLUMB_SAMPLE_DEVICE = 1,         /* value in ns */
    PLUMB_SAMPLE_ASYNC = 2,          /* value in ticks */
    PLUMB_SAMPLE_ASYNC_FAILED = 3,   /* word 2: text offset; word 3: ticks */
    PLUMB_SAMPLE_ASYNC_ABANDONED = 4 /* word 3: ticks */
};

static inline uint64_t plumb_record_ticks(uint64_t word)
{
    return word >> (64 - PLUMB_TICK_BITS);
}
static inline uint64_t plumb_key(uint32_t group, uint32_t node)
{
    return (uint64_t)group << PLUMB_NODE_BITS | node;
}
static inline uint32_t plumb_key_node(uint64_t key)
{
    return (uint32_t)key & ((1u << PLUMB_NODE_BITS) - 1);
}
static inline uint32_t plumb_key_group(uint64_t key)
{
    return (uint32_t)(key >> PLUMB_NODE_BITS);
}
static inline uint32_t plumb_record_node(uint64_t word)
{
    return (uint32_t)(word >> 2) & ((1u << PLUMB_NODE_BITS) - 1);
}

/* ---- Tables: element i lies in chunk c, which holds 64 << c of them -------------------------- */
enum { PLUMB_TABLE_CHUNKS = 20 };
struct plumb_live_table {
    uint64_t chunk_off[PLUMB_TABLE_CHUNKS];
    uint32_t count; /* released after the element is written */
    uint32_t element_bytes;
};

struct plumb_live_text { /* bytes follow, NUL-terminated; equal texts are one object in a run */
    uint32_t bytes;
};

/* A failure reason, whose text may be replaced by a newer one (record/runtime/text.c). A reference
 * is the offset of `text` | the turn << PLUMB_TEXT_BITS; if the turn differs, the text has been
 * replaced. */
enum { PLUMB_TEXT_BITS = 48, PLUMB_WHY_BYTES = 244 };
struct plumb_live_why { /* 256 bytes */
    uint64_t turn;      /* 0: being written */
    struct plumb_live_text text;
    char bytes[PLUMB_WHY_BYTES];
};

struct plumb_live_site {
    uint64_t next_off;
    uint64_t file_off; /* text */
    uint32_t line;
    uint32_t reserved;
};

struct plumb_live_node {
    uint64_t name_off; /* text */
    uint64_t site_off;
    uint32_t flags; /* enum plumb_point_flags */
    uint32_t reserved;
};

/* Data of a key other than its times. Folds make the struct plumb_live_key's; the ledger makes
 * these. */
struct plumb_live_stage {
    uint64_t key;
    uint64_t metric_off; /* text; 0: none */
    uint64_t skipped;    /* runs that skip_first_n has taken from the times of signatures ... */
    uint32_t skip_generation, settled; /* ... of this generation; 1: it takes no more */
    struct plumb_live_memory_pair memory;
};

struct plumb_live_name { /* a pipeline or a phase */
    uint64_t name_off;
};

/* The settings of a pipeline that a fold uses. skip_first_n has a history, because samples are
 * folded after they end: each follows the value that was in force at its end. */
struct plumb_live_pipeline {
    uint64_t name_off;
    /* Of reset number k at k % 2: spans begun before leave no sample (plumb_live_reset_of()). */
    uint64_t reset_ticks[2];
    struct {
        uint64_t from_ticks, n;
    } skip[PLUMB_SKIPS];       /* change number k is at k % PLUMB_SKIPS */
    uint32_t skips;            /* changes so far; released after its entry is written */
    uint32_t reset_generation; /* resets so far; released after the ticks are written */
    uint32_t flags;            /* enum plumb_live_pipeline_flags */
    uint32_t reserved;
};
enum plumb_live_pipeline_flags {
    PLUMB_PIPELINE_ON_DEVICE = 1, /* it has a device */
    PLUMB_PIPELINE_SYNC = 2       /* devices are waited for before clocks are read, or were */
};
/* In the flags of a node, in addition to enum plumb_point_flags. */
enum { PLUMB_NODE_ON_DEVICE = 1 << 16 };

#define PLUMB_KEY_SETTLED (UINT64_C(1) << 63)

/* A (pipeline, phase, node); the table is in the order in which folds met them. group = pipeline <<
 * 8 | phase. */
struct plumb_live_key {
    uint32_t group;
    uint32_t node;
    uint64_t skipped[2];       /* host and device samples that skip_first_n has taken, from all
                                  threads, atomic; PLUMB_KEY_SETTLED is set once a sample has
                                  counted. The states count them per thread, without a fold cut
                                  short */
    uint32_t reset_generation; /* of `skipped` */
    uint32_t reserved;
    uint64_t first_ticks; /* begin of the earliest run that any thread met it with; of no meaning
                             before the pipeline's last reset */
};

struct plumb_live_count {
    uint64_t name_off;
    int64_t total;   /* atomic */
    uint64_t events; /* atomic */
    uint32_t pipeline;
    uint32_t within; /* plumb_count_within(); 0: outside nodes, phases but the first, and steps */
    int64_t running; /* of the pipeline, if a trace shows it; atomic */
};

/* A count of any kind, of a (pipeline, phase, node), a step and a name. User counts of nodes in the
 * whole run are struct plumb_live_count; their parts in steps, and those outside nodes that it does
 * not have, are here. */
struct plumb_live_cell {
    uint64_t name_off;
    uint64_t calls; /* atomic */
    int64_t value;  /* atomic; of copies and allocations bytes, of peaks the highest */
    int64_t step;   /* -1: outside steps, or in a step that has no cell */
    uint32_t kind;  /* enum plumb_count_kind */
    uint32_t group, node;
    uint32_t reset_generation; /* of figures of stages: those of an earlier one are dropped */
};

/* Returns the phase and node of a count that is not the whole pipeline's: those of the innermost
 * span. Nodes beyond 24 bits have no such count. */
static inline uint32_t plumb_count_within(uint32_t phase, uint32_t node)
{
    return node >> 24 ? 0 : (node ? phase << 24 | node : 0);
}

/* ---- Threads --------------------------------------------------------------------------------- */
enum plumb_frame_mark {
    PLUMB_FRAME_OK = 0,
    PLUMB_FRAME_FAILED = 1,
    PLUMB_FRAME_ABANDONED = 2,
    PLUMB_FRAME_LEFT = 3 /* in records alone: a region that a jump has left (trace_regions.h) */
};
struct plumb_live_frame { /* a span open at the end of the last fold */
    uint64_t begin_ticks;
    uint64_t child_ticks; /* time of the nested spans that have ended */
    uint64_t key;         /* group << PLUMB_NODE_BITS | node */
    uint32_t tree;        /* index of its place in the call tree */
    uint32_t mark;        /* enum plumb_frame_mark */
    uint64_t why_off;     /* valid when marked; as in struct plumb_live_why */
};

struct plumb_live_context { /* the state that folds carry from block to block */
    uint32_t depth;
    uint32_t group;
    uint32_t base_tree; /* place below which outermost spans hang: adopted, else 0 */
    uint32_t reserved;
    int64_t step;
    uint64_t spans; /* runs ended, for the overhead estimate */
};

/* One place in a thread's call tree; place 0 is the root. */
struct plumb_live_tree {
    uint32_t parent;
    uint32_t node;
    uint32_t group;
    uint32_t async;
    uint64_t count, total, self; /* ticks; `self` of async places is 0 */
    uint32_t undo_block;         /* low half of the number of the first block of the fold that has
                                    saved this place */
    uint32_t reset_generation;   /* of the figures: those of an earlier one are dropped */
    uint32_t reserved[4];        /* a cache line */
};

/* Statistics of one key on one thread, in ticks (host spans) or ns (samples measured elsewhere).
 * Every sample changes the first 128 bytes. */
enum plumb_channel {
    PLUMB_CHANNEL_SPAN = 0,
    PLUMB_CHANNEL_HOST_NS = 1,
    PLUMB_CHANNEL_DEVICE_NS = 2,
    PLUMB_CHANNEL_FAR = 3, /* added to one of these: its samples beyond the last bucket, hours long,
                              have a state of their own, whose buckets are for value >> FAR_SHIFT */
    PLUMB_CHANNELS = 6
};
enum { PLUMB_FAR_BITS = 46, PLUMB_FAR_SHIFT = 64 - PLUMB_FAR_BITS };

static inline uint32_t plumb_channel_for(uint32_t channel, uint64_t value)
{
    return value >> PLUMB_FAR_BITS ? channel % PLUMB_CHANNEL_FAR + PLUMB_CHANNEL_FAR : channel;
}
static inline uint32_t plumb_channel_shift(uint32_t channel)
{
    return channel >= PLUMB_CHANNEL_FAR ? PLUMB_FAR_SHIFT : 0;
}
/* Returns whether the channel is a device's. Host and device samples of a key are skipped
 * separately. */
static inline bool plumb_channel_is_device(uint32_t channel)
{
    return channel % PLUMB_CHANNEL_FAR == PLUMB_CHANNEL_DEVICE_NS;
}
struct plumb_live_state {
    uint64_t count, total, sq_lo, sq_hi;
    uint64_t min, max, last, last_at; /* min is UINT64_MAX while count is 0; last_at in ticks */
    uint64_t self; /* of a device: time of other nodes there inside runs of this one, in ns */
    /* Bit l % 64 of word l / 64: some bucket of index / PLUMB_SKETCH_LINE == l is not zero. */
    uint64_t lines_used[PLUMB_SKETCH_LINE_WORDS];
    uint32_t key;
    uint32_t undo_block; /* low half of the number of the first block of the fold that has saved
                            this state */
    uint32_t reserved;
    uint32_t reset_generation;
    uint32_t channel; /* enum plumb_channel */
    uint32_t flags;   /* enum plumb_state_flags */
    uint64_t next_off;
    /* rarely changed */
    uint64_t first[PLUMB_EXACT];
    uint64_t failures, abandoned, unbalanced;
    uint64_t why_off;                  /* text of the last failure; as in struct plumb_live_why */
    uint64_t skipped;                  /* samples dropped by skip_first_n */
    uint32_t threads;                  /* OS threads that have had a run here, in succession */
    uint32_t thread_generation;        /* of the last one */
    uint64_t outer_total, outer_count; /* of the host-ns channel; spans have it in the tree */
    uint64_t untraced;                 /* runs whose end is not in the trace; undo leaves it */
    /* A summary copies the following only if it is in use. */
    struct plumb_p2 p2;
    struct { /* wraps of 32-bit buckets: a bucket's count is wraps << 32 | bucket */
        uint32_t index, wraps;
    } carry[PLUMB_CARRY];
    uint32_t reserved_too;
    uint32_t undo_full; /* as undo_block, for a full save; buckets begin on a cache line */
    uint32_t buckets[PLUMB_SKETCH_BUCKETS];
};
enum plumb_state_flags {
    PLUMB_STATE_P2 = 1,
    PLUMB_STATE_SETTLED = 4 /* skip_first_n is used up */
};

/* The undo log of one fold. Valid while thread.folding != thread.folded. Buckets are not in it:
 * outside a fold a state's buckets add up to its count. So their surplus over the saved count is
 * the number of the blocks' samples, in order, that they already have. */
struct plumb_undo_state { /* a cache line */
    uint64_t state_off;   /* | PLUMB_UNDO_FULL: the rest is saved too */
    /* The fields that runs change. Minimum, maximum and the set of used lines are missing: a second
     * replay gives them the same values. */
    uint64_t count, total, sq_lo, sq_hi, self, last, last_at;
};
enum { PLUMB_UNDO_FULL = 1 }; /* the fold was about to make a rarer change than that of a run */
struct plumb_undo_rest {
    uint64_t words[16]; /* the first 128 bytes, when full */
    uint64_t rare[13];  /* first .. outer_count, when full */
    struct plumb_p2 p2; /* always saved when the state has one */
};
struct plumb_undo_tree {
    uint64_t count, total, self;
    uint32_t tree;
    uint32_t reserved;
};
struct plumb_live_undo {
    struct plumb_live_context context;
    uint32_t frames_from; /* frames [frames_from, context.depth) are saved */
    uint32_t states, trees;
    struct plumb_live_frame frames[PLUMB_BLOCK_WORDS];
    struct plumb_undo_tree tree[PLUMB_UNDO_TREES];
    uint64_t reserved; /* the next begin on cache lines */
    struct plumb_undo_state state[PLUMB_UNDO_STATES];
    struct plumb_undo_rest rest[PLUMB_UNDO_STATES]; /* of state[], by its index */
};

/* A ring block: words[0] base ticks, words[1] number of the block (1, 2, ...), written last when
 * the block is opened, after its records have been zeroed. */
struct plumb_live_thread {
    uint64_t next_off;
    uint32_t tid;        /* of the thread that has it, or had it last */
    uint32_t in_use;     /* 0: waiting for a new thread */
    uint32_t generation; /* OS threads that have had it */
    uint32_t blocks;     /* in the ring; block number n lies at index n % blocks */
    uint64_t ring_off;
    uint64_t folded;    /* number of the last block folded */
    uint64_t folding;   /* of the blocks being folded, the first; equal to `folded` between folds */
    uint64_t state_off; /* list of states, oldest first */
    uint32_t states;
    uint32_t reserved;
    struct plumb_live_context context;
    struct plumb_live_table tree;
    struct plumb_live_frame frames[PLUMB_DEPTH_MAX + 1]; /* [1 .. context.depth] */
    struct plumb_live_undo undo;
    uint64_t queue_off; /* struct plumb_live_queue (trace.h); 0: none */
};

/* An end first sets ENDING, then writes the sample, then closes the slot. A kill in between leaves
 * a span that is open, and at worst also counted, but never one that is neither. */
enum plumb_live_async_state { PLUMB_ASYNC_OPEN = 1, PLUMB_ASYNC_ENDING = 1 << 30 };
struct plumb_live_async { /* 64 bytes */
    uint64_t begin_ticks;
    uint32_t node;
    uint32_t group;
    uint32_t tid;
    uint32_t state; /* enum plumb_live_async_state | generation << 1; atomic */
    uint32_t next_free;
    uint32_t flags; /* enum plumb_point_flags */
    /* Data of a stage, for its end. */
    uint64_t request; /* serial; 0: none */
    uint64_t begin_ns;
    uint64_t rss;    /* 0: not read */
    uint64_t within; /* as in struct plumb_live_stage_run */
};

/* ---- Header ---------------------------------------------------------------------------------- */
enum plumb_live_drop {
    PLUMB_DROP_NODES = 0,
    PLUMB_DROP_STATE = 1,
    PLUMB_DROP_LOST = 2,
    PLUMB_DROP_DEPTH = 3,
    PLUMB_DROP_ASYNC = 4,
    PLUMB_DROP_REENTRANT = 5,
    PLUMB_DROP_UNBALANCED = 6,
    PLUMB_DROP_STALE = 7,
    PLUMB_DROP_TREE = 8,
    PLUMB_DROP_SCOPE = 9,       /* scopes nested deeper than a thread keeps: not applied */
    PLUMB_DROP_CHECKPOINT = 10, /* memory checkpoints of further names: not kept */
    PLUMB_DROP_RANGE = 11,      /* samples that were negative or longer than PLUMB_SAMPLE_MAX_NS */
    PLUMB_DROP_PHASES = 12,
    PLUMB_DROP_PIPELINES = 13,
    PLUMB_DROP_NAMES = 14, /* uses of names of instants, ... that did not fit into their part */
    PLUMB_DROPS = 16
};
enum plumb_live_flags { PLUMB_LIVE_P2 = 1 /* host statistics carry the P-square estimator */ };
enum plumb_live_status { PLUMB_LIVE_RECORDING = 1, PLUMB_LIVE_ENDED = 2 };
enum plumb_live_fact { /* texts that describe the run */
                       PLUMB_FACT_VERSION = 0,
                       PLUMB_FACT_PROGRAM = 1,
                       PLUMB_FACT_COMMAND = 2,
                       PLUMB_FACT_HOST = 3,
                       PLUMB_FACT_CPU = 4,
                       PLUMB_FACT_KERNEL = 5,
                       PLUMB_FACT_RANK_SOURCE = 6,
                       PLUMB_FACT_PIPELINE = 7,
                       PLUMB_FACT_REQUEST = 8,
                       PLUMB_FACT_LIBC = 9,
                       PLUMB_FACT_COMPILER = 10,
                       PLUMB_FACT_NVIDIA_DRIVER = 11,
                       PLUMB_FACT_GPUS = 12, /* a line each */
                       PLUMB_FACT_GIT_COMMIT = 13,
                       PLUMB_FACT_FRAMEWORK = 14,
                       PLUMB_FACT_FRAMEWORK_VERSION = 15,
                       PLUMB_FACTS = 16
};
struct plumb_live_note {
    uint64_t next_off;
    uint64_t text_off;
};
struct plumb_live_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t mapped_bytes; /* bound; the file is as long as the carved part */
    uint64_t used;         /* bytes carved */
    uint32_t pid;
    uint32_t status;        /* enum plumb_live_status */
    uint64_t process_start; /* field 22 of /proc/<pid>/stat: distinguishes a reused pid */
    uint32_t clock_source;  /* enum plumb_clock_source */
    uint32_t cpus;
    uint64_t step_ticks;             /* resolution */
    struct plumb_anchor start;       /* of the run */
    struct plumb_anchor early;       /* when the library was loaded: a longer base for short runs */
    struct plumb_clock_point now[2]; /* the newest two; now[anchor & 1] is valid */
    uint32_t anchor;
    int32_t rank, world_size, local_rank;
    struct plumb_clock_jump jump[PLUMB_CLOCK_JUMPS];
    /* The nanoseconds a tick that the figures of a summary were made with, and the bound of their
     * error in 1e-6: bits of a double. 0: there was no summary. */
    uint64_t told_tick_ns, told_ppm;
    uint64_t seen_ticks; /* when plumb's own thread last woke up: the process was alive */
    /* When the file stopped growing and the process continued in private memory; 0: it has not. */
    uint64_t frozen_ticks;
    uint64_t frozen_errno;
    uint64_t overhead_ticks_x1000;      /* cost of an empty span, in 1/1000 tick */
    uint64_t overhead_work_ticks_x1000; /* additional cost of a span around work, in the same
                                         * unit */
    uint64_t own_cpu_ns; /* processor time of plumb's own threads in this run, so far */
    uint64_t skip_first_n;
    uint64_t drops[PLUMB_DROPS]; /* atomic */
    uint64_t fact_off[PLUMB_FACTS];
    uint64_t environment_off; /* list of struct plumb_live_note: "NAME=value" */
    uint64_t note_off;        /* list, newest first */
    uint64_t thread_off;      /* list, newest first */
    uint32_t run_generation;
    uint32_t threads;
    uint32_t flags;         /* enum plumb_live_flags */
    uint32_t pid_namespace; /* which `pid` is of, base/process/process.h; 0: not known */
    uint64_t async_off[PLUMB_ASYNC_CHUNKS];
    struct plumb_live_table nodes;     /* struct plumb_live_node */
    struct plumb_live_table pipelines; /* struct plumb_live_pipeline */
    struct plumb_live_table phases;    /* struct plumb_live_name */
    struct plumb_live_table keys;      /* struct plumb_live_key */
    struct plumb_live_table counts;    /* struct plumb_live_count */
    /* ledger.h */
    struct plumb_live_ledger ledger;
    struct plumb_live_table stages;      /* struct plumb_live_stage */
    struct plumb_live_table owners;      /* struct plumb_live_owner */
    struct plumb_live_table checkpoints; /* struct plumb_live_checkpoint */
    struct plumb_live_table stage_runs;  /* struct plumb_live_stage_run */
    struct plumb_live_table requests;    /* struct plumb_live_request */
    struct plumb_live_table scheds;      /* struct plumb_live_sched */
    struct plumb_live_table signatures;  /* struct plumb_live_signature */
    struct plumb_live_table times;       /* struct plumb_live_signature_time */
    struct plumb_live_table devices;     /* struct plumb_live_device */
    struct plumb_live_table perfs;       /* struct plumb_live_perf */
    struct plumb_live_perf_source perf;
    /* lane.h */
    struct plumb_live_table lanes;      /* struct plumb_live_lane */
    struct plumb_live_table clocks;     /* struct plumb_live_clock */
    struct plumb_live_table collectors; /* struct plumb_live_collector */
    struct plumb_live_table lane_names; /* struct plumb_live_lane_name */
    struct plumb_live_trace trace;      /* trace.h */
    /* region.h */
    struct plumb_live_regions regions;
    struct plumb_live_table region;    /* struct plumb_live_region, as registered */
    struct plumb_live_table intervals; /* struct plumb_live_interval */
    struct plumb_live_table cells;     /* struct plumb_live_cell */
    uint64_t cells_lost;               /* counts in steps that have no cell; atomic */
    struct plumb_live_table windows;   /* struct plumb_live_window (trace.h) */
    uint64_t windows_all;              /* switched on so far; the table may be full */
    /* metric/cell.h */
    struct plumb_live_table families; /* struct plumb_live_metric_family */
    struct plumb_live_table metrics;  /* struct plumb_live_metric */
    uint64_t metrics_lost;            /* series that found no space in the mapping */
    struct plumb_live_streams streams;
    struct plumb_live_table channels;      /* struct plumb_live_channel */
    struct plumb_live_table stream_stages; /* struct plumb_live_stream_stage */
    struct plumb_live_table stream;        /* struct plumb_live_stream */
    struct plumb_live_table chunks;        /* struct plumb_live_chunk */
};

/* ---- Access ---------------------------------------------------------------------------------- */

/* Returns the offset of the text object that a reference leads to; 0: it has been replaced. `bytes`
 * of `base` may be read. */
static inline uint64_t plumb_text_off(const unsigned char *base, uint64_t bytes, uint64_t reference)
{
    uint64_t turn = reference >> PLUMB_TEXT_BITS;
    uint64_t off = reference & ((UINT64_C(1) << PLUMB_TEXT_BITS) - 1);
    if (!turn)
        return off;
    if (off < sizeof turn || off % sizeof turn || off > bytes)
        return 0;
    return PLUMB_ACQUIRE(*(const uint64_t *)(const void *)(base + off - sizeof turn)) == turn ? off
                                                                                              : 0;
}

/* Returns the chunk of element `i`, and sets `*at` to its place there. */
static inline uint32_t plumb_table_chunk(uint32_t i, uint32_t *at)
{
    uint32_t chunk = 31u - (uint32_t)__builtin_clz((i >> 6) + 1);
    *at = i - (((1u << chunk) - 1) << 6);
    return chunk;
}
static inline uint64_t plumb_table_off(const struct plumb_live_table *t, uint32_t i)
{
    uint32_t at, chunk = plumb_table_chunk(i, &at);
    return t->chunk_off[chunk] + (uint64_t)at * t->element_bytes;
}

#endif
