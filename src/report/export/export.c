/* export.c: the table of formats, and names of files. */
#include "report/export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/sanitize.h"

static const struct plumb_export_format formats[] = {
    {"chrome", ".pt.trace.json.gz",
     "Chrome trace events as Kineto spells them: Perfetto, TensorBoard, HTA, DevTools",
     plumb_export_chrome, NULL},
    {"perfetto", ".pftrace", "the trace itself, Perfetto's protobuf", NULL, NULL},
    {"folded", ".folded", "stacks and their own nanoseconds: flamegraph.pl, inferno, speedscope",
     plumb_export_folded, NULL},
    {"speedscope", ".speedscope.json", "a timeline of each thread for speedscope",
     plumb_export_speedscope, NULL},
    {"csv", ".csv", "a line for each span, instant and value of a counter", plumb_export_csv, NULL},
#if defined(PLUMB_OTF2)
    {"otf2", ".otf2", "an OTF2 archive, a folder: Vampir, otf2-print", NULL, plumb_export_otf2},
#endif
};

const struct plumb_export_format *plumb_export_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

const struct plumb_export_format *plumb_export_find(const char *name)
{
    const struct plumb_export_format *f;
    for (size_t i = 0; (f = plumb_export_format_at(i)) != NULL; i++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

const char *plumb_export_fact_text(const struct plumb_table *t, const char *key)
{
    const struct plumb_table_fact *fact = plumb_table_fact(t, key);
    return fact && fact->type == PLUMB_ARG_TEXT ? plumb_table_text(t, (uint32_t)fact->value.u64)
                                                : "";
}

/* The first process of the trace. */
static int64_t pid_of(const struct plumb_table *t)
{
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].has_pid)
            return t->tracks[i].pid;
    return 0;
}

void plumb_export_name(char out[PLUMB_EXPORT_NAME_MAX], const struct plumb_table *t,
                       const struct plumb_export_format *format)
{
    char host[PLUMB_SAFE_NAME_MAX + 1], rank[32] = "";
    const char *told = plumb_export_fact_text(t, "plumb.host");
    int32_t number = plumb_table_rank(t).rank;
    plumb_sanitize(host, *told ? told : "trace");
    /* Without a launcher a run is the only one, and so the first. */
    if (t->plumb || number >= 0)
        snprintf(rank, sizeof rank, "_rank%" PRId32, number < 0 ? 0 : number);
    snprintf(out, PLUMB_EXPORT_NAME_MAX, "%s_%" PRId64 "%s.%" PRIu64 "%s", host, pid_of(t), rank,
             t->unix_ns, format->suffix);
}
