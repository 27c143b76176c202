/* trace.h: the trace in the live mapping.
 *
 * While a run is traced, each thread block has a *queue* of slots. A fold that is about to turn a
 * ring block into statistics first copies it to the next slot, with the context that a decoder
 * needs (record/trace/trace.c). The writer takes slots in order; taken slots are in the file. So
 * the span path has no code for traces, and statistics never depend on one. A killed process leaves
 * the missing part of its file in its mapping: the slots after `taken`, and the block that was not
 * folded.
 *
 *   stop mode: no free slot: the block is not copied; its spans are counted, by node, in a *gap*,
 *              which takes a slot of its own once one is free
 *   ring mode: the oldest slot is overwritten; slots are read when they are to be kept
 *
 * Threads: `put`, slots, gaps and the log are the owner's; `taken`, states and struct
 * plumb_live_trace the writer's. A slot's `number` is 0 while it is being written, and released
 * last.
 *
 * A trace is that of the whole run, or of a *window*: a part of the run, switched on and off while
 * threads record (record/trace/switch.h). A window uses the same queues, emptied before: a queue
 * takes part if its `window` is the trace's, and is fed while its `on` is set. The records of a
 * thread
 * before `from_ticks` are not in the window, although its first block has some of them. When a
 * window is switched off, the blocks that were not folded become slots too, and `on` is cleared, so
 * that the recovery of a killed process finds either.
 *
 * A commit consists of the length of the file and, for each thread, the number of its slots in the
 * file. They belong together, so both are kept twice and switched by one store of `batch`. */
#ifndef PLUMB_LIVE_TRACE_H
#define PLUMB_LIVE_TRACE_H

#include <stdint.h>

#define PLUMB_TRACE_FILE "trace.pftrace"
enum {
    PLUMB_TRACE_FRAMES = 20,     /* open spans that a slot names, outermost first */
    PLUMB_TRACE_PATH = 28,       /* nodes of an adopted path */
    PLUMB_TRACE_NAME = 16,       /* bytes of a thread's name, NUL included */
    PLUMB_TRACE_WORDS = 128,     /* PLUMB_BLOCK_WORDS */
    PLUMB_TRACE_DEPTH = 256,     /* PLUMB_DEPTH_MAX + 1 */
    PLUMB_TRACE_GAP_NODES = 120, /* nodes that a gap counts separately */
    PLUMB_TRACE_LOG = 128,       /* keys that one block's drops are counted under: a block's */
    PLUMB_TRACE_PENDING = 256,   /* words of arguments of a thread's open spans */
    PLUMB_TRACE_SLOTS_MIN = 8
};

/* ---- Slots ----------------------------------------------------------------------------------- */
enum plumb_trace_slot_kind { PLUMB_SLOT_BLOCK = 1, PLUMB_SLOT_GAP = 2 };
enum plumb_trace_slot_flag {
    PLUMB_SLOT_RESUMES = 1, /* blocks before it were left out: the open spans must be compared */
    PLUMB_SLOT_GOES_ON = 2  /* it follows the slot before: it does not list the open spans */
};
struct plumb_trace_open {
    uint64_t begin_ticks;
    uint64_t key; /* group << PLUMB_NODE_BITS | node */
};
struct plumb_trace_slot {
    uint64_t number;          /* from 1, in the order of `put`; 0: being written */
    uint64_t block;           /* number of the ring block; for a gap, of the last lost one */
    uint32_t tid, generation; /* its thread: thread blocks are reused */
    uint32_t group, depth;    /* when the block began */
    int64_t step;
    uint16_t kind, flags; /* enum plumb_trace_slot_kind, _flag */
    uint16_t words;       /* of the block, its head included */
    uint16_t path_depth;
    char name[PLUMB_TRACE_NAME]; /* of the thread */
    struct plumb_trace_open frames[PLUMB_TRACE_FRAMES];
    uint32_t path[PLUMB_TRACE_PATH]; /* adopted, outermost first */
    uint64_t reserved[2];
    uint64_t data[PLUMB_TRACE_WORDS]; /* the block, or struct plumb_trace_gap */
};

/* Consecutive blocks that were not copied. */
struct plumb_trace_gap {
    uint64_t from_block, through_block;
    uint64_t from_ticks, through_ticks;
    uint64_t spans;  /* that ended in them */
    uint64_t others; /* of them, of nodes that are not below */
    uint64_t count;
    uint64_t reserved;
    struct {
        uint32_t node, spans;
    } nodes[PLUMB_TRACE_GAP_NODES];
};

/* ---- Where a decoder stands ------------------------------------------------------------------ */
enum plumb_trace_frame_flag {
    PLUMB_TRACE_SHOWN = 1,     /* its begin is in the trace */
    PLUMB_TRACE_FAILED = 2,    /* why_off */
    PLUMB_TRACE_ABANDONED = 4, /* why_off */
    PLUMB_TRACE_ARGS = 8,      /* some are pending */
    PLUMB_TRACE_LATE = 16,     /* its begin is in blocks that were left out */
    PLUMB_TRACE_LEFT = 32      /* a region that a jump has left: it selects nothing more */
};
struct plumb_trace_frame {
    uint64_t begin_ticks;
    uint64_t key; /* 0: not known */
    int64_t step;
    uint64_t why_off;
    uint32_t flags; /* enum plumb_trace_frame_flag */
    uint32_t reserved;
};
struct plumb_trace_state {
    uint64_t batch; /* the batch that committed it; 0: none */
    uint64_t taken; /* slots */
    uint64_t block; /* the newest that is in the trace, or counted as lost */
    uint64_t last_ticks;
    uint64_t last_ns;         /* the latest time in the file */
    uint32_t tid, generation; /* 0: no thread yet */
    uint32_t group, depth;
    int64_t step;
    uint64_t flow; /* adopted, and not yet written with a span; 0: none */
    uint32_t path_depth, pending_words;
    uint32_t path[PLUMB_TRACE_PATH];
    struct plumb_trace_frame frames[PLUMB_TRACE_DEPTH]; /* [1 .. depth]; [0]: around the spans */
    /* Records that are written with the end of an open span, or (a stack) with the begin of the
     * next: depth << 32 | words, then the record, in sequence. */
    uint64_t pending[PLUMB_TRACE_PENDING];
};

/* ---- Of a thread block ----------------------------------------------------------------------- */
struct plumb_live_queue {
    uint64_t slots_off;
    uint32_t slots;    /* a power of two; 0: it did not fit, so everything is lost */
    uint32_t sequence; /* of the file, set by the writer; 0: none yet */
    char name[PLUMB_TRACE_NAME];
    uint64_t from_ticks;     /* earlier records are not in the trace */
    uint32_t window;         /* that it takes part in; 0: the trace of the run */
    uint32_t on;             /* 1: it is fed; changed by the holder of the thread */
    uint64_t dropped_before; /* of dropped_spans, when the window began */
    uint64_t line0;
    uint64_t put;      /* slots written */
    uint32_t dropping; /* the block before was not copied */
    uint32_t left_out; /* it is not in a gap either: it was not selected */
    uint64_t dropped_spans, dropped_blocks;
    uint64_t line1[4];
    uint64_t taken; /* slots that may be written again */
    uint64_t line2[7];
    /* The open gap: the newer one whose `through_block` has been folded. */
    struct plumb_trace_gap gap[2];
    /* The effect of a dropped block on the counts of its states. It is applied by the first code
     * that finds `block` folded and not 0. The entries are values, not differences, so applying
     * them twice does no harm. */
    struct {
        uint64_t block;
        uint64_t count;
        uint64_t dropped_spans, dropped_blocks;
        struct {
            uint64_t state_off, untraced;
        } state[PLUMB_TRACE_LOG];
    } log;
    /* Settled losses under keys without a state on the thread: their first block was not folded.
     * They belong to the counts of a replay of that block. */
    struct {
        uint64_t count;
        struct {
            uint64_t key, spans;
        } of[PLUMB_TRACE_WORDS];
    } unmet;
    struct plumb_trace_state state[2]; /* the newer one whose batch is committed */
};

/* ---- Of the run ------------------------------------------------------------------------------ */
enum plumb_live_trace_mode {
    PLUMB_LIVE_TRACE_NONE = 0,
    PLUMB_LIVE_TRACE_STOP = 1,
    PLUMB_LIVE_TRACE_RING = 2
};
enum plumb_live_trace_what { /* optional contents of the trace */
                             PLUMB_TRACE_HAS_SHAPES = 1,
                             PLUMB_TRACE_HAS_MEMORY = 2,
                             PLUMB_TRACE_HAS_FLOPS = 4,
                             PLUMB_TRACE_HAS_STACK = 8,
                             PLUMB_TRACE_ONLY_NODES =
                                 16 /* only the spans inside those of nodes_off */
};
enum plumb_live_trace_end { /* why the trace has ended */
                            PLUMB_TRACE_GOES_ON = 0,
                            PLUMB_TRACE_AT_BOUND = 1, /* PLUMB_TRACE_MAX */
                            PLUMB_TRACE_NO_FILE = 2   /* `error` */
};
/* ns = ns0 + (ticks - ticks0) * ns_per_tick. For some time after the counter has jumped, readings
 * that are nearer to the last one before the jump are dated from that one. */
struct plumb_trace_clock {
    uint64_t ticks0, ns0;
    uint64_t ns_per_tick;                     /* in 2^-32; 0: not known yet */
    uint64_t before_ticks, before_ns, jumped; /* jumped 0: it has not, lately */
};
/* A window of the run, in the table of windows. */
enum { PLUMB_TRACE_WINDOWS = 1024 /* further ones are only counted */ };
struct plumb_live_window {
    uint64_t path_off;            /* text: in the run directory, or absolute */
    uint64_t on_ticks, off_ticks; /* off_ticks 0: it is open */
    uint64_t bytes, spans, dropped;
    uint32_t end;   /* enum plumb_live_trace_end */
    int32_t error;  /* an errno */
    uint32_t apart; /* threads that could not be switched in time, so are not in it */
    uint32_t reserved;
};
struct plumb_live_trace {
    uint32_t mode, what; /* enum plumb_live_trace_mode, _what */
    uint64_t max_bytes;
    uint64_t zero_boottime_ns, zero_monotonic_ns, zero_realtime_ns; /* of the run's start */
    uint64_t steps_off, regions_off, nodes_off; /* texts of the settings; 0: none */
    uint32_t ended;                             /* enum plumb_live_trace_end; released */
    int32_t error;                              /* an errno */
    uint32_t sequences;                         /* given out */
    uint32_t kept;                              /* pieces written by a keep */
    uint64_t kept_bytes, kept_refused;
    uint64_t file_bytes, file_spans; /* once the file is finished */
    uint64_t settled;                /* 1: plumb_trace_settle() has run */
    uint32_t window;                 /* its number; 0: the trace is of the whole run */
    uint32_t on;                     /* 1: threads and lanes that begin now take part; atomic */
    uint64_t path_off;               /* of the window's file; text */
    uint64_t within_off;             /* of the window: nodes of its regions; text, 0: no choice */
    uint64_t batch;                  /* released */
    struct {
        uint64_t bytes, spans;
        struct plumb_trace_clock clock;
    } commit[2]; /* [batch & 1] */
};

#endif
