/* run.h: the life of a run: settings, directory, opening, closing, fork, and what it leaves. */
#ifndef PLUMB_RECORD_RUN_RUN_H
#define PLUMB_RECORD_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/runtime/enter.h"
#include "record/runtime/run_wanted.h"

struct plumb_buf;
struct plumb_rank;

/* dir.c */
/* Makes the directory of a run. PLUMB_ERR_STATE: the one asked for already holds a run. */
int plumb_run_dir_make(char *dir, size_t size, const char *host, int32_t rank, plumb_error *err);
/* Writes a file whole (base/whole_file.h). The second: into the directory of a run. */
int plumb_run_replace(const char *path, const struct plumb_buf *b, plumb_error *err);
int plumb_run_write(const char *dir, const char *name, const struct plumb_buf *b, plumb_error *err);

/* finish.c */
/* Writes the figures, their files and the end block. `kept`: live.plumb must stay, because it holds
 * figures that could not be written. */
int plumb_run_finish(struct plumb_run *run, const struct plumb_anchor *end, bool *kept,
                     plumb_error *err);

/* facts.c */
void plumb_run_describe(struct plumb_run *run, const char *host, const struct plumb_rank *rank);

/* settings.c */
void plumb_runtime_settings(void); /* as the library is loaded */
/* Takes the settings of the struct and the environment; under the lock. `warn`: reports problems of
 * the latter. After a result below 0 nothing has changed. */
int plumb_run_take_settings(const plumb_options *options, bool warn, plumb_error *err);

/* settings_change.c */
/* Changes the settings for the run that a front end is about to open, under life_lock. The next
 * change begins with the settings as they were before. After a result below 0 nothing has
 * changed. */
int plumb_run_change_settings(const char *const *settings, size_t n, plumb_error *err);
/* Under the lock: the program has given settings of its own, to which no change goes back. */
void plumb_run_forget_changes(void);

/* settings.c: makes `next` the settings in force, under the lock. */
void plumb_run_adopt_settings(const struct plumb_settings *next);

/* open.c, close.c: under life_lock; on the helper, where there is one. `early`: perhaps
 * before main(). `asked`: by a front end, which gets the error; no line is printed, and a run that
 * can have no files is not opened. */
int plumb_run_open_now(bool early, bool asked, plumb_error *err);
int plumb_run_stop_now(plumb_error *err);

/* run.c */
int plumb_start_impl(const plumb_options *options, plumb_error *err);
int plumb_stop_impl(plumb_error *err);
int plumb_run_dir_impl(char *out, size_t size, plumb_error *err);
void plumb_run_do_open(void); /* PLUMB_JOB_OPEN */
void plumb_run_do_stop(void); /* PLUMB_JOB_STOP */
void plumb_run_exit(void);    /* stops the run at the end of the process */

#endif
