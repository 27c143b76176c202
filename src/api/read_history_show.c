/* read_history_show.c: histories as tables, records and plots. */
#include <string.h>

#include "analyze/history/judge.h"
#include "api/read_history.h"
#include "api/take.h"
#include "base/error.h"
#include "report/history/plot.h"
#include "report/history/results.h"

static int select_by(struct plumb_result_list *out, struct plumb_history *h,
                     const plumb_history_filter *filter, const char **metric, plumb_error *err)
{
    plumb_history_filter f = plumb_history_filter_default();
    int rc = plumb_take(&f, sizeof f, filter, err);
    if (rc < 0)
        return rc;
    struct plumb_store_filter by = {.cohort = f.cohort,
                                    .branch = f.branch,
                                    .run_source = f.run_source,
                                    .since_ns = f.since_ns,
                                    .until_ns = f.until_ns,
                                    .newest = f.newest,
                                    .eligible = f.eligible != 0};
    if (metric)
        *metric = f.metric;
    return plumb_store_select(out, h->store, &by, err);
}

/* Ends what a renderer has made: the text, or its error. */
static int give(int rc, struct plumb_buf *text, char **out, plumb_error *err)
{
    if (rc == PLUMB_OK && text->failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    if (rc < 0)
        plumb_buf_fini(text);
    else
        *out = text->data;
    return rc;
}

int plumb_history_list(char **out, plumb_history *history, const plumb_history_filter *filter,
                       const char *format, plumb_error *err)
{
    struct plumb_result_list list;
    struct plumb_buf text = {0};
    plumb_result_list_init(&list);
    int rc = select_by(&list, history, filter, NULL, err);
    plumb_buf_str(&text, "");
    if (rc == PLUMB_OK)
        rc = plumb_history_records(&text, list.items, list.count, format ? format : "text", err);
    plumb_result_list_fini(&list);
    return give(rc, &text, out, err);
}

int plumb_history_show(char **out, plumb_history *history, int64_t id, const char *format,
                       plumb_error *err)
{
    struct plumb_store_filter by = {.id = id};
    struct plumb_baseline_set set;
    struct plumb_result_list list;
    struct plumb_buf text = {0};
    plumb_baseline *b = NULL;
    plumb_result_list_init(&list);
    int rc = id > 0 ? plumb_store_select(&list, history->store, &by, err) : PLUMB_OK;
    if (rc == PLUMB_OK && list.count == 0)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND, "the history has no record %lld", (long long)id);
    const plumb_result *r = rc == PLUMB_OK ? &list.items[0].r : NULL;
    if (r && !(b = plumb_arena_alloc(&list.arena, (r->metric_count + 1) * sizeof *b)))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    bool opened = b != NULL;
    if (opened)
        rc = plumb_baseline_set_read(&set, history->store, &r->cohort, 0, err);
    for (size_t i = 0; b && rc == PLUMB_OK && i < r->metric_count; i++) {
        b[i].size = sizeof *b;
        plumb_baseline_set_get(&b[i], &set, r->metrics[i].name, i);
    }
    if (rc == PLUMB_OK)
        rc = plumb_history_record(&text, &list.items[0], b, format ? format : "text", err);
    if (opened)
        plumb_result_list_fini(&set.records);
    plumb_result_list_fini(&list);
    return give(rc, &text, out, err);
}

int plumb_history_plot(char **out, plumb_history *history, const plumb_history_filter *filter,
                       plumb_error *err)
{
    struct plumb_result_list list;
    struct plumb_buf text = {0};
    const char *metric = NULL;
    plumb_result_list_init(&list);
    int rc = select_by(&list, history, filter, &metric, err);
    if (rc == PLUMB_OK)
        rc = plumb_history_svg(&text, list.items, list.count, metric, err);
    plumb_result_list_fini(&list);
    return give(rc, &text, out, err);
}

int plumb_history_steps(char **out, plumb_history *history, const plumb_history_filter *filter,
                        const char *format, plumb_error *err)
{
    struct plumb_result_list list;
    struct plumb_buf text = {0};
    const char *metric = NULL;
    plumb_result_list_init(&list);
    int rc = select_by(&list, history, filter, &metric, err);
    plumb_buf_str(&text, "");
    if (rc == PLUMB_OK)
        rc = plumb_history_step_table(&text, list.items, list.count, metric,
                                      format ? format : "text", err);
    plumb_result_list_fini(&list);
    return give(rc, &text, out, err);
}
