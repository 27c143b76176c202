/* export.h: a trace in the formats of other tools. Each format is one entry of a table.
 * docs/export.md describes what each holds, and how it spells plumb's terms.
 *
 * Any thread, one export at a time. Memory: the buffers of out.h, and what a format needs for a row
 * of names and tracks. */
#ifndef PLUMB_REPORT_EXPORT_EXPORT_H
#define PLUMB_REPORT_EXPORT_EXPORT_H

#include "read/trace/table.h"
#include "report/export/out.h"

struct plumb_export_format {
    const char *name;
    const char *suffix; /* of a file's default name */
    const char *what;   /* one line */
    /* NULL: the format is the trace's own, and the file is copied. Returns 0 or an error. Write
     * errors stay in `out`, where the caller finds them. */
    int (*write)(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                 plumb_error *err);
    /* For a format of several files: `path` is a folder that does not exist yet. */
    int (*write_folder)(const char *path, const struct plumb_table *t,
                        const struct plumb_export_progress *progress, plumb_error *err);
};

/* The table; NULL beyond the last. */
const struct plumb_export_format *plumb_export_format_at(size_t i);
/* NULL: no format has this name. */
const struct plumb_export_format *plumb_export_find(const char *name);

/* Writes "<host>_<pid>_rank<R>.<unix_ns>" and the format's suffix, a name that no two processes
 * share. Parts that the file does not say are left out ("trace" for the host). */
enum { PLUMB_EXPORT_NAME_MAX = 256 };
void plumb_export_name(char out[PLUMB_EXPORT_NAME_MAX], const struct plumb_table *t,
                       const struct plumb_export_format *format);

int plumb_export_chrome(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                        plumb_error *err);
int plumb_export_folded(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                        plumb_error *err);
int plumb_export_speedscope(struct plumb_export_out *out, const struct plumb_table *t,
                            const char *name, plumb_error *err);
int plumb_export_csv(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                     plumb_error *err);
int plumb_export_otf2(const char *path, const struct plumb_table *t,
                      const struct plumb_export_progress *progress, plumb_error *err);

/* The value of a fact that is a text; "": the trace does not have it. */
const char *plumb_export_fact_text(const struct plumb_table *t, const char *key);

#endif
