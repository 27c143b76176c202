/* read_history_add.c: plumb_history_add() and plumb_history_prune(): all that writes. */
#include <stdlib.h>
#include <string.h>

#include "analyze/history/judge.h"
#include "api/read_history.h"
#include "api/take.h"
#include "base/error.h"
#include "report/history/results.h"
#include <plumb/read/history.h>

int plumb_history_other_recipe(bool *out, struct plumb_store *store, const plumb_cohort *cohort,
                               uint64_t until_ns, plumb_error *err)
{
    struct plumb_store_filter f = {
        .trusted = true, .bare = true, .newest = 1, .until_ns = until_ns};
    struct plumb_result_list found;
    f.cohort = (plumb_cohort){
        .workload = cohort->workload, .variant = cohort->variant, .version = cohort->version};
    f.not_recipe = cohort->recipe;
    plumb_result_list_init(&found);
    int rc = plumb_store_select(&found, store, &f, err);
    *out = found.count > 0;
    plumb_result_list_fini(&found);
    return rc;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

struct adding {
    struct plumb_history *history;
    struct plumb_results *results;
    plumb_history_add_options options;
    bool breach_known;
    plumb_history_added done;
};

/* The records that the baseline is made of, without the result itself. */
static int select_records(struct plumb_result_list *out, struct adding *a,
                          const struct plumb_result_item *item, plumb_error *err)
{
    struct plumb_store_filter f = {.cohort = item->r.cohort,
                                   .eligible = true,
                                   .newest = PLUMB_BASELINE_RECORDS + 1,
                                   .until_ns = item->r.time_ns};
    size_t kept = 0;
    if (plumb_cohort_missing(&item->r.cohort))
        return PLUMB_OK;
    int rc = plumb_store_select(out, a->history->store, &f, err);
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->items[i].digest, item->digest) != 0)
            out->items[kept++] = out->items[i];
    out->count = kept;
    if (kept > PLUMB_BASELINE_RECORDS) {
        out->items += kept - PLUMB_BASELINE_RECORDS;
        out->count = PLUMB_BASELINE_RECORDS;
    }
    return rc;
}

static void keep_baselines(struct adding *a, size_t at, const struct plumb_result_list *records)
{
    struct plumb_results *r = a->results;
    const plumb_result *result = &r->list.items[at].r;
    plumb_baseline *b = plumb_arena_alloc(&r->list.arena, (result->metric_count + 1) * sizeof *b);
    for (size_t i = 0; b && i < result->metric_count; i++) {
        b[i].size = sizeof *b;
        plumb_baseline_of(&b[i], records->items, records->count, result->metrics[i].name, i);
    }
    r->baselines[at] = b;
}

static int compare(struct adding *a, size_t at, plumb_error *err)
{
    struct plumb_result_item *item = &a->results->list.items[at];
    struct plumb_judge_input in = {
        .item = item, .failed = a->options.failed != 0, .breach_known = a->breach_known};
    struct plumb_result_list records;
    struct plumb_buf reason = {0};
    plumb_result_list_init(&records);
    int rc = select_records(&records, a, item, err);
    if (rc == PLUMB_OK && records.count == 0 && !plumb_cohort_missing(&item->r.cohort))
        rc = plumb_history_other_recipe(&in.other_recipe, a->history->store, &item->r.cohort,
                                        item->r.time_ns, err);
    if (rc == PLUMB_OK) {
        in.records = records.items;
        in.count = records.count;
        item->r.status = plumb_judge(&in, &item->r.baseline, &reason);
        keep_baselines(a, at, &records);
        item->r.reason = plumb_arena_strdup(&a->results->list.arena, reason.data);
    }
    a->results->list.arena.failed |= reason.failed;
    plumb_buf_fini(&reason);
    plumb_result_list_fini(&records);
    return rc;
}

/* Whether the result counts for baselines, and as successful. */
static void settle(struct adding *a, plumb_result *r)
{
    bool measured = r->status != PLUMB_HISTORY_INFRA_ERROR;
    switch (a->options.counts) {
    case PLUMB_HISTORY_COUNTS:
        r->eligible = measured && r->success;
        break;
    case PLUMB_HISTORY_COUNTS_NOT:
        r->eligible = 0;
        break;
    default:
        if (r->status != PLUMB_HISTORY_NOT_COMPARED)
            r->eligible = r->status == PLUMB_HISTORY_PASS && r->success &&
                          strcmp(r->run_source, "scheduled_main") == 0;
    }
    /* A regression that the user takes as the new baseline is a success. */
    if (!measured || (r->status == PLUMB_HISTORY_REGRESSION && !r->eligible))
        r->success = 0;
}

static int add_one(struct adding *a, size_t at, plumb_error *err)
{
    struct plumb_result_item *item = &a->results->list.items[at];
    bool known = false;
    int rc = PLUMB_OK;
    bool wanted = !a->options.no_compare && !item->history;
    if (wanted && (rc = compare(a, at, err)) < 0)
        return rc;
    settle(a, &item->r);
    a->done.exit =
        (uint32_t)plumb_history_worse_exit((int)a->done.exit, plumb_history_exit(item->r.status));
    if (a->options.dry)
        return PLUMB_OK;
    rc = plumb_store_add(a->history->store, item, &known, err);
    a->done.known += known;
    a->done.added += !known;
    return rc;
}

int plumb_history_add(plumb_history_added *out, plumb_history *history, plumb_results *results,
                      const plumb_history_add_options *options, plumb_error *err)
{
    struct adding a = {.history = history,
                       .results = results,
                       .options = plumb_history_add_options_default(),
                       .done = {.size = out->size < sizeof a.done ? out->size : sizeof a.done}};
    struct plumb_result_list *list = &results->list;
    int rc = plumb_take(&a.options, sizeof a.options, options, err);
    if (rc < 0)
        return rc;
    results->baselines = plumb_arena_alloc(&list->arena, (list->count + 1) * sizeof(void *));
    if (!results->baselines)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    for (size_t i = 0; i < list->count; i++)
        a.breach_known |= list->items[i].breached;
    if (!a.options.dry && (rc = plumb_store_begin(history->store, err)) < 0)
        return rc;
    for (size_t i = 0; i < list->count && rc == PLUMB_OK; i++)
        rc = add_one(&a, i, err);
    if (rc == PLUMB_OK && list->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    if (!a.options.dry) {
        int ended = plumb_store_end(history->store, rc == PLUMB_OK, err);
        rc = rc < 0 ? rc : ended;
    }
    if (rc == PLUMB_OK)
        memcpy(out, &a.done, a.done.size);
    return rc;
}

int plumb_results_render(char **out, const plumb_results *results, const char *format,
                         plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = plumb_history_results(&text, results->list.items, results->list.count,
                                   results->baselines, format ? format : "text", err);
    if (rc == PLUMB_OK && text.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a report");
    if (rc < 0)
        plumb_buf_fini(&text);
    else
        *out = text.data;
    return rc;
}

const char *plumb_history_status_text(uint32_t status)
{
    return plumb_history_status_name(status);
}

/* ---- Removing -------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_cohort(const plumb_cohort *a, const plumb_cohort *b)
{
    return same(a->workload, b->workload) && same(a->variant, b->variant) &&
           same(a->version, b->version) && same(a->recipe, b->recipe) &&
           same(a->hardware, b->hardware) && same(a->software, b->software);
}

/* How many records of its cohort are newer; `eligible`: that count for baselines. */
static uint64_t newer(const struct plumb_result_list *l, size_t at, bool eligible)
{
    uint64_t n = 0;
    for (size_t i = at + 1; i < l->count; i++)
        n += same_cohort(&l->items[i].r.cohort, &l->items[at].r.cohort) &&
             (!eligible || (l->items[i].r.eligible && l->items[i].r.success));
    return n;
}

static bool goes(const struct plumb_result_list *l, size_t at, const plumb_history_prune_options *o)
{
    const plumb_result *r = &l->items[at].r;
    if (o->id != 0 && r->id == o->id)
        return true;
    if (r->eligible && r->success && newer(l, at, true) < PLUMB_BASELINE_RECORDS)
        return false;
    return (o->until_ns > 0 && r->time_ns < o->until_ns) ||
           (o->keep > 0 && newer(l, at, false) >= o->keep);
}

static int remove_records(uint64_t *count, struct plumb_store *store,
                          const plumb_history_prune_options *o, plumb_error *err)
{
    struct plumb_store_filter all = {.bare = true};
    struct plumb_result_list list;
    size_t n = 0;
    bool named = false;
    plumb_result_list_init(&list);
    int rc = plumb_store_select(&list, store, &all, err);
    int64_t *ids = plumb_arena_alloc(&list.arena, (list.count + 1) * sizeof *ids);
    if (rc == PLUMB_OK && !ids)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    for (size_t i = 0; rc == PLUMB_OK && i < list.count; i++) {
        named |= list.items[i].r.id == o->id;
        if (goes(&list, i, o))
            ids[n++] = list.items[i].r.id;
    }
    if (rc == PLUMB_OK && o->id != 0 && !named)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND, "the history has no record %lld",
                        (long long)o->id);
    if (rc == PLUMB_OK)
        rc = plumb_store_remove(store, ids, n, err);
    *count = n;
    plumb_result_list_fini(&list);
    return rc;
}

int plumb_history_prune(uint64_t *out, plumb_history *history,
                        const plumb_history_prune_options *options, plumb_error *err)
{
    plumb_history_prune_options o = {sizeof o, 0, 0, 0};
    uint64_t count = 0;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc < 0 || (rc = plumb_store_begin(history->store, err)) < 0)
        return rc;
    rc = remove_records(&count, history->store, &o, err);
    int ended = plumb_store_end(history->store, rc == PLUMB_OK, err);
    rc = rc < 0 ? rc : ended;
    if (rc == PLUMB_OK && count > 0)
        rc = plumb_store_compact(history->store, err);
    if (rc == PLUMB_OK)
        *out = count;
    return rc;
}
