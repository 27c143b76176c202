/* carve.h: the mapping of a run, and the objects in it: storage, tables, texts. */
#ifndef PLUMB_RECORD_RUNTIME_CARVE_H
#define PLUMB_RECORD_RUNTIME_CARVE_H

#include "record/runtime/enter.h"

/* ---- carve.c: under the lock ----------------------------------------------------------------- */

uint64_t plumb_carve(struct plumb_run *run, size_t bytes); /* 64-aligned, zeroed; 0: full */
uint64_t plumb_carve_left(const struct plumb_run *run);    /* bytes that it can still give */
struct plumb_queue_want {
    uint32_t slot_bytes;
    uint32_t least, most; /* slots; powers of two */
    uint32_t part;        /* at most one part in so many of the remaining share */
};
/* Carves a queue of the trace, with as many slots as fit, from the share of the mapping that traces
 * may use; the rest is for statistics. Returns 0 when the share is used up. */
uint64_t plumb_carve_queue(struct plumb_run *run, const struct plumb_queue_want *want,
                           uint64_t *slots);
uint64_t plumb_carve_text(struct plumb_run *run, const char *text);        /* interned; 0: full */
uint64_t plumb_carved_text(const struct plumb_run *run, const char *text); /* 0: not there */

/* Makes element `i` (== count) of a table. Returns NULL if the mapping is full. The caller fills
 * it, then commits. */
void *plumb_table_add(struct plumb_run *run, struct plumb_live_table *t);
void plumb_table_commit(struct plumb_live_table *t);
/* Returns whether plumb_table_add() would carve nothing, and so needs only the lock of the table's
 * writers. */
static inline bool plumb_table_has_space(const struct plumb_live_table *t)
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
    /* A pipeline that did not fit into the mapping uses the first, which always exists. */
    return plumb_table_at(run, &run->h->pipelines,
                          i < PLUMB_ACQUIRE(run->h->pipelines.count) ? i : 0);
}

void plumb_run_note(struct plumb_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns EFBIG if the process may not have a file of that size, otherwise 0. Trying would raise
 * SIGXFSZ. */
int plumb_file_limit(size_t want);
/* Returns whether the run's directory still has this very file. */
bool plumb_file_in_place(const struct plumb_run *run);
/* Opens the mapping: in `dir`/live.plumb, or in memory when dir is NULL. */
int plumb_mapping_open(struct plumb_run *run, const char *dir, size_t bytes, plumb_error *err);
/* Closes the file; the mapping stays. */
void plumb_file_done(struct plumb_run *run, bool keep_file);
void plumb_mapping_close(struct plumb_run *run);
void plumb_carve_grow(void);                  /* PLUMB_JOB_GROW */
void plumb_carve_note(struct plumb_run *run); /* notes in the run, once, that it stopped growing */

/* ---- text.c ---------------------------------------------------------------------------------- */

/* Under the lock. Carve texts of which the program may make up an unlimited number. Names that do
 * not fit into their part of the mapping become "(other)", and are counted. New reasons replace old
 * ones, so readers look references to them up with plumb_text_off(). 0: full. */
uint64_t plumb_text_name(struct plumb_run *run, const char *name);
uint64_t plumb_text_why(struct plumb_run *run, const char *why);
void plumb_text_fini(struct plumb_run *run);
/* The first of these, for the calling thread, which is inside `in` without the lock. */
uint64_t plumb_thread_name(struct plumb_in in, const char *name);

#endif
