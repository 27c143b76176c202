/* advice.c: the rules. The thresholds are those of launches: queueing a kernel takes 5 to 10 us on
 * the host, so kernels that are not clearly longer leave the device waiting. */
#include "analyze/kernel/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/trace/ids.h"

enum {
    SHORT_NS = 20000,          /* of a kernel: about two launches */
    REPEATS_MIN = 32,          /* launches of one kernel */
    FLOAT64_PERCENT = 10,      /* of the time of devices */
    STEPS_MIN = 3,             /* alike */
    STEP_LAUNCHES_MIN = 8,     /* in each of them */
    RUNS_MIN = 16,             /* of a stage */
    RUN_NS = 10 * 1000 * 1000, /* mean of such a run */
    RUN_LAUNCHES_MAX = 16,     /* in each of them */
};

static const struct plumb_advice_text texts[PLUMB_ADVICES] = {
    [PLUMB_ADVICE_FUSE] =
        {"fuse", "one kernel is launched again and again for little work",
         "at least 32 launches of one kernel, mean below 20 us, at least half of them directly "
         "after "
         "another one of the same kernel",
         "a chain of operators runs one by one, so most of the time goes into launches",
         "apply the chain as one: combine the operators before they run (one cascade, one fused "
         "primitive, torch.compile)"},
    [PLUMB_ADVICE_FLOAT64] =
        {"float64", "the device computes in float64",
         "at least 10 % of the time of devices in kernels whose names say double, float64, f64, "
         "fp64 "
         "or dgemm, without an input that is known to be of that type",
         "an input in float32 is converted to float64, often by constants or coefficients of that "
         "type",
         "keep float32 on the device: convert constants and coefficients to the type of the input; "
         "float32 is at least twice as fast, about 3 times in scans"},
    [PLUMB_ADVICE_REPLAY] =
        {"replay", "each step waits for its launches",
         "at least 3 steps with the same kernels in the same order, at least 8 in each, mean below "
         "20 us, and the device is idle for more than half of the time from the first to the last",
         "the host launches kernels more slowly than the device runs them, which is the latency of "
         "each chunk",
         "record the launches of a step once and replay them (a CUDA graph, an OpenCL command "
         "buffer), or give each launch more work"},
    [PLUMB_ADVICE_BATCH] =
        {"batch", "many short inputs run one after the other",
         "at least 16 runs of one stage outside of steps, mean below 10 ms, each with the same "
         "kernels (at most 16), which take less than half of the time of the runs",
         "each file has launches of its own, and is too short to fill the device",
         "collect inputs of one format and length, and run them as one batch"},
    [PLUMB_ADVICE_THRESHOLD] =
        {"threshold", "the slower of two variants of a scan is chosen",
         "a scan of one name exists in a sequential and a parallel variant, and one of them takes "
         "longer for some length than the other for the same or a greater length",
         "the length at which the program switches from one to the other is not where they cross",
         "set the threshold (threshold=) to the length where both take equally long"},
};

const struct plumb_advice_text *plumb_advice_text(enum plumb_advice_id id)
{
    return &texts[id];
}

static bool is_on_device(const struct plumb_kernels *k, uint32_t slice)
{
    return plumb_kernels_is(k, slice) && k->where[slice] != PLUMB_KERNEL_HOST &&
           !(k->t->slices.flags[slice] & PLUMB_SLICE_NO_SAMPLE);
}

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static int percent(uint64_t part, uint64_t whole)
{
    return whole ? (int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

static void put_name(struct plumb_buf *out, const char *name)
{
    plumb_buf_printf(out, "%.120s%s", name, strlen(name) > 120 ? "..." : "");
}

/* ---- Fuse ----------------------------------------------------------------------------------- */

/* By the name of a kernel: launches that directly follow one of the same kernel. */
static bool count_repeats(const struct plumb_kernels *k, struct plumb_ids *repeats)
{
    const struct plumb_table_slices *s = &k->t->slices;
    uint32_t before = PLUMB_TABLE_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!plumb_kernels_is(k, i))
            continue;
        if (before != PLUMB_TABLE_NONE && s->track[before] == s->track[i] &&
            s->name[before] == s->name[i] &&
            !plumb_ids_put(repeats, s->name[i], plumb_ids_get(repeats, s->name[i]) + 1))
            return false;
        before = i;
    }
    return true;
}

static bool find_fuse(struct plumb_buf *out, const struct plumb_kernels *k,
                      const struct plumb_own_rows *rows)
{
    struct plumb_ids repeats = {.dense = NULL};
    bool done = count_repeats(k, &repeats);
    for (size_t i = 0; done && i < rows->count; i++) {
        const struct plumb_own_row *row = &rows->rows[i];
        uint32_t again = plumb_ids_get(&repeats, row->name);
        if (row->kind != PLUMB_KERNEL_WORK || row->count < REPEATS_MIN ||
            row->ns / row->count >= SHORT_NS || 2 * (uint64_t)again < row->count)
            continue;
        put_name(out, plumb_table_text(k->t, row->name));
        plumb_buf_printf(
            out, ": %" PRIu64 " launches, mean %.1f us, %" PRIu32 " directly after another one",
            row->count, us(row->ns / row->count), again);
        break;
    }
    plumb_ids_fini(&repeats);
    return done;
}

/* ---- Float64 -------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool says_float64(const char *text)
{
    static const char *const words[] = {"double", "Double", "float64", "f64", "fp64", "dgemm"};
    for (size_t w = 0; text && w < sizeof words / sizeof *words; w++)
        for (const char *at = strstr(text, words[w]); at; at = strstr(at + 1, words[w]))
            if ((at == text || !is_letter(at[-1])) && !is_letter(at[strlen(words[w])]))
                return true;
    return false;
}

static void find_float64(struct plumb_buf *out, const struct plumb_kernels *k,
                         const struct plumb_own_rows *rows)
{
    uint64_t all = 0, wide = 0;
    const struct plumb_own_row *first = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const struct plumb_own_row *row = &rows->rows[i];
        all += row->device_ns;
        if (row->device_ns == 0 || !says_float64(plumb_table_text(k->t, row->name)) ||
            says_float64(plumb_own_rows_text(rows, row->type)))
            continue;
        wide += row->device_ns;
        first = first ? first : row;
    }
    if (!first || 100.0 * (double)wide < FLOAT64_PERCENT * (double)all)
        return;
    plumb_buf_printf(out, "%d %% of the time of devices; the longest: ", percent(wide, all));
    put_name(out, plumb_table_text(k->t, first->name));
    plumb_buf_printf(out, ", types of its inputs: %.80s",
                     first->type ? plumb_own_rows_text(rows, first->type) : "unknown");
}

/* ---- Groups of launches --------------------------------------------------------------------- */

/* The kernels of a step, or of one run of a stage. */
struct group {
    uint64_t launches, ns, hash, first_ns, last_ns;
    uint64_t span_ns; /* of the run, or from the first kernel to the last */
    uint32_t name;    /* of the stage; of steps 0 */
};
struct groups {
    struct group *at;
    size_t count, cap;
    struct plumb_ids of; /* key -> place + 1 */
};

static struct group *group_for(struct groups *g, uint64_t key)
{
    uint32_t place = plumb_ids_get(&g->of, key);
    if (place)
        return &g->at[place - 1];
    if (g->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        struct group *at = realloc(g->at, cap * sizeof *at);
        if (!at)
            return NULL;
        g->at = at;
        g->cap = cap;
    }
    g->at[g->count++] =
        (struct group){.hash = UINT64_C(0xcbf29ce484222325), .first_ns = UINT64_MAX};
    return plumb_ids_put(&g->of, key, (uint32_t)g->count) ? &g->at[g->count - 1] : NULL;
}

static void add_launch(struct group *g, const struct plumb_kernels *k, uint32_t slice)
{
    const struct plumb_table_slices *s = &k->t->slices;
    uint64_t end = plumb_table_end_ns(k->t, slice);
    g->launches++;
    g->ns += k->self_ns[slice];
    g->hash = (g->hash ^ s->name[slice]) * UINT64_C(0x100000001b3);
    g->first_ns = s->ts_ns[slice] < g->first_ns ? s->ts_ns[slice] : g->first_ns;
    g->last_ns = end > g->last_ns ? end : g->last_ns;
}

static void groups_fini(struct groups *g)
{
    free(g->at);
    plumb_ids_fini(&g->of);
}

/* Those that launch the same kernels next to each other. */
static int by_kernels(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->launches != y->launches)
        return x->launches < y->launches ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

/* Groups that launch the same kernels, added up. */
struct alike {
    uint64_t count, launches /* of each */, ns, span_ns;
    uint32_t name;
};

/* The groups from `*at` on, which it moves past them. */
static struct alike next_alike(const struct groups *g, size_t *at)
{
    const struct group *first = &g->at[*at];
    struct alike sum = {.launches = first->launches, .name = first->name};
    for (; *at < g->count; ++*at) {
        const struct group *one = &g->at[*at];
        if (one->hash != first->hash || one->launches != first->launches ||
            one->name != first->name)
            break;
        sum.count++;
        sum.ns += one->ns;
        sum.span_ns += one->span_ns;
    }
    return sum;
}

static bool make_groups(struct groups *steps, struct groups *runs, const struct plumb_kernels *k)
{
    for (uint32_t i = 0; i < k->t->slices.count; i++) {
        int64_t step;
        struct group *g;
        uint32_t stage;
        if (!is_on_device(k, i))
            continue;
        if (plumb_kernels_step(k, i, &step)) {
            if (!(g = group_for(steps, (uint64_t)step)))
                return false;
            add_launch(g, k, i);
            g->span_ns = g->last_ns - g->first_ns;
        } else {
            stage = plumb_kernels_stage(k, i);
            if (stage == PLUMB_TABLE_NONE)
                continue;
            if (!(g = group_for(runs, stage)))
                return false;
            add_launch(g, k, i);
            g->name = k->t->slices.name[stage];
            g->span_ns = k->t->slices.dur_ns[stage];
        }
    }
    if (steps->count > 0)
        qsort(steps->at, steps->count, sizeof *steps->at, by_kernels);
    if (runs->count > 0)
        qsort(runs->at, runs->count, sizeof *runs->at, by_kernels);
    return true;
}

/* ---- Replay and batch ----------------------------------------------------------------------- */

static void find_replay(struct plumb_buf *out, const struct groups *steps)
{
    for (size_t at = 0; at < steps->count && out->len == 0;) {
        struct alike a = next_alike(steps, &at);
        if (a.count < STEPS_MIN || a.launches < STEP_LAUNCHES_MIN ||
            a.ns / (a.count * a.launches) >= SHORT_NS || 2 * a.ns >= a.span_ns)
            continue;
        plumb_buf_printf(out,
                         "%" PRIu64 " steps with the same %" PRIu64
                         " kernels, mean %.1f us; the device is idle for %d %% of them",
                         a.count, a.launches, us(a.ns / (a.count * a.launches)),
                         100 - percent(a.ns, a.span_ns));
    }
}

static void find_batch(struct plumb_buf *out, const struct groups *runs,
                       const struct plumb_kernels *k)
{
    for (size_t at = 0; at < runs->count && out->len == 0;) {
        struct alike a = next_alike(runs, &at);
        if (a.count < RUNS_MIN || a.launches > RUN_LAUNCHES_MAX || a.span_ns / a.count >= RUN_NS ||
            2 * a.ns >= a.span_ns)
            continue;
        put_name(out, plumb_table_text(k->t, a.name));
        plumb_buf_printf(out,
                         ": %" PRIu64 " runs with the same %" PRIu64
                         " kernels, mean %.1f us; the kernels take %d %% of them",
                         a.count, a.launches, us(a.span_ns / a.count), percent(a.ns, a.span_ns));
    }
}

/* ---- Threshold ------------------------------------------------------------------------------ */

enum { SCANS_MAX = 256 };
enum variant { VARIANT_NONE, VARIANT_SEQUENTIAL, VARIANT_PARALLEL };

/* The variant that a name says; `at` and `n` are the place of the word. */
static enum variant variant_of(const char *name, size_t *at, size_t *n)
{
    static const struct {
        const char *word;
        enum variant is;
    } words[] = {{"sequential", VARIANT_SEQUENTIAL},
                 {"serial", VARIANT_SEQUENTIAL},
                 {"parallel", VARIANT_PARALLEL},
                 {"blocked", VARIANT_PARALLEL}};
    if (!strstr(name, "scan"))
        return VARIANT_NONE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(name, words[i].word);
        if (found) {
            *at = (size_t)(found - name);
            *n = strlen(words[i].word);
            return words[i].is;
        }
    }
    return VARIANT_NONE;
}

/* The elements of the first tensor of a shape, or of a grid; 0: not known. */
static uint64_t length_of(const char *shape)
{
    uint64_t length = 0, n = 0;
    bool inside = false;
    for (const char *p = shape ? shape : "";; p++) {
        if (*p >= '0' && *p <= '9') {
            n = inside && n < UINT64_MAX / 16 ? 10 * n + (uint64_t)(*p - '0')
                                              : (uint64_t)(*p - '0');
            inside = true;
            continue;
        }
        if (inside)
            length = length == 0 ? n : n && length > UINT64_MAX / n ? UINT64_MAX : length * n;
        inside = false;
        if (!*p || *p == ']' || *p == ' ' || *p == '/')
            return length;
    }
}

static uint64_t row_length(const struct plumb_own_rows *rows, const struct plumb_own_row *row)
{
    return length_of(plumb_own_rows_text(rows, row->shape ? row->shape : row->grid));
}

/* `slow` takes longer than `fast`, which does at least as much. */
static bool is_worse(const struct plumb_own_rows *rows, const struct plumb_own_row *slow,
                     const struct plumb_own_row *fast)
{
    uint64_t length = row_length(rows, slow);
    return length > 0 && length <= row_length(rows, fast) &&
           slow->ns / slow->count > fast->ns / fast->count;
}

static void put_threshold(struct plumb_buf *out, const struct plumb_own_rows *rows,
                          const struct plumb_own_row *slow, const struct plumb_own_row *fast,
                          bool sequential)
{
    put_name(out, plumb_table_text(rows->k->t, slow->name));
    plumb_buf_printf(out, ": mean %.1f us for %" PRIu64 " elements, and ",
                     us(slow->ns / slow->count), row_length(rows, slow));
    put_name(out, plumb_table_text(rows->k->t, fast->name));
    plumb_buf_printf(out, " %.1f us for %" PRIu64 ": the threshold is too %s",
                     us(fast->ns / fast->count), row_length(rows, fast),
                     sequential ? "high" : "low");
}

struct scan {
    const struct plumb_own_row *row;
    const char *name;
    size_t at, n;
    enum variant is;
};

/* Whether the names differ in these words alone. */
static bool are_one(const struct scan *a, const struct scan *b)
{
    return a->at == b->at && strncmp(a->name, b->name, a->at) == 0 &&
           strcmp(a->name + a->at + a->n, b->name + b->at + b->n) == 0;
}

static size_t find_scans(struct scan out[SCANS_MAX], const struct plumb_kernels *k,
                         const struct plumb_own_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->count && n < SCANS_MAX; i++) {
        struct scan *s = &out[n];
        s->row = &rows->rows[i];
        s->name = plumb_table_text(k->t, rows->rows[i].name);
        s->is = variant_of(s->name, &s->at, &s->n);
        n += s->is != VARIANT_NONE;
    }
    return n;
}

static void find_threshold(struct plumb_buf *out, const struct plumb_kernels *k,
                           const struct plumb_own_rows *rows)
{
    struct scan scans[SCANS_MAX];
    size_t n = find_scans(scans, k, rows);
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < n; o++)
            if (scans[i].is != scans[o].is && are_one(&scans[i], &scans[o]) &&
                is_worse(rows, scans[i].row, scans[o].row)) {
                put_threshold(out, rows, scans[i].row, scans[o].row,
                              scans[i].is == VARIANT_SEQUENTIAL);
                return;
            }
}

/* ---- All ------------------------------------------------------------------------------------ */

int plumb_advices_init(struct plumb_advices *out, const struct plumb_kernels *k, plumb_error *err)
{
    struct plumb_advices a = {.evidence = {{0}}};
    struct plumb_own_rows names = {.k = NULL}, shapes = {.k = NULL};
    struct groups steps = {.at = NULL}, runs = {.at = NULL};
    bool failed = false;
    int rc = plumb_own_rows_init(&names, k, PLUMB_KERNELS_BY_NAME, false, err);
    if (rc == PLUMB_OK)
        rc = plumb_own_rows_init(&shapes, k, PLUMB_KERNELS_BY_SHAPE, false, err);
    if (rc == PLUMB_OK &&
        (!find_fuse(&a.evidence[PLUMB_ADVICE_FUSE], k, &names) || !make_groups(&steps, &runs, k)))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the advice on a trace");
    if (rc == PLUMB_OK) {
        find_float64(&a.evidence[PLUMB_ADVICE_FLOAT64], k, &shapes);
        find_replay(&a.evidence[PLUMB_ADVICE_REPLAY], &steps);
        find_batch(&a.evidence[PLUMB_ADVICE_BATCH], &runs, k);
        find_threshold(&a.evidence[PLUMB_ADVICE_THRESHOLD], k, &shapes);
    }
    for (int i = 0; i < PLUMB_ADVICES; i++)
        failed = failed || a.evidence[i].failed;
    if (rc == PLUMB_OK && failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the advice on a trace");
    plumb_own_rows_fini(&names);
    plumb_own_rows_fini(&shapes);
    groups_fini(&steps);
    groups_fini(&runs);
    if (rc == PLUMB_OK)
        *out = a;
    else
        plumb_advices_fini(&a);
    return rc;
}

void plumb_advices_fini(struct plumb_advices *a)
{
    for (int i = 0; i < PLUMB_ADVICES; i++)
        plumb_buf_fini(&a->evidence[i]);
}
