/* store_rows.c: adds, selects and removes the records of a store (store.h). Every value is bound:
 * none becomes a part of a statement. */
#include "read/history/store_parts.h"

#include "base/buf.h"
#include "base/error.h"

#if defined(PLUMB_HISTORY)

#include <math.h>
#include <stdio.h>
#include <time.h>

/* ---- Adding ---------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *q, const char *name, const char *text)
{
    int at = sqlite3_bind_parameter_index(q, name);
    if (at > 0 && text)
        sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_whole(sqlite3_stmt *q, const char *name, int64_t value)
{
    int at = sqlite3_bind_parameter_index(q, name);
    if (at > 0)
        sqlite3_bind_int64(q, at, value);
}

static void bind_real(sqlite3_stmt *q, const char *name, double value)
{
    int at = sqlite3_bind_parameter_index(q, name);
    if (at > 0 && !isnan(value)) /* NaN: NULL */
        sqlite3_bind_double(q, at, value);
}

static int prepare(struct plumb_store *s, sqlite3_stmt **q, const char *sql, const char *doing,
                   plumb_error *err)
{
    int rc = sqlite3_prepare_v2(s->db, sql, -1, q, NULL);
    return rc == SQLITE_OK ? PLUMB_OK : plumb_store_error(s, rc, doing, err);
}

/* Runs a statement that returns no rows, and ends it. */
static int finish(struct plumb_store *s, sqlite3_stmt *q, const char *doing, plumb_error *err)
{
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? PLUMB_OK : plumb_store_error(s, rc, doing, err);
}

/* Looks for the record of the digest; `*id` 0: there is none. */
static int find_digest(struct plumb_store *s, const char *digest, int64_t *id, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(s, &q, "SELECT id FROM record WHERE digest = :digest", "read", err);
    if (rc < 0)
        return rc;
    bind_text(q, ":digest", digest);
    rc = sqlite3_step(q);
    *id = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? PLUMB_OK : plumb_store_error(s, rc, "read", err);
}

static int make_eligible(struct plumb_store *s, int64_t id, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc =
        prepare(s, &q, "UPDATE record SET eligible = 1, success = 1 WHERE id = :id", "write", err);
    if (rc < 0)
        return rc;
    bind_whole(q, ":id", id);
    return finish(s, q, "write", err);
}

static void bind_record(sqlite3_stmt *q, const struct plumb_result_item *item)
{
    const plumb_result *r = &item->r;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bind_text(q, ":digest", item->digest);
    bind_whole(q, ":time_ns", (int64_t)r->time_ns);
    bind_whole(q, ":added_ns", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    bind_text(q, ":workload", r->cohort.workload);
    bind_text(q, ":variant", r->cohort.variant);
    bind_text(q, ":version", r->cohort.version);
    bind_text(q, ":recipe", r->cohort.recipe);
    bind_text(q, ":hardware", r->cohort.hardware);
    bind_text(q, ":software", r->cohort.software);
    bind_text(q, ":label", r->label);
    bind_text(q, ":device", r->device);
    bind_text(q, ":commit", r->commit);
    bind_text(q, ":branch", r->branch);
    bind_text(q, ":pr", r->pr);
    bind_text(q, ":run_source", r->run_source);
    bind_text(q, ":source", r->source);
    bind_text(q, ":reason", r->reason);
    bind_text(q, ":environment", item->environment);
    bind_text(q, ":extra", item->extra);
    bind_whole(q, ":success", r->success);
    bind_whole(q, ":eligible", r->eligible);
    bind_whole(q, ":status", r->status);
    bind_whole(q, ":baseline", r->baseline);
}

static int add_record(struct plumb_store *s, struct plumb_result_item *item, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(
        s, &q,
        "INSERT INTO record(digest, time_ns, added_ns, workload, variant, version, recipe, "
        "hardware,"
        " software, label, device, commit_id, branch, pr, run_source, source, reason, environment,"
        " extra, success, eligible, status, baseline)"
        " VALUES(:digest, :time_ns, :added_ns, :workload, :variant, :version, :recipe, :hardware,"
        " :software, :label, :device, :commit, :branch, :pr, :run_source, :source, :reason,"
        " :environment, :extra, :success, :eligible, :status, :baseline)",
        "write", err);
    if (rc < 0)
        return rc;
    bind_record(q, item);
    if ((rc = finish(s, q, "write", err)) == PLUMB_OK)
        item->r.id = sqlite3_last_insert_rowid(s->db);
    return rc;
}

static int add_metrics(struct plumb_store *s, const plumb_result *r, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(s, &q,
                     "INSERT INTO metric VALUES(:record, :place, :name, :unit, :value, :higher,"
                     " :gated, :relative, :absolute)",
                     "write", err);
    if (rc < 0)
        return rc;
    int step = SQLITE_DONE;
    for (size_t i = 0; i < r->metric_count && step == SQLITE_DONE; i++) {
        const plumb_metric *m = &r->metrics[i];
        sqlite3_clear_bindings(q);
        bind_whole(q, ":record", r->id);
        bind_whole(q, ":place", (int64_t)i);
        bind_text(q, ":name", m->name);
        bind_text(q, ":unit", m->unit);
        bind_real(q, ":value", m->value);
        bind_whole(q, ":higher", m->higher_is_better);
        bind_whole(q, ":gated", m->gated);
        bind_real(q, ":relative", m->floor_relative);
        bind_real(q, ":absolute", m->floor_absolute);
        step = sqlite3_step(q);
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return step == SQLITE_DONE ? PLUMB_OK : plumb_store_error(s, step, "write", err);
}

int plumb_store_add(struct plumb_store *s, struct plumb_result_item *item, bool *known,
                    plumb_error *err)
{
    int64_t id;
    int rc = find_digest(s, item->digest, &id, err);
    if (rc < 0)
        return rc;
    *known = id != 0;
    if (*known) {
        item->r.id = id;
        return item->r.eligible ? make_eligible(s, id, err) : PLUMB_OK;
    }
    rc = add_record(s, item, err);
    return rc < 0 ? rc : add_metrics(s, &item->r, err);
}

/* ---- Selecting ------------------------------------------------------------------------------- */

static const char *text_at(struct plumb_result_list *l, sqlite3_stmt *q, int column)
{
    return plumb_arena_strdup(&l->arena, (const char *)sqlite3_column_text(q, column));
}

enum { COLUMNS = 23 };
static const char columns[] =
    "id, time_ns, workload, variant, version, recipe, hardware, software, label, device, commit_id,"
    " branch, pr, run_source, source, reason, digest, environment, success, eligible, status,"
    " baseline, extra";

static void take_row(struct plumb_result_list *l, struct plumb_result_item *item, sqlite3_stmt *q,
                     bool bare)
{
    plumb_result *r = &item->r;
    r->id = sqlite3_column_int64(q, 0);
    r->time_ns = (uint64_t)sqlite3_column_int64(q, 1);
    r->cohort = (plumb_cohort){text_at(l, q, 2), text_at(l, q, 3), text_at(l, q, 4),
                               text_at(l, q, 5), text_at(l, q, 6), text_at(l, q, 7)};
    r->label = text_at(l, q, 8);
    r->device = text_at(l, q, 9);
    r->commit = text_at(l, q, 10);
    r->branch = text_at(l, q, 11);
    r->pr = text_at(l, q, 12);
    r->run_source = text_at(l, q, 13);
    r->source = text_at(l, q, 14);
    r->reason = text_at(l, q, 15);
    item->digest = text_at(l, q, 16);
    item->environment = text_at(l, q, 17);
    r->success = sqlite3_column_int(q, 18) != 0;
    r->eligible = sqlite3_column_int(q, 19) != 0;
    r->status = (uint32_t)sqlite3_column_int(q, 20);
    r->baseline = (uint32_t)sqlite3_column_int(q, 21);
    item->extra = bare ? NULL : text_at(l, q, 22);
}

/* The conditions that the filter has. A key is compared as a text. Unused conditions are left out,
 * and not true for every row, so that a cohort is found by the index: with a scan of all records
 * for each result, adding 12,000 benchmarks took 75 s. */
static void put_conditions(struct plumb_buf *sql, const struct plumb_store_filter *f)
{
    const struct {
        bool used;
        const char *text;
    } all[] = {
        {f->id != 0, "id = :id"},
        {f->cohort.workload, "workload = :workload"},
        {f->cohort.variant, "variant = :variant"},
        {f->cohort.version, "version = :version"},
        {f->cohort.recipe, "recipe = :recipe"},
        {f->cohort.hardware, "hardware = :hardware"},
        {f->cohort.software, "software = :software"},
        {f->branch, "branch = :branch"},
        {f->run_source, "run_source = :run_source"},
        {f->not_recipe, "recipe IS NOT :not_recipe"},
        {f->until_ns > 0, "time_ns <= :until"},
        {f->eligible, "eligible = 1 AND success = 1"},
        {f->trusted, "(eligible = 1 OR run_source = 'scheduled_main')"},
    };
    plumb_buf_str(sql, " FROM record WHERE time_ns >= :since");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].used)
            plumb_buf_printf(sql, " AND %s", all[i].text);
    plumb_buf_str(sql, " ORDER BY time_ns DESC, id DESC LIMIT :newest");
}

static void bind_filter(sqlite3_stmt *q, const struct plumb_store_filter *f)
{
    bind_whole(q, ":id", f->id);
    bind_text(q, ":workload", f->cohort.workload);
    bind_text(q, ":variant", f->cohort.variant);
    bind_text(q, ":version", f->cohort.version);
    bind_text(q, ":recipe", f->cohort.recipe);
    bind_text(q, ":hardware", f->cohort.hardware);
    bind_text(q, ":software", f->cohort.software);
    bind_text(q, ":not_recipe", f->not_recipe);
    bind_text(q, ":branch", f->branch);
    bind_text(q, ":run_source", f->run_source);
    bind_whole(q, ":since", (int64_t)f->since_ns);
    bind_whole(q, ":until", (int64_t)f->until_ns);
    bind_whole(q, ":newest", f->newest ? (int64_t)f->newest : -1);
}

static int select_records(struct plumb_result_list *out, struct plumb_store *s,
                          const struct plumb_store_filter *f, plumb_error *err)
{
    struct plumb_buf sql = {0};
    sqlite3_stmt *q = NULL;
    plumb_buf_printf(&sql, "SELECT %s", columns);
    put_conditions(&sql, f);
    int rc = sql.failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history")
                        : prepare(s, &q, sql.data, "read", err);
    plumb_buf_fini(&sql);
    if (rc < 0)
        return rc;
    bind_filter(q, f);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct plumb_result_item *item = plumb_result_add(out);
        if (!item)
            break;
        take_row(out, item, q, f->bare);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? PLUMB_OK : plumb_store_error(s, rc, "read", err);
}

static int select_metrics(struct plumb_result_list *l, struct plumb_store *s, sqlite3_stmt *q,
                          struct plumb_result_item *item, plumb_error *err)
{
    int rc;
    sqlite3_reset(q);
    bind_whole(q, ":record", item->r.id);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        bool none = sqlite3_column_type(q, 2) == SQLITE_NULL;
        const char *name = (const char *)sqlite3_column_text(q, 0);
        const char *unit = (const char *)sqlite3_column_text(q, 1);
        if (!name || !unit)
            return plumb_store_error(s, SQLITE_CORRUPT, "read", err);
        plumb_metric *m =
            plumb_result_metric(l, item, name, unit, none ? NAN : sqlite3_column_double(q, 2));
        if (!m)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
        m->higher_is_better = sqlite3_column_int(q, 3) != 0;
        m->gated = sqlite3_column_int(q, 4) != 0;
        m->floor_relative = sqlite3_column_double(q, 5);
        m->floor_absolute = sqlite3_column_double(q, 6);
    }
    return rc == SQLITE_DONE ? PLUMB_OK : plumb_store_error(s, rc, "read", err);
}

int plumb_store_select(struct plumb_result_list *out, struct plumb_store *s,
                       const struct plumb_store_filter *filter, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    size_t first = out->count;
    int rc = select_records(out, s, filter, err);
    if (rc < 0)
        return rc;
    for (size_t a = first, b = out->count; a + 1 < b; a++) { /* the oldest first */
        struct plumb_result_item item = out->items[--b];
        out->items[b] = out->items[a];
        out->items[a] = item;
    }
    if (!filter->bare)
        rc = prepare(s, &q,
                     "SELECT name, unit, value, higher_is_better, gated, floor_relative,"
                     " floor_absolute FROM metric WHERE record = :record ORDER BY place",
                     "read", err);
    for (size_t i = first; q && i < out->count && rc == PLUMB_OK; i++)
        rc = select_metrics(out, s, q, &out->items[i], err);
    sqlite3_finalize(q);
    if (rc == PLUMB_OK && out->arena.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a history");
    return rc;
}

/* ---- Removing -------------------------------------------------------------------------------- */

int plumb_store_remove(struct plumb_store *s, const int64_t *ids, size_t n, plumb_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(s, &q, "DELETE FROM record WHERE id = :id", "write", err);
    int step = SQLITE_DONE;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n && step == SQLITE_DONE; i++) {
        bind_whole(q, ":id", ids[i]);
        step = sqlite3_step(q);
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return step == SQLITE_DONE ? PLUMB_OK : plumb_store_error(s, step, "write", err);
}

int plumb_store_compact(struct plumb_store *s, plumb_error *err)
{
    int rc = sqlite3_exec(s->db, "VACUUM", NULL, NULL, NULL);
    return rc == SQLITE_OK ? PLUMB_OK : plumb_store_error(s, rc, "write", err);
}

#endif
