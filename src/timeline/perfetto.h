/* perfetto.h: events of a trace become packets of a Perfetto file.
 *
 * The form of plumb's terms in it (readers may rely on it):
 *   threads      a track each, with pid, tid and name; spans are slices, named by their node
 *   phase        category of the slice; none: `inference`
 *   step         argument `step`, where it differs from that of the span around
 *   pipeline     argument `pipeline`, where it differs from that of the span around, which at the
 *                top is the run's own
 *   failures     argument `failed` (the reason); `abandoned` (the reason, or true)
 *   ends         argument `unbalanced`: true when an outer end or the thread's end closed it;
 *                `cut`: true when its end is not in the trace, so that it lasted to here at least.
 *                A span that was open when the run ended has a begin and no end
 *   async spans  slices on tracks "async 1", "async 2", ... of the process, without overlap
 *   instants     by their name
 *   counters     a counter track of the process each, by its name
 *   flows        an instant `plumb.capture` begins one; the first span after the adoption has it
 *   losses       an instant `plumb.dropped` where they happened, arguments `spans` and one by the
 *                name of each node: spans that ended there and whose end is missing; more instants
 *                follow where more than 14 nodes had some, and only the first has `spans`
 *   clock        an instant `plumb.clock_jumped`, argument `back_ns`: times after it are held at
 *                the latest before it until the clock has caught up
 *   facts        trace attributes `plumb.*`
 *
 * Memory: a track is some 14 KB; texts are never copied. Threads: none of its own. */
#ifndef PLUMB_TIMELINE_PERFETTO_H
#define PLUMB_TIMELINE_PERFETTO_H

#include "base/map.h"
#include "codec/perfetto.h"
#include "live/trace_blocks.h"
#include "live/view.h"
#include "timeline/plain.h"

enum {
    PLUMB_TRACE_NAME_IDS = 1 << 14, /* names that are interned */
    PLUMB_TRACE_KEY_IDS = 1024,
    PLUMB_TRACE_TEXTS = 1 << 12, /* names and keys other than those of nodes, interned once */
    PLUMB_TRACE_LEVELS = 128,    /* async spans open at once that are shown */
    PLUMB_TRACE_BUFFER = 256 * 1024
};

/* One file. */
struct plumb_trace_file {
    struct plumb_live_view source;
    struct plumb_pf_out out; /* buffer of the caller, at least PLUMB_PF_PACKET_MAX bytes */
    /* Takes bytes; false: it failed, and sets `failed`: nothing is written any more. */
    bool (*write)(void *arg, const unsigned char *bytes, size_t n);
    void *arg;
    uint64_t bytes; /* taken by write(), those before it began included: the caller's to set then */
    bool failed;
    bool continues; /* the file continues that of a killed process; tracks get uuids of their own */
    struct plumb_trace_clock clock;
    plumb_trace_plain_fn *plain; /* plumb_trace_plain(); tests put another in its place */
    struct plumb_pf_anchor zero;
    uint64_t seed, process_track;
    struct plumb_pf_texts texts;
    char why[PLUMB_WHY_BYTES]; /* of the event that is being written */
    struct plumb_map text_ids; /* text offset -> id of its own + 1 */
    uint64_t *text_offs;       /* [PLUMB_TRACE_TEXTS] */
    uint32_t text_count;
    struct plumb_map tracks;                 /* of counters and devices: in the file */
    uint64_t level_ends[PLUMB_TRACE_LEVELS]; /* ns */
    uint32_t levels;
    uint64_t spans;      /* written whole */
    uint64_t async_lost; /* too many at once */
    /* Sequences of collectors' lanes that lost events in this file alone; each once. */
    uint32_t lane_losses[PLUMB_LIVE_LANES], lane_loss_count;
};

/* One thread block. The fields that each slot needs come first, on one page: a pass over many
 * threads touches one page for each. */
struct plumb_thread_track {
    struct plumb_trace_file *file;
    struct plumb_live_thread *live;
    struct plumb_live_queue *queue;
    struct plumb_trace_slot *slots; /* of the queue; NULL: none that lie in the mapping */
    uint64_t mask;                  /* of their number */
    uint64_t from_ticks;            /* what was before is not in the trace; 0: all is */
    uintptr_t ahead;                /* from the slot that is being read to the next; 0: none */
    struct plumb_pf_run run;
    bool running;   /* `run` is open */
    bool touched;   /* since the last commit */
    bool current;   /* which of the queue's states is the committed one */
    uint32_t index; /* among the tracks of one reading */
    uint64_t track; /* of the thread */
    uint64_t spans;
    struct plumb_pf_sequence seq;
    uint64_t bits[(PLUMB_TRACE_NAME_IDS + 256 + PLUMB_TRACE_KEY_IDS) / 64];
    struct plumb_trace_state state;
};

/* Plain data except the maps; the caller sets `source`, `out`, `write` and `arg`, and zeroes the
 * rest before. PLUMB_ERR_MEMORY. */
int plumb_trace_file_open(struct plumb_trace_file *f);
void plumb_trace_file_fini(struct plumb_trace_file *f);
/* Head and facts, once, at the begin of the file. */
void plumb_trace_file_head(struct plumb_trace_file *f);
void plumb_trace_file_fact(struct plumb_trace_file *f, const char *key, const char *text);
void plumb_trace_file_fact_u64(struct plumb_trace_file *f, const char *key, uint64_t value);
/* Writes at the end what makes readers of the file show that some of it is missing. Nothing where
 * all is there. */
void plumb_trace_file_losses(struct plumb_trace_file *f);
/* Hands what is in the buffer to write(). */
void plumb_trace_file_flush(struct plumb_trace_file *f);
uint64_t plumb_trace_file_ns(const struct plumb_trace_file *f, uint64_t ticks);

/* `sequence`: its number in the file, from 2; `opened`: the file has packets of it already, the
 * last at `state.last_ns`. */
void plumb_thread_track_open(struct plumb_thread_track *l, struct plumb_trace_file *f,
                             uint32_t sequence, bool opened);
/* Decodes one slot into packets. */
void plumb_thread_track_slot(struct plumb_thread_track *l, const struct plumb_trace_filter *filter,
                             const struct plumb_trace_slot *slot);
void plumb_thread_track_gap(struct plumb_thread_track *l, const struct plumb_trace_gap *gap);
/* After the process: an async span that was open. */
void plumb_thread_track_open_async(struct plumb_thread_track *l, const struct plumb_trace_async *a);
/* The track of the thread again, in a file or sequence that goes on. */
void plumb_thread_track_again(struct plumb_thread_track *l, const char *name);

#endif
