/* ledger.h: the part of the live mapping that holds stages, requests and memory.
 *
 * Written under one lock (record/stage/ledger.h), a few times a stage, never on the span path. A
 * process may be killed between two stores. So data that belongs together has one of two forms.
 * Either it is written to the copy that is not in use and published by one store (`shown`), or it
 * has a number that is written last (`serial`, 0 while the rest changes). Pools are counters in a
 * fixed order: the allocated bytes of a pool change before those of an owner. */
#ifndef PLUMB_LIVE_LEDGER_H
#define PLUMB_LIVE_LEDGER_H

#include <stdint.h>

enum {
    PLUMB_LIVE_POOLS = 16,               /* (device, pool) pairs; further ones are not kept apart */
    PLUMB_LIVE_USES = 8,                 /* pools that one scope keeps figures of */
    PLUMB_LIVE_POINTS = 1024,            /* of a series */
    PLUMB_LIVE_STAGE_RUNS = 4096,        /* newest kept */
    PLUMB_LIVE_REQUESTS = 4096,          /* newest kept */
    PLUMB_LIVE_SECTIONS = 64,            /* newest requests whose stages are kept */
    PLUMB_LIVE_SECTION_STAGES = 32,      /* stages of one */
    PLUMB_LIVE_SECTION_CHECKPOINTS = 64, /* two a stage */
    PLUMB_LIVE_SECTION_SIGNATURES = 64,  /* different ones of all its stages */
    PLUMB_LIVE_METADATA = 2048,          /* bytes of one request's pairs */
    PLUMB_LIVE_LEAKS = 20,
    PLUMB_LIVE_SIGNATURES = 32, /* different ones that are kept of a stage */
    PLUMB_LIVE_WAITS = 4,       /* keys counted separately whose work one key has waited for */
    PLUMB_LIVE_NO_POOL = -1
};

/* Sums of the program's memory events may become negative; shown figures do not. */
static inline uint64_t plumb_not_negative(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

struct plumb_live_use {
    uint32_t pool, reserved_;
    uint64_t allocated, reserved, peak_allocated, peak_reserved;
};
/* Memory figures of a node, a request or a checkpoint; struct plumb_timing_memory explains each. */
struct plumb_live_memory {
    uint64_t samples, rss, peak_rss;
    int64_t growth;
    uint32_t peak_exact, reset_peak;
    uint32_t use_count, reset_generation; /* of the pipeline, of a node's memory */
    struct plumb_live_use use[PLUMB_LIVE_USES];
};
struct plumb_live_memory_pair {
    uint32_t shown; /* copy[shown & 1] is whole */
    uint32_t reserved;
    struct plumb_live_memory copy[2];
};

struct plumb_live_pool {
    uint64_t device_off, pool_off; /* texts */
    uint64_t total;
    int64_t allocated, reserved;
    int64_t peak_allocated, peak_reserved;
    int64_t allocated_at_reserved;
    uint64_t peak_ticks;
    uint64_t allocs, alloc_bytes, frees, free_bytes;
    uint64_t unknown_frees, untracked, untracked_frees;
    uint64_t free_reserved, largest_free; /* when last looked at: a checkpoint, the end */
    uint64_t peaks;                       /* new peaks so far; see at_peaks */
    uint32_t by_size;
    uint32_t leak_count;
    int64_t held_before; /* bytes of malloc's that are older than the run; part of allocated */
    struct {
        uint32_t owner, reserved; /* index in the table of owners */
        uint64_t address, bytes;
    } leak[PLUMB_LIVE_LEAKS]; /* written when the run ends */
};

/* Bytes of one pool that runs of one key allocated. Its bytes at the pool's peak are at_peak if
 * at_peaks == pool.peaks. Otherwise they are the current ones, which have not changed since. */
struct plumb_live_owner {
    uint64_t key;  /* UINT64_MAX: outside every node */
    uint32_t pool; /* index in pools */
    uint32_t reserved;
    uint64_t allocs, alloc_bytes, frees, free_bytes;
    uint64_t at_peak, at_peaks;
};

struct plumb_live_checkpoint {
    uint64_t name_off;
    uint64_t at_ticks;
    uint64_t request; /* serial; 0: none */
    uint64_t serial;  /* of the recording: later is higher; 0: of no checkpoint now */
    uint32_t baseline;
    uint32_t next; /* index + 1 of another one of the request, or of none; for the writer */
    struct plumb_live_memory_pair memory;
};

struct plumb_live_point {
    uint64_t ticks, a, b;
};
struct plumb_live_series {
    int64_t pool;   /* index; PLUMB_LIVE_NO_POOL: the resident set */
    uint64_t shown; /* which half << 32 | points */
    struct plumb_live_point point[2][PLUMB_LIVE_POINTS];
};

struct plumb_live_stage_run {
    uint64_t serial; /* 1, 2, ...; place (serial - 1) % PLUMB_LIVE_STAGE_RUNS */
    uint64_t key;
    uint64_t begin_ticks, end_ticks;
    uint64_t request; /* serial; 0: none */
    uint64_t rss, peak_rss;
    uint64_t
        within; /* key + 1 of the stage that it was begun in, as plumb_stage_within(); 0: none */
    uint64_t why_off; /* of a failure; as in struct plumb_live_why; 0: none */
    uint32_t tid, depth;
    uint32_t failed, reserved;
};

/* Device work of the runs of a key, or of a stage of a request. It belongs to the key of the
 * innermost stage around a launch or a wait; without a stage, to that of the innermost node. */
struct plumb_live_wait {
    uint64_t key; /* whose work was waited for */
    uint64_t count, ns;
};
struct plumb_live_device_use {
    uint64_t launches;
    uint64_t works, device_ns; /* finished work, whichever source reported it */
    uint64_t wait_count, wait_ns;
    uint32_t waits, reserved;
    struct plumb_live_wait wait[PLUMB_LIVE_WAITS]; /* further keys are in the sums alone */
};
/* Intervals in which threads did not run while a run of the key was open. Under the runtime's
 * lock. */
struct plumb_live_sched {
    uint64_t key;
    uint32_t reset_generation, reserved;
    uint64_t preempted_ticks, blocked_ticks;
    uint64_t longest_ticks; /* of the preemptions */
    uint64_t preemptions, blocks, migrations;
};
struct plumb_live_device {
    uint64_t key;
    uint32_t reset_generation, reserved;
    struct plumb_live_device_use use;
};

/* Counters of threads (base/process/perf.h, whose numbers index `counter`). */
enum { PLUMB_LIVE_COUNTERS = 16, PLUMB_LIVE_KERNELS = 4096 };
struct plumb_live_perf_figures {
    uint32_t reset_generation, reserved;
    uint64_t runs; /* that were measured, whatever was absent then */
    struct plumb_live_perf_sum {
        uint64_t total, runs;            /* of the runs in which it was there */
        uint64_t scaled;                 /* of these, runs in which it was multiplexed */
        uint64_t enabled_ns, running_ns; /* of events */
    } counter[PLUMB_LIVE_COUNTERS];
};
/* Of the runs of a stage, or of the kernels of one name that ran inside one stage. */
struct plumb_live_perf {
    uint64_t key;    /* of the stage */
    uint32_t kernel; /* its name: number in the table of lane names; 0: the stage itself */
    uint32_t staged; /* 0: a kernel outside every stage, without a key */
    uint32_t shown;  /* copy[shown & 1] is whole; 0: neither */
    uint32_t reserved;
    struct plumb_live_perf_figures copy[2];
};
enum plumb_live_perf_state {
    PLUMB_LIVE_PERF_UNASKED = 0,
    PLUMB_LIVE_PERF_THERE = 1,
    PLUMB_LIVE_PERF_ABSENT = 2,
    PLUMB_LIVE_PERF_SIMULATED = 3
};
/* In the header of the mapping. */
struct plumb_live_perf_source {
    uint32_t on;              /* 1: the rest is set */
    int32_t level;            /* kernel.perf_event_paranoid; INT32_MIN: unknown */
    uint64_t threads_refused; /* whose events could not be opened */
    struct {
        uint32_t state; /* enum plumb_live_perf_state */
        int32_t code;   /* errno, of an absent one */
    } counter[PLUMB_LIVE_COUNTERS];
};

struct plumb_live_section_stage {
    uint64_t key;
    uint64_t count, failures;
    uint64_t total, own, last; /* ticks, of failed runs too */
    uint64_t exclusive;        /* ticks: own, on the request's thread, of failed runs too */
    uint64_t last_end;         /* ticks: when the newest run ended, of failed runs too */
    struct plumb_live_device_use use;
    struct plumb_live_memory_pair memory;
};
/* The calls of a stage that had one signature. */
struct plumb_live_signature {
    uint32_t node;
    uint32_t next;  /* index + 1 of another one of the node; for the writer */
    uint64_t form;  /* plumb_pack_form(); 0: of all calls whose form did not fit */
    uint32_t shown; /* copy[shown & 1] is whole; 0: neither */
    uint32_t times; /* index + 1 of one of its times; for the writer */
    struct {
        uint64_t off; /* bytes of model/signature_pack.h, of the last call */
        uint32_t room, used;
        uint64_t count;   /* calls */
        uint64_t serial;  /* of the last call, among all of them */
        uint64_t request; /* it was for; serial, 0: none */
        uint32_t dropped, reserved;
    } copy[2];
};

/* The file that PLUMB_CAPTURE made of the inputs of one call. */
struct plumb_live_capture {
    uint32_t shown; /* 1: the rest is set, and the file has its name */
    uint32_t node;
    int64_t step; /* -1: a whole call was wanted */
    uint64_t bytes, missing;
    char file[128];
};

struct plumb_live_section {
    uint64_t request; /* serial of the request that it belongs to; 0 while that changes */
    uint32_t stages, metadata_bytes;
    char metadata[PLUMB_LIVE_METADATA]; /* key NUL value NUL ... */
    struct plumb_live_section_stage stage[PLUMB_LIVE_SECTION_STAGES];
    /* Inputs and outputs of its stages: the first `signatures`, one for each node and form. */
    uint32_t signatures, reserved;
    uint64_t signatures_lost; /* calls of further forms */
    struct plumb_live_signature signature[PLUMB_LIVE_SECTION_SIGNATURES];
};

enum { PLUMB_LIVE_ID = 104, PLUMB_LIVE_WHY = 120, PLUMB_LIVE_TRACEPARENT = 64 };
struct plumb_live_request {
    uint64_t serial;                       /* 1, 2, ...; place (serial - 1) % PLUMB_LIVE_REQUESTS */
    uint64_t begin_ticks, end_ticks;       /* end 0: open */
    uint64_t begin_unix_ns, begin_mono_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC */
    uint64_t records, stages_ticks;
    uint32_t tid, failed;
    uint32_t scope, reserved; /* of memory, while it is open */
    /* Stages on its thread: their own times, and the gaps between them. */
    uint64_t exclusive_ticks;
    uint64_t last_end_ticks, last_key;         /* of the one that ended last; key + 1 */
    uint64_t gap_ticks, gap_after, gap_before; /* the longest; keys + 1, 0: none */
    char id[PLUMB_LIVE_ID];                    /* cut, NUL-terminated */
    char why[PLUMB_LIVE_WHY];
    /* As the metadata had it, cut: a valid one has 55 characters, or begins with them. */
    char traceparent[PLUMB_LIVE_TRACEPARENT];
    struct plumb_live_memory_pair memory;
};

/* Times of the calls of one key that had one signature, without those that skip_first_n has taken
 * from the key's statistics. Written after the call itself: a kill in between leaves a call without
 * times, never times without a call. */
struct plumb_live_signature_time {
    uint64_t key;
    uint32_t signature;       /* index in the table of signatures */
    uint32_t next;            /* index + 1 of another one of the signature; for the writer */
    uint32_t shown, reserved; /* copy[shown & 1] is whole; 0: neither */
    struct {
        uint64_t count, total, self;        /* ticks */
        uint64_t device_ns, device_samples; /* that the calls recorded themselves */
        uint64_t device_within_ns;          /* of other nodes, recorded inside the calls */
        uint32_t reset_generation, reserved;
    } copy[2];
};

/* In the header of the mapping. */
struct plumb_live_ledger {
    uint64_t rss, peak_rss; /* of the process: last read, highest of this run */
    uint64_t total;         /* memory of the machine or its control group */
    uint64_t stage_runs, requests, checkpoints_made; /* serials given so far */
    uint64_t signatures, signatures_lost;            /* calls with one; those that did not fit */
    uint32_t peak_exact, reserved;
    struct plumb_live_pool_table {
        uint32_t count, reserved;
        uint64_t off[PLUMB_LIVE_POOLS];
    } pools;
    uint64_t series_off[PLUMB_LIVE_POOLS + 1]; /* the resident set's first */
    uint64_t section_off[PLUMB_LIVE_SECTIONS]; /* of request serial s at (s - 1) % SECTIONS */
    struct plumb_live_capture capture;
};

/* ---- Streams ---------------------------------------------------------------------------------
 * The timing of streams by sequence (plumb/stream.h), written at its events. Times are ns of
 * CLOCK_MONOTONIC_RAW, the clock of the run's anchors: programs may hand times over, and figures
 * need no conversion. Rings keep the newest entries, sums cover all. */
enum {
    PLUMB_LIVE_CHANNELS = 32,       /* names of streams; further ones are one, "(other)" */
    PLUMB_LIVE_STREAM_STAGES = 256, /* stages of all names; those of further names are lost */
    PLUMB_LIVE_STREAMS = 512,       /* newest kept */
    PLUMB_LIVE_STREAM_STEPS = 16,   /* stages of one stream */
    PLUMB_LIVE_STREAM_INPUTS = 8,   /* names of one stage */
    PLUMB_LIVE_STREAM_OPEN = 16,    /* sequences of one stage of one stream that are open at once */
    PLUMB_LIVE_STREAM_CONTROLS = 32, /* of one stream that wait for an output */
    PLUMB_LIVE_STREAM_CHUNKS = 4096, /* newest kept */
    PLUMB_LIVE_STREAM_CAUSES = 16,   /* of one stage; further ones are one, "(other)" */
    PLUMB_LIVE_STREAM_SAMPLES = 1024 /* newest kept of a latency */
};
/* Between two sequences up to here a stage works without a pause. */
#define PLUMB_STREAM_CONTINUOUS_NS UINT64_C(1000000)

struct plumb_live_stream_sum {
    uint32_t shown; /* copy[shown & 1] is whole; 0: neither */
    uint32_t reserved;
    struct plumb_live_stream_figures {
        uint64_t count, total_ns, min_ns, max_ns;
    } copy[2];
};

enum plumb_live_latency_kind {
    PLUMB_LATENCY_FIRST_OUTPUT = 0,
    PLUMB_LATENCY_CONTROL = 1,
    PLUMB_LATENCY_CHUNK_PERIOD = 2,
    PLUMB_LATENCIES = 3
};
struct plumb_live_latency {
    struct plumb_live_stream_sum sum;
    uint64_t sample_ns[PLUMB_LIVE_STREAM_SAMPLES]; /* number n at (n - 1) % SAMPLES */
};

/* Streams of one name. */
struct plumb_live_channel {
    uint64_t name_off;
    uint64_t streams, outputs, controls;
    uint64_t latency_off[PLUMB_LATENCIES]; /* struct plumb_live_latency; 0: no sample */
};

struct plumb_live_stream_cause {
    uint64_t name_off;
    struct plumb_live_stream_sum idle;
};
/* A stage of the streams of one name. */
struct plumb_live_stream_stage {
    uint32_t channel;
    uint32_t inputs, causes; /* released after the entry is written */
    uint32_t reserved;
    uint64_t name_off;
    uint64_t abandoned;
    uint64_t input_off[PLUMB_LIVE_STREAM_INPUTS];
    struct plumb_live_stream_sum waited; /* from inputs ready to admitted */
    struct plumb_live_stream_sum ran;    /* from admitted to completed; its count is that of runs */
    struct plumb_live_stream_cause cause[PLUMB_LIVE_STREAM_CAUSES];
};

/* A sequence at a stage. */
struct plumb_live_chunk {
    uint64_t serial; /* 1, 2, ...; place (serial - 1) % PLUMB_LIVE_STREAM_CHUNKS */
    uint64_t stream; /* serial */
    uint64_t sequence;
    uint32_t stage; /* index in the table of stages */
    uint32_t abandoned;
    uint64_t ready_ns, admitted_ns, completed_ns; /* 0: not yet */
    /* The idle time of the stage before it: [0] of the inputs from idle_from_ns, [1] of the
     * admission from idle_split_ns to admitted_ns. No cause: no such part. */
    uint64_t idle_from_ns, idle_split_ns;
    uint64_t cause_off[2];
    uint64_t input_ns[PLUMB_LIVE_STREAM_INPUTS]; /* 0: has not come */
};

struct plumb_live_stream {
    uint64_t serial;           /* 1, 2, ...; place (serial - 1) % PLUMB_LIVE_STREAMS */
    uint64_t request;          /* serial; 0: none */
    uint64_t begin_ns, end_ns; /* end 0: open */
    uint64_t first_output_ns, last_output_ns;
    uint64_t outputs;
    uint32_t channel;
    uint32_t steps;
    struct plumb_live_stream_step {
        uint32_t stage;         /* index in the table of stages */
        uint32_t in_flight;     /* admitted, and neither completed nor abandoned */
        uint64_t idle_since_ns; /* 0: it is not idle */
        struct {
            uint64_t chunk; /* serial; 0: the place is free */
            uint64_t sequence, ready_ns, admitted_ns;
        } open[PLUMB_LIVE_STREAM_OPEN];
    } step[PLUMB_LIVE_STREAM_STEPS];
    struct {
        uint64_t sequence, at_ns; /* 0: the place is free */
    } control[PLUMB_LIVE_STREAM_CONTROLS];
};

/* In the header of the mapping. */
struct plumb_live_streams {
    uint64_t streams, chunks; /* serials given so far */
    uint64_t lost;  /* events beyond a bound: of streams, stages or inputs that are not kept */
    uint64_t stale; /* events that do not fit: completed before admitted, admitted twice */
};

#endif
