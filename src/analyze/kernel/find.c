/* find.c: kinds of slices, and their own time. Each thread, and each queue, is swept once in the
 * order of time with a stack of what is open. Slices that overlap the end of the one around them,
 * which a trace of another tool may have, count up to that end. */
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel/kernels.h"
#include "base/error.h"
#include "base/process/device_platform.h"
#include "read/trace/ids.h"

struct item {
    uint32_t row; /* the thread, or the queue: a track */
    uint32_t slice;
    uint64_t begin, end;
};
struct open {
    uint32_t slice;
    uint64_t begin, end, inside;
};
struct search {
    struct plumb_kernels *k;
    const struct plumb_table *t;
    uint8_t *of_category;                         /* of each text, as a category of another tool */
    uint8_t *track;                               /* bits below, by track */
    struct plumb_ids thread;                      /* (process, tid) -> track + 1 */
    uint32_t tid, node, bytes, grid, impl, flops; /* keys */
    struct item *items;
    struct open *stack;
};
enum {
    IS_WAIT = 1,
    IS_DEVICE = 2,
    IS_CUDA = 4,
    HAS_KERNELS = 8,
    HAS_OPS = 16,
    IS_CALL = 254,
    IGNORED = 255
};

/* ---- Tracks --------------------------------------------------------------------------------- */

/* "cuda:0: stream 7: thread 12 waits", as the runtime names the row of a thread's waits. */
static bool is_wait_row(const char *name)
{
    const char *at = strstr(name, ": thread ");
    size_t n = strlen(name);
    return at && n > 6 && strcmp(name + n - 6, " waits") == 0;
}

/* The name of the device of a track: of the process in an exported trace, or of the group. */
static const char *device_of(const struct search *s, uint32_t track)
{
    uint32_t group, process = s->t->tracks[track].process;
    while ((group = plumb_table_group(s->t, track)) != PLUMB_TABLE_NONE)
        track = group;
    if (!s->t->plumb && process != PLUMB_TABLE_NONE)
        track = process;
    return plumb_table_text(s->t, s->t->tracks[track].name);
}

static uint64_t thread_key(const struct plumb_table_track *track, int64_t tid)
{
    return (uint64_t)track->process << 32 | (uint32_t)tid;
}

static bool look_at_tracks(struct search *s)
{
    for (uint32_t i = 0; i < s->t->track_count; i++) {
        const struct plumb_table_track *track = &s->t->tracks[i];
        if (s->k->own && is_wait_row(plumb_table_text(s->t, track->name)))
            s->track[i] |= IS_WAIT;
        if (s->k->own && plumb_device_is_cuda(device_of(s, i)))
            s->track[i] |= IS_CUDA;
        if (s->t->plumb && !(s->track[i] & IS_WAIT) &&
            (track->kind == PLUMB_TRACK_DEVICE ||
             (track->kind == PLUMB_TRACK_OTHER && plumb_table_group(s->t, i) != PLUMB_TABLE_NONE)))
            s->track[i] |= IS_DEVICE;
        if (track->kind == PLUMB_TRACK_THREAD && track->has_tid &&
            !plumb_ids_get(&s->thread, thread_key(track, track->tid)) &&
            !plumb_ids_put(&s->thread, thread_key(track, track->tid), i + 1))
            return false;
    }
    return true;
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

static bool look_at_categories(struct search *s)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } known[] = {
        {"kernel", PLUMB_KERNEL_WORK},
        {"Kernel", PLUMB_KERNEL_WORK}, /* until 2021 */
        {"gpu_memcpy", PLUMB_KERNEL_COPY},
        {"Memcpy", PLUMB_KERNEL_COPY},
        {"gpu_memset", PLUMB_KERNEL_SET},
        {"Memset", PLUMB_KERNEL_SET},
        {"mtia_ccp_events", PLUMB_KERNEL_WORK},
        {"hpu_op", PLUMB_KERNEL_WORK},
        {"kernel_dispatch", PLUMB_KERNEL_WORK}, /* rocprofiler */
        {"memory_copy", PLUMB_KERNEL_COPY},
        {"cuda_runtime", IS_CALL},
        {"Runtime", IS_CALL},
        {"cuda_driver", IS_CALL},
        {"xpu_runtime", IS_CALL},
        {"mtia_runtime", IS_CALL},
        {"privateuse1_runtime", IS_CALL},
        {"gpu_user_annotation", IGNORED},
        {"Trace", IGNORED}, /* the profiler's own row */
    };
    if (s->t->plumb) /* categories are phases, which a program may call as it likes */
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t id = plumb_strings_find(&s->t->strings, known[i].name);
        if (id < s->t->strings.count)
            s->of_category[id] = known[i].kind;
    }
    return true;
}

static bool has_arg(const struct search *s, uint32_t slice, uint32_t key)
{
    return key != UINT32_MAX && plumb_table_arg(s->t, slice, key) != PLUMB_TABLE_NONE;
}

/* Copies have bytes and nothing else that kernels have. */
static uint8_t work_of(const struct search *s, uint32_t slice)
{
    return has_arg(s, slice, s->bytes) && !has_arg(s, slice, s->grid) &&
                   !has_arg(s, slice, s->impl) && !has_arg(s, slice, s->flops)
               ? PLUMB_KERNEL_COPY
               : PLUMB_KERNEL_WORK;
}

/* The track of the thread on which a primitive ran; PLUMB_TABLE_NONE: it is not a primitive. A span
 * of the program may have an arg of that name, and runs on the thread that it is on. */
static uint32_t thread_of(const struct search *s, uint32_t slice)
{
    uint32_t arg, on = s->t->slices.track[slice], found;
    if (!s->k->own || s->tid == UINT32_MAX ||
        (s->t->plumb && s->t->tracks[on].kind == PLUMB_TRACK_THREAD) ||
        (arg = plumb_table_arg(s->t, slice, s->tid)) == PLUMB_TABLE_NONE ||
        s->t->slice_args.type[arg] > PLUMB_ARG_U64)
        return PLUMB_TABLE_NONE;
    found =
        plumb_ids_get(&s->thread, thread_key(&s->t->tracks[on], s->t->slice_args.value[arg].i64));
    return found && found - 1 != on ? found - 1 : PLUMB_TABLE_NONE;
}

static uint8_t kind_of(const struct search *s, uint32_t slice)
{
    uint32_t on = s->t->slices.track[slice];
    uint8_t known = s->of_category[s->t->slices.category[slice]];
    if (s->track[on] & IS_WAIT)
        return PLUMB_KERNEL_NONE;
    if (known == IGNORED)
        return PLUMB_KERNEL_NONE;
    if (known && known != IS_CALL)
        return s->k->own ? work_of(s, slice) : known;
    if (thread_of(s, slice) != PLUMB_TABLE_NONE)
        return PLUMB_KERNEL_WORK;
    if (s->track[on] & IS_DEVICE &&
        (s->t->tracks[on].kind == PLUMB_TRACK_DEVICE || has_arg(s, slice, s->node)))
        return work_of(s, slice);
    return s->t->tracks[on].kind == PLUMB_TRACK_THREAD ? PLUMB_KERNEL_OP : PLUMB_KERNEL_NONE;
}

static void find_kinds(struct search *s)
{
    struct plumb_kernels *k = s->k;
    bool foreign_cuda = !k->own &&
                        plumb_strings_find(&s->t->strings, "mtia_runtime") == UINT32_MAX &&
                        plumb_strings_find(&s->t->strings, "hpu_op") == UINT32_MAX &&
                        plumb_strings_find(&s->t->strings, "kernel_dispatch") == UINT32_MAX &&
                        plumb_strings_find(&s->t->strings, "xpu_runtime") == UINT32_MAX;
    for (uint32_t i = 0; i < s->t->slices.count; i++) {
        uint32_t on = s->t->slices.track[i];
        k->kind[i] = kind_of(s, i);
        if (!plumb_kernels_is(k, i))
            continue;
        if (thread_of(s, i) != PLUMB_TABLE_NONE) {
            k->host = true;
            continue;
        }
        k->where[i] =
            s->track[on] & IS_CUDA || foreign_cuda ? PLUMB_KERNEL_CUDA : PLUMB_KERNEL_DEVICE;
        k->cuda |= k->where[i] == PLUMB_KERNEL_CUDA;
        k->queues += !(s->track[on] & HAS_KERNELS);
        s->track[on] |= HAS_KERNELS;
    }
    /* Other slices on the row of a queue are annotations of it. */
    for (uint32_t i = 0; i < s->t->slices.count; i++)
        if (k->kind[i] == PLUMB_KERNEL_OP && s->track[s->t->slices.track[i]] & HAS_KERNELS)
            k->kind[i] = PLUMB_KERNEL_NONE;
}

/* ---- Launches ------------------------------------------------------------------------------- */

static uint32_t slice_at(const struct plumb_table *t, const struct plumb_table_end *end)
{
    return end->instant ? t->instants.slice[end->row] : end->row;
}

/* The operator around calls of a driver, which launch for it. */
static uint32_t caller_of(const struct search *s, uint32_t slice)
{
    const struct plumb_table_slices *all = &s->t->slices;
    while (s->of_category[all->category[slice]] == IS_CALL &&
           all->parent[slice] != PLUMB_TABLE_NONE)
        slice = all->parent[slice];
    return slice;
}

static void find_launches(struct search *s)
{
    const struct plumb_table *t = s->t;
    for (uint32_t i = 0; i < t->flow_count; i++) {
        uint32_t from = slice_at(t, &t->flows[i].from), to = slice_at(t, &t->flows[i].to);
        if (from != PLUMB_TABLE_NONE && to != PLUMB_TABLE_NONE && plumb_kernels_is(s->k, to) &&
            s->k->kind[from] == PLUMB_KERNEL_OP && s->k->launch[to] == PLUMB_TABLE_NONE)
            s->k->launch[to] = caller_of(s, from);
    }
}

/* ---- Own time ------------------------------------------------------------------------------- */

static int by_row_and_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->slice < y->slice ? -1 : x->slice > y->slice;
}

/* The row of a slice in the sweep. All rows of one thread are one: viewers show slices that overlap
 * on rows of their own. */
static uint32_t row_of(const struct search *s, uint32_t slice)
{
    uint32_t on = s->t->slices.track[slice], found = thread_of(s, slice);
    if (found != PLUMB_TABLE_NONE)
        return found;
    if (s->k->kind[slice] != PLUMB_KERNEL_OP || !s->t->tracks[on].has_tid)
        return on;
    found = plumb_ids_get(&s->thread, thread_key(&s->t->tracks[on], s->t->tracks[on].tid));
    return found ? found - 1 : on;
}

static size_t collect(struct search *s)
{
    size_t n = 0;
    bool sorted = true;
    for (uint32_t i = 0; i < s->t->slices.count; i++) {
        uint64_t begin = s->t->slices.ts_ns[i], end = plumb_table_end_ns(s->t, i);
        if (s->k->kind[i] == PLUMB_KERNEL_NONE)
            continue;
        s->items[n] = (struct item){row_of(s, i), i, begin, end < begin ? begin : end};
        sorted = sorted && (n == 0 || by_row_and_time(&s->items[n - 1], &s->items[n]) <= 0);
        n++;
    }
    if (!sorted)
        qsort(s->items, n, sizeof *s->items, by_row_and_time);
    return n;
}

static void close(struct search *s, size_t *depth, uint64_t until)
{
    for (; *depth > 0 && s->stack[*depth - 1].end <= until; --*depth) {
        const struct open *o = &s->stack[*depth - 1];
        s->k->self_ns[o->slice] = o->end - o->begin - o->inside;
    }
}

/* The innermost operator that is open. */
static uint32_t operator_of(const struct search *s, size_t depth)
{
    while (depth > 0 && s->k->kind[s->stack[depth - 1].slice] != PLUMB_KERNEL_OP)
        depth--;
    return depth > 0 ? s->stack[depth - 1].slice : PLUMB_TABLE_NONE;
}

static void sweep(struct search *s, size_t n)
{
    struct plumb_kernels *k = s->k;
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        struct item *it = &s->items[i];
        bool kernel = plumb_kernels_is(k, it->slice);
        close(s, &depth, i > 0 && s->items[i - 1].row == it->row ? it->begin : UINT64_MAX);
        if (depth > 0) {
            struct open *around = &s->stack[depth - 1];
            it->end = it->end < around->end ? it->end : around->end;
            around->inside += it->end - it->begin;
        }
        if (kernel && k->where[it->slice] == PLUMB_KERNEL_HOST)
            k->launch[it->slice] = operator_of(s, depth);
        if (!kernel && !(s->track[it->row] & HAS_OPS)) {
            s->track[it->row] |= HAS_OPS;
            k->threads++;
        }
        k->first_ns = it->begin < k->first_ns ? it->begin : k->first_ns;
        k->last_ns = it->end > k->last_ns ? it->end : k->last_ns;
        s->stack[depth++] = (struct open){it->slice, it->begin, it->end, 0};
    }
    close(s, &depth, UINT64_MAX);
}

static int by_begin(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* While at least one kernel ran; and how many there are. */
static void count_kernels(struct search *s, size_t n)
{
    struct plumb_kernels *k = s->k;
    size_t kept = 0;
    uint64_t until = 0;
    for (size_t i = 0; i < n; i++) {
        if (!plumb_kernels_is(k, s->items[i].slice))
            continue;
        k->launches++;
        k->unlinked += k->launch[s->items[i].slice] == PLUMB_TABLE_NONE;
        s->items[kept++] = s->items[i];
    }
    if (kept > 0)
        qsort(s->items, kept, sizeof *s->items, by_begin);
    for (size_t i = 0; i < kept; i++) {
        uint64_t from = s->items[i].begin > until ? s->items[i].begin : until;
        k->busy_ns += s->items[i].end > from ? s->items[i].end - from : 0;
        until = s->items[i].end > until ? s->items[i].end : until;
    }
}

/* ---- Life ----------------------------------------------------------------------------------- */

static bool is_own(const struct plumb_table *t)
{
    return t->plumb || plumb_table_fact(t, "plumb.version") != NULL ||
           plumb_table_fact(t, "plumb.node") != NULL; /* the trace of a single node */
}

static bool make(struct search *s, size_t n)
{
    struct plumb_kernels *k = s->k;
    k->kind = calloc(n, 1);
    k->where = calloc(n, 1);
    k->self_ns = calloc(n, sizeof *k->self_ns);
    k->launch = malloc(n * sizeof *k->launch);
    s->of_category = calloc(s->t->strings.count + (size_t)1, 1);
    s->track = calloc(s->t->track_count + (size_t)1, 1);
    s->items = malloc(n * sizeof *s->items);
    s->stack = malloc(n * sizeof *s->stack);
    return k->kind && k->where && k->self_ns && k->launch && s->of_category && s->track &&
           s->items && s->stack;
}

int plumb_kernels_init(struct plumb_kernels *out, const struct plumb_table *t,
                       const struct plumb_step_marks *marks, plumb_error *err)
{
    struct plumb_kernels k = {
        .t = t, .marks = marks, .own = is_own(t), .stage = UINT32_MAX, .first_ns = UINT64_MAX};
    const struct plumb_strings *texts = &t->strings;
    struct search s = {.k = &k,
                       .t = t,
                       .tid = plumb_strings_find(texts, "tid"),
                       .node = plumb_strings_find(texts, "node"),
                       .bytes = plumb_strings_find(texts, "bytes"),
                       .grid = plumb_strings_find(texts, "grid"),
                       .impl = plumb_strings_find(texts, "impl"),
                       .flops = plumb_strings_find(texts, "flops")};
    size_t rows = t->slices.count + (size_t)1;
    bool done = make(&s, rows) && look_at_tracks(&s) && look_at_categories(&s);
    if (done) {
        memset(k.launch, 0xff, rows * sizeof *k.launch);
        find_kinds(&s);
        find_launches(&s);
        size_t n = collect(&s);
        sweep(&s, n);
        count_kernels(&s, n);
        k.first_ns = k.first_ns < k.last_ns ? k.first_ns : k.last_ns;
    }
    plumb_ids_fini(&s.thread);
    free(s.of_category);
    free(s.track);
    free(s.items);
    free(s.stack);
    if (!done) {
        plumb_kernels_fini(&k);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the kernels of a trace");
    }
    *out = k;
    return PLUMB_OK;
}

void plumb_kernels_fini(struct plumb_kernels *k)
{
    free(k->kind);
    free(k->where);
    free(k->self_ns);
    free(k->launch);
    *k = (struct plumb_kernels){.t = NULL};
}

/* ---- Stage and step ------------------------------------------------------------------------- */

static bool is_stage(const struct plumb_kernels *k, uint32_t slice)
{
    int64_t step;
    const struct plumb_table *t = k->t;
    if (plumb_step_is_mark(k->marks, t->slices.name[slice], &step))
        return false;
    if (k->own)
        return strncmp(plumb_table_text(t, t->slices.name[slice]), "plumb.region::", 14) != 0;
    return strcmp(plumb_table_text(t, t->slices.category[slice]), "user_annotation") == 0;
}

uint32_t plumb_kernels_stage(const struct plumb_kernels *k, uint32_t slice)
{
    uint32_t found = PLUMB_TABLE_NONE;
    if (plumb_kernels_is(k, slice))
        slice = k->launch[slice];
    for (; slice != PLUMB_TABLE_NONE; slice = k->t->slices.parent[slice]) {
        if (is_stage(k, slice))
            found = slice;
        if (k->t->slices.name[slice] == k->stage)
            break;
    }
    return found;
}

bool plumb_kernels_step(const struct plumb_kernels *k, uint32_t slice, int64_t *out)
{
    uint32_t launch = plumb_kernels_is(k, slice) ? k->launch[slice] : PLUMB_TABLE_NONE;
    return plumb_step_of(k->marks, slice, out) ||
           (launch != PLUMB_TABLE_NONE && plumb_step_of(k->marks, launch, out));
}
