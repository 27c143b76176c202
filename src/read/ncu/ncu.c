/* ncu.c: the table of kernels from the text of an Nsight Compute report.
 *
 * Until a header is found each line is looked at alone, because lines of the program may hold an
 * odd number of quotes. After it a row may span lines, as names of kernels may. A line after the
 * header that does not begin as the header did, with a quote, is the program's and is skipped. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/strings/strings.h"
#include "read/file/csv.h"
#include "read/file/unpack.h"
#include "read/ncu/ncu.h"

enum { BYTES_MAX = 512 << 20 };

enum form { NONE, LONG, SUMMARY, WIDE };

/* Columns that are not metrics. */
enum column {
    ID,
    PROCESS_ID,
    PROCESS,
    KERNEL,
    BLOCK,
    GRID,
    DEVICE,
    CAPABILITY,
    INVOCATIONS,
    METRIC_NAME,
    METRIC_UNIT,
    METRIC_VALUE,
    AVERAGE,
    COLUMNS
};
static const char *const titles[COLUMNS] = {
    [ID] = "ID",
    [PROCESS_ID] = "Process ID",
    [PROCESS] = "Process Name",
    [KERNEL] = "Kernel Name",
    [BLOCK] = "Block Size",
    [GRID] = "Grid Size",
    [DEVICE] = "Device",
    [CAPABILITY] = "CC",
    [INVOCATIONS] = "Invocations",
    [METRIC_NAME] = "Metric Name",
    [METRIC_UNIT] = "Metric Unit",
    [METRIC_VALUE] = "Metric Value",
    [AVERAGE] = "Average",
};
static const size_t ABSENT = SIZE_MAX;

struct wide_column {
    size_t place;
    struct plumb_ncu_found found;
    const char *unit;
};

struct reader {
    struct plumb_ncu *out;
    struct plumb_csv csv;
    enum form form;
    bool quoted; /* the header is */
    uint64_t table;
    size_t place[COLUMNS];
    struct wide_column *wide;
    size_t wide_count, wide_cap;
    struct plumb_strings launches;        /* those of a long table */
    struct plumb_map kernels;             /* number of a launch -> place in `out` + 1 */
    unsigned (*ranks)[PLUMB_NCU_METRICS]; /* of the names that the metrics were taken from */
    size_t rank_cap;
};

static const char *cell(const struct reader *r, enum column c)
{
    return r->place[c] == ABSENT ? "" : plumb_csv_field(&r->csv, r->place[c]);
}

/* ---- Header ---------------------------------------------------------------------------------- */

static bool add_wide(struct reader *r, size_t place, struct plumb_ncu_found found)
{
    struct wide_column *wide =
        plumb_arena_grow(&r->out->arena, r->wide, &r->wide_cap, r->wide_count + 1, sizeof *wide);
    if (!wide)
        return false;
    r->wide = wide;
    r->wide[r->wide_count++] = (struct wide_column){place, found, ""};
    return true;
}

static enum form form_of(const struct reader *r, bool has_metrics)
{
    if (r->place[KERNEL] == ABSENT)
        return NONE;
    if (r->place[METRIC_NAME] != ABSENT)
        return r->place[METRIC_VALUE] != ABSENT ? LONG
               : r->place[AVERAGE] != ABSENT    ? SUMMARY
                                                : NONE;
    return has_metrics ? WIDE : NONE;
}

/* Whether the row is a header; then it is taken. */
static bool take_header(struct reader *r)
{
    struct reader was = *r;
    bool has_metrics = false;
    for (unsigned c = 0; c < COLUMNS; c++)
        r->place[c] = ABSENT;
    r->wide_count = 0;
    for (size_t i = 0; i < r->csv.count; i++) {
        const char *title = plumb_csv_field(&r->csv, i);
        for (unsigned c = 0; c < COLUMNS; c++)
            if (r->place[c] == ABSENT && strcmp(title, titles[c]) == 0)
                r->place[c] = i;
        has_metrics |= strstr(title, "__") != NULL;
        struct plumb_ncu_found found = plumb_ncu_metric_find(title);
        if (found.metric == PLUMB_NCU_METRICS)
            continue;
        has_metrics = true;
        if (!add_wide(r, i, found))
            return false;
    }
    enum form form = form_of(r, has_metrics);
    if (form == NONE) {
        was.wide = r->wide; /* it may have grown */
        was.wide_cap = r->wide_cap;
        *r = was;
        return false;
    }
    r->form = form;
    r->table++;
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns the number of the row's launch; 0: no memory. Reports can be joined, so the number of the
 * table is a part of its key. */
static uint32_t launch_of(struct reader *r)
{
    char table[24];
    const char *const key[] = {table,          cell(r, PROCESS_ID), cell(r, ID),    cell(r, KERNEL),
                               cell(r, BLOCK), cell(r, GRID),       cell(r, DEVICE)};
    snprintf(table, sizeof table, "%llu", (unsigned long long)r->table);
    return plumb_strings_put_key(&r->launches, key, sizeof key / sizeof *key);
}

static const char *copy(struct reader *r, enum column c)
{
    return plumb_arena_strdup(&r->out->arena, cell(r, c));
}

static uint64_t invocations(const char *text)
{
    uint64_t n = 0;
    for (; ((*text >= '0' && *text <= '9') || *text == ',') && n < UINT64_MAX / 100; text++)
        if (*text != ',')
            n = 10 * n + (uint64_t)(*text - '0');
    return n ? n : 1;
}

static struct plumb_ncu_kernel *add_kernel(struct reader *r)
{
    struct plumb_ncu *out = r->out;
    struct plumb_ncu_kernel *grown =
        plumb_arena_grow(&out->arena, out->kernels, &out->cap, out->count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    out->kernels = grown;
    void *ranks =
        plumb_arena_grow(&out->arena, r->ranks, &r->rank_cap, out->count + 1, sizeof *r->ranks);
    if (!ranks)
        return NULL;
    r->ranks = ranks;
    struct plumb_ncu_kernel *k = &out->kernels[out->count];
    *k = (struct plumb_ncu_kernel){
        .name = copy(r, KERNEL),
        .id = copy(r, ID),
        .process_id = copy(r, PROCESS_ID),
        .process = copy(r, PROCESS),
        .block = copy(r, BLOCK),
        .grid = copy(r, GRID),
        .device = copy(r, DEVICE),
        .capability = copy(r, CAPABILITY),
        .launches = invocations(cell(r, INVOCATIONS)),
    };
    for (unsigned m = 0; m < PLUMB_NCU_METRICS; m++) {
        k->metric[m] = NAN;
        r->ranks[out->count][m] = UINT32_MAX;
    }
    if (out->arena.failed)
        return NULL;
    out->count++;
    return k;
}

/* The kernel of the row. Each wide row is a launch. */
static struct plumb_ncu_kernel *kernel_of(struct reader *r)
{
    if (r->form == WIDE)
        return add_kernel(r);
    uint32_t key = launch_of(r);
    uint64_t at = key ? plumb_map_get(&r->kernels, key) : 0;
    if (at)
        return &r->out->kernels[at - 1];
    struct plumb_ncu_kernel *k = key ? add_kernel(r) : NULL;
    if (k && plumb_map_put(&r->kernels, key, r->out->count) < 0)
        return NULL;
    return k;
}

static void set_metric(struct reader *r, struct plumb_ncu_kernel *k, struct plumb_ncu_found found,
                       const char *text, const char *unit)
{
    unsigned *rank = &r->ranks[k - r->out->kernels][found.metric];
    double value = plumb_ncu_value(found.metric, found.raw, text, unit);
    if (isnan(value) || found.rank >= *rank)
        return;
    k->metric[found.metric] = value;
    *rank = found.rank;
}

static bool take_long(struct reader *r)
{
    struct plumb_ncu_found found = plumb_ncu_metric_find(cell(r, METRIC_NAME));
    struct plumb_ncu_kernel *k = kernel_of(r);
    if (k && found.metric != PLUMB_NCU_METRICS)
        set_metric(r, k, found, cell(r, r->form == LONG ? METRIC_VALUE : AVERAGE),
                   cell(r, METRIC_UNIT));
    return k != NULL;
}

static bool take_units(struct reader *r)
{
    for (size_t i = 0; i < r->wide_count; i++)
        if (!(r->wide[i].unit =
                  plumb_arena_strdup(&r->out->arena, plumb_csv_field(&r->csv, r->wide[i].place))))
            return false;
    return true;
}

static bool take_wide(struct reader *r)
{
    struct plumb_ncu_kernel *k = kernel_of(r);
    for (size_t i = 0; k && i < r->wide_count; i++)
        set_metric(r, k, r->wide[i].found, plumb_csv_field(&r->csv, r->wide[i].place),
                   r->wide[i].unit);
    return k != NULL;
}

/* Returns false when out of memory. */
static bool take_row(struct reader *r)
{
    if (strcmp(cell(r, KERNEL), titles[KERNEL]) == 0)
        return take_header(r) || !r->out->arena.failed;
    if (*cell(r, KERNEL))
        return r->form == WIDE ? take_wide(r) : take_long(r);
    if (r->form == WIDE)
        return take_units(r);
    r->out->skipped++;
    return true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static int find_header(struct reader *r)
{
    int rc;
    while (r->form == NONE) {
        bool quoted = r->csv.at < r->csv.end && *r->csv.at == '"';
        if ((rc = plumb_csv_row(&r->csv, true)) <= 0)
            return rc;
        take_header(r);
        r->quoted = quoted;
        if (r->out->arena.failed)
            return PLUMB_ERR_MEMORY;
    }
    return PLUMB_OK;
}

static int take_rows(struct reader *r)
{
    while (r->csv.at < r->csv.end) {
        if (r->quoted && *r->csv.at != '"') {
            r->out->skipped += *r->csv.at != '\n' && *r->csv.at != '\r';
            plumb_csv_skip_line(&r->csv);
            continue;
        }
        int rc = plumb_csv_row(&r->csv, false);
        if (rc < 0)
            return rc;
        if (!take_row(r))
            return PLUMB_ERR_MEMORY;
    }
    return PLUMB_OK;
}

static bool contains(const char *text, size_t size, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; size >= n && (p = memchr(p, *word, (size_t)(text + size - p)));
         p++) {
        if ((size_t)(text + size - p) < n)
            return false;
        if (memcmp(p, word, n) == 0)
            return true;
    }
    return false;
}

/* Says why there is not a kernel in the report. */
static int nothing(const struct reader *r, const char *text, size_t size, const char *name,
                   plumb_error *err)
{
    if (contains(text, size, "ERR_NVGPUCTRPERM"))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "'%s': ncu may not read the GPU's performance counters "
                          "(ERR_NVGPUCTRPERM): run as root, give a container --cap-add=SYS_ADMIN, "
                          "or load the driver with "
                          "'options nvidia NVreg_RestrictProfilingToAdminUsers=0'",
                          name);
    if (contains(text, size, "No kernels were profiled"))
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s': ncu profiled no kernel: no launch passed the filters; check the "
                          "names of kernel and stage, and the number of launches to skip",
                          name);
    if (memchr(text, '\0', size))
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not text: export it with 'ncu --import %s --csv --page raw'",
                          name, name);
    if (r->form == NONE)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a CSV report of ncu: no line has the columns 'Kernel Name' "
                          "and metrics; export it with 'ncu --import REPORT --csv --page raw'",
                          name);
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' has a table of ncu without a kernel", name);
}

int plumb_ncu_parse(struct plumb_ncu *out, const char *text, size_t size, const char *name,
                    plumb_error *err)
{
    struct plumb_ncu made = {.count = 0};
    struct reader r = {.out = &made, .csv = {.at = text, .end = text + size}};
    static const char mark[] = "\xef\xbb\xbf";
    if (size >= 3 && memcmp(text, mark, 3) == 0)
        r.csv.at += 3;
    int rc = find_header(&r);
    if (rc == PLUMB_OK)
        rc = take_rows(&r);
    if (rc == PLUMB_ERR_MEMORY)
        plumb_fail(err, rc, "out of memory for '%s'", name);
    else if (rc < 0)
        plumb_fail(err, rc, "'%s' is cut: a quote of line %llu has no end", name,
                   (unsigned long long)r.csv.line);
    else if (made.count == 0)
        rc = nothing(&r, text, size, name, err);
    if (rc == PLUMB_OK)
        *out = made;
    else
        plumb_ncu_fini(&made);
    plumb_csv_fini(&r.csv);
    plumb_strings_fini(&r.launches);
    plumb_map_fini(&r.kernels);
    return rc;
}

static int read_text(struct plumb_buf *out, const char *path, plumb_error *err)
{
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *file = NULL;
    char chunk[16384];
    size_t n = 0;
    int rc = plumb_unpack_open(&file, path, &sum, err);
    while (rc == PLUMB_OK &&
           (rc = plumb_unpack_read(file, chunk, sizeof chunk, &n, err)) == PLUMB_OK && n > 0) {
        plumb_buf_append(out, chunk, n);
        if (out->len > BYTES_MAX)
            rc = plumb_fail(err, PLUMB_ERR_FORMAT,
                            "'%s' is larger than 512 MiB: profile fewer launches", path);
        else if (out->failed)
            rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for '%s'", path);
    }
    plumb_unpack_close(file);
    return rc;
}

int plumb_ncu_read(struct plumb_ncu *out, const char *path, plumb_error *err)
{
    struct plumb_buf text = {0};
    int rc = read_text(&text, path, err);
    if (rc == PLUMB_OK)
        rc = plumb_ncu_parse(out, text.data ? text.data : "", text.len, path, err);
    plumb_buf_fini(&text);
    return rc;
}

void plumb_ncu_fini(struct plumb_ncu *r)
{
    plumb_arena_fini(&r->arena);
    *r = (struct plumb_ncu){.count = 0};
}
