/* carve.h: the mapping of a run, and what is made in it: storage, tables, texts. */
#ifndef PLUMB_RECORD_RUNTIME_CARVE_H
#define PLUMB_RECORD_RUNTIME_CARVE_H

#include "record/runtime/enter.h"

/* ---- carve.c: under the lock ----------------------------------------------------------------- */

uint64_t plumb_carve(struct plumb_run *run, size_t bytes); /* 64-aligned, zeroed; 0: full */
uint64_t plumb_carve_left(const struct plumb_run *run);    /* bytes that it can still give */
struct plumb_queue_want {
    uint32_t slot_bytes;
    uint32_t least, most; /* slots; powers of two */
    uint32_t part;        /* at most one part in so many of what the share has left */
};
/* Carves a queue of the trace from the share of the mapping that traces may take, so that they
 * never take the statistics' room: the most slots that fit. Returns 0 when the share is used up. */
uint64_t plumb_carve_queue(struct plumb_run *run, const struct plumb_queue_want *want,
                           uint64_t *slots);
uint64_t plumb_carve_text(struct plumb_run *run, const char *text);        /* interned; 0: full */
uint64_t plumb_carved_text(const struct plumb_run *run, const char *text); /* 0: not there */

/* Makes element `i` (== count) of a table; NULL: full. The caller fills it, then commits. */
void *plumb_table_add(struct plumb_run *run, struct plumb_live_table *t);
void plumb_table_commit(struct plumb_live_table *t);
/* Whether that would carve nothing, and so needs no lock but that of the table's writers. */
static inline bool plumb_table_has_room(const struct plumb_live_table *t)
{
    uint32_t at, chunk = plumb_table_chunk(t->count, &at);
    return chunk < PLUMB_TABLE_CHUNKS && t->chunk_off[chunk] != 0;
}
static inline void *plumb_table_at(struct plumb_run *run, const struct plumb_live_table *t,
                                   uint32_t i)
{
    return run->base + plumb_table_off(t, i);
}
static inline struct plumb_live_pipeline *plumb_pipeline_of_group(struct plumb_run *run,
                                                                  uint32_t group)
{
    uint32_t i = group >> 8;
    /* One that the mapping had no room for follows the first, which is always there. */
    return plumb_table_at(run, &run->h->pipelines,
                          i < PLUMB_ACQUIRE(run->h->pipelines.count) ? i : 0);
}

void plumb_run_note(struct plumb_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* EFBIG when the process may not have a file of that size, else 0. Trying would be SIGXFSZ. */
int plumb_file_limit(size_t want);
/* Returns whether the run's directory still has this very file. */
bool plumb_file_in_place(const struct plumb_run *run);
/* Opens the mapping: in `dir`/live.plumb, or in memory when dir is NULL. */
int plumb_mapping_open(struct plumb_run *run, const char *dir, size_t bytes, plumb_error *err);
/* Lets go of the file; the mapping stays. */
void plumb_file_done(struct plumb_run *run, bool keep_file);
void plumb_mapping_close(struct plumb_run *run);
void plumb_carve_grow(void);                  /* PLUMB_JOB_GROW */
void plumb_carve_note(struct plumb_run *run); /* tells the run that it stopped growing, once */

/* ---- text.c ---------------------------------------------------------------------------------- */

/* Under the lock. Texts that the program may make up without end: names, "(other)" and
 * counted beyond their part of the mapping; and reasons, of which old ones give way, so that a
 * reference to them is only for readers that ask plumb_text_off(). 0: full. */
uint64_t plumb_text_name(struct plumb_run *run, const char *name);
uint64_t plumb_text_why(struct plumb_run *run, const char *why);
void plumb_text_fini(struct plumb_run *run);
/* The first, by the calling thread, which is inside `in` and does not have the lock. */
uint64_t plumb_thread_name(struct plumb_in in, const char *name);

#endif
