/* read_history.c: histories and results of the public interface. */
#include <stdlib.h>
#include <string.h>

#include "analyze/history/judge.h"
#include "api/read_figures.h"
#include "api/read_history.h"
#include "api/take.h"
#include "base/error.h"
#include "read/history/take.h"
#include <plumb/read/history.h>

/* ---- Results --------------------------------------------------------------------------------- */

int plumb_results_open(plumb_results **out, const char *path, const plumb_results_options *options,
                       plumb_error *err)
{
    struct plumb_results *r = calloc(1, sizeof *r);
    if (!r)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for results");
    plumb_result_list_init(&r->list);
    int rc = plumb_results_read(r, path, options, err);
    if (rc == PLUMB_OK) {
        *out = r;
        r = NULL;
    }
    plumb_results_close(r);
    return rc;
}

int plumb_results_read(plumb_results *results, const char *path,
                       const plumb_results_options *options, plumb_error *err)
{
    plumb_results_options o = plumb_results_options_default();
    size_t before = results->list.count;
    int rc = plumb_take(&o, sizeof o, options, err);
    if (rc == PLUMB_OK &&
        (rc = plumb_results_take(&results->list, path, &o, plumb_figures_of_run, err)) < 0)
        results->list.count = before;
    return rc;
}

void plumb_results_close(plumb_results *results)
{
    if (!results)
        return;
    plumb_result_list_fini(&results->list);
    free(results);
}

size_t plumb_results_count(const plumb_results *results)
{
    return results->list.count;
}

const plumb_result *plumb_results_get(const plumb_results *results, size_t i)
{
    return i < results->list.count ? &results->list.items[i].r : NULL;
}

const char *plumb_results_raw(const plumb_results *results, size_t i)
{
    return i < results->list.count ? results->list.items[i].raw : NULL;
}

const char *plumb_results_remarks(const plumb_results *results)
{
    return results->list.remarks.data ? results->list.remarks.data : "";
}

/* ---- The history ----------------------------------------------------------------------------- */

int plumb_history_open(plumb_history **out, const char *path, const plumb_history_options *options,
                       plumb_error *err)
{
    enum { WAIT_MS = 10000, WAIT_MOST_MS = 3600000 };
    plumb_history_options o = plumb_history_options_default();
    struct plumb_history *h = calloc(1, sizeof *h);
    int rc;
    if (!h)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    if ((rc = plumb_take(&o, sizeof o, options, err)) == PLUMB_OK) {
        uint32_t wait = o.wait_ms ? o.wait_ms : WAIT_MS;
        rc = plumb_store_open(&h->store, path ? path : PLUMB_HISTORY_PATH, o.write != 0,
                              wait < WAIT_MOST_MS ? wait : WAIT_MOST_MS, err);
    }
    if (rc == PLUMB_OK) {
        *out = h;
        h = NULL;
    }
    plumb_history_close(h);
    return rc;
}

void plumb_history_close(plumb_history *history)
{
    if (!history)
        return;
    plumb_store_close(history->store);
    free(history);
}

int plumb_baseline_set_read(struct plumb_baseline_set *out, struct plumb_store *store,
                            const plumb_cohort *cohort, uint64_t until_ns, plumb_error *err)
{
    struct plumb_store_filter f = {.cohort = *cohort,
                                   .eligible = true,
                                   .newest = PLUMB_BASELINE_RECORDS,
                                   .until_ns = until_ns};
    bool other = false;
    int rc = PLUMB_OK;
    plumb_result_list_init(&out->records);
    out->state = PLUMB_BASELINE_MISSING_IDENTITY;
    if (plumb_cohort_missing(cohort))
        return rc;
    rc = plumb_store_select(&out->records, store, &f, err);
    if (rc == PLUMB_OK && out->records.count == 0)
        rc = plumb_history_other_recipe(&other, store, cohort, until_ns, err);
    out->state = other                    ? PLUMB_BASELINE_RECIPE_MISMATCH
                 : out->records.count > 0 ? PLUMB_BASELINE_FOUND
                                          : PLUMB_BASELINE_NEW_COHORT;
    return rc;
}

void plumb_baseline_set_get(plumb_baseline *out, const struct plumb_baseline_set *set,
                            const char *metric, size_t place)
{
    plumb_baseline_of(out, set->records.items, set->records.count, metric, place);
    out->state = set->state;
    if (set->state == PLUMB_BASELINE_MISSING_IDENTITY)
        out->status = PLUMB_HISTORY_INFRA_ERROR;
    if (set->state == PLUMB_BASELINE_RECIPE_MISMATCH)
        out->status = PLUMB_HISTORY_RECIPE_MISMATCH;
}

int plumb_history_baseline(plumb_baseline *out, plumb_history *history, const plumb_cohort *cohort,
                           const char *metric, uint64_t until_ns, plumb_error *err)
{
    plumb_baseline b = {.size = out->size < sizeof b ? out->size : sizeof b};
    struct plumb_baseline_set set;
    int rc = plumb_baseline_set_read(&set, history->store, cohort, until_ns, err);
    if (rc == PLUMB_OK) {
        plumb_baseline_set_get(&b, &set, metric, 0);
        memcpy(out, &b, b.size);
    }
    plumb_result_list_fini(&set.records);
    return rc;
}
