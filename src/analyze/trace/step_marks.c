/* step_marks.c: see step_marks.h. Names are looked at once each, and no memory is taken for traces
 * that have no marks. */
#include "analyze/trace/step_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { DIGITS_MAX = 18 };

/* ---- Names ---------------------------------------------------------------------------------- */

static bool read_name(const char *name, int64_t *out)
{
    static const char start[] = PLUMB_STEP_MARK_NAME "#";
    int64_t step = 0;
    if (strncmp(name, start, sizeof start - 1) != 0)
        return false;
    const char *digits = name + sizeof start - 1;
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || n > DIGITS_MAX || digits[n])
        return false;
    for (size_t i = 0; i < n; i++)
        step = 10 * step + (digits[i] - '0');
    *out = step;
    return true;
}

static bool find_names(struct plumb_step_marks *m)
{
    size_t cap = 0;
    for (uint32_t id = 0; id < m->t->strings.count; id++) {
        int64_t step;
        if (!read_name(plumb_table_text(m->t, id), &step))
            continue;
        if (m->number_count == cap) {
            cap = cap ? 2 * cap : 16;
            int64_t *numbers = realloc(m->numbers, cap * sizeof *numbers);
            if (!numbers)
                return false;
            m->numbers = numbers;
        }
        m->numbers[m->number_count++] = step;
        if (!plumb_ids_put(&m->named, id, (uint32_t)m->number_count))
            return false;
    }
    return true;
}

bool plumb_step_is_mark(const struct plumb_step_marks *m, uint32_t name, int64_t *out)
{
    uint32_t place = m->number_count ? plumb_ids_get(&m->named, name) : 0;
    if (place)
        *out = m->numbers[place - 1];
    return place != 0;
}

/* ---- Marks ---------------------------------------------------------------------------------- */

static bool is_mark(const struct plumb_step_marks *m, uint32_t slice, int64_t *step)
{
    return m->t->slices.category[slice] != m->copy &&
           plumb_step_is_mark(m, m->t->slices.name[slice], step);
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct plumb_step_mark *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static bool find_marks(struct plumb_step_marks *m)
{
    const struct plumb_table *t = m->t;
    size_t cap = 0;
    for (uint32_t i = 0; i < t->slices.count; i++) {
        int64_t step;
        if (!is_mark(m, i, &step))
            continue;
        if (m->count == cap) {
            cap = cap ? 2 * cap : 16;
            struct plumb_step_mark *marks = realloc(m->marks, cap * sizeof *marks);
            if (!marks)
                return false;
            m->marks = marks;
        }
        uint32_t track = t->slices.track[i];
        m->marks[m->count++] = (struct plumb_step_mark){
            t->slices.ts_ns[i], plumb_table_end_ns(t, i), track, t->tracks[track].process, step};
    }
    if (m->count > 1)
        qsort(m->marks, m->count, sizeof *m->marks, by_process_and_time);
    return true;
}

/* Where several tracks of a process have marks, the time of one says nothing of other tracks. */
static void keep_lone_tracks(struct plumb_step_marks *m)
{
    size_t kept = 0;
    for (size_t first = 0, end; first < m->count; first = end) {
        bool alone = true;
        for (end = first; end < m->count && m->marks[end].process == m->marks[first].process; end++)
            alone &= m->marks[end].track == m->marks[first].track;
        for (size_t i = first; alone && i < end; i++)
            m->marks[kept++] = m->marks[i];
    }
    m->count = kept;
}

/* The slice that an end of a flow is, or lies in. */
static uint32_t slice_at(const struct plumb_table *t, const struct plumb_table_end *end)
{
    return end->instant ? t->instants.slice[end->row] : end->row;
}

static bool find_launches(struct plumb_step_marks *m)
{
    const struct plumb_table *t = m->t;
    if (!(m->launched_by = malloc(t->slices.count * sizeof *m->launched_by)))
        return false;
    memset(m->launched_by, 0xff, t->slices.count * sizeof *m->launched_by);
    for (uint32_t i = 0; i < t->flow_count; i++) {
        uint32_t from = slice_at(t, &t->flows[i].from), to = slice_at(t, &t->flows[i].to);
        if (from != PLUMB_TABLE_NONE && to != PLUMB_TABLE_NONE &&
            t->slices.track[from] != t->slices.track[to] && m->launched_by[to] == PLUMB_TABLE_NONE)
            m->launched_by[to] = from;
    }
    return true;
}

int plumb_step_marks_init(struct plumb_step_marks *out, const struct plumb_table *t,
                          plumb_error *err)
{
    struct plumb_step_marks m = {
        .t = t,
        .arg = plumb_strings_find(&t->strings, "step"),
        .copy = plumb_strings_find(&t->strings, "gpu_user_annotation"),
    };
    bool done = find_names(&m) && (m.number_count == 0 || find_marks(&m)) &&
                (m.count == 0 || find_launches(&m));
    keep_lone_tracks(&m);
    if (!done) {
        plumb_step_marks_fini(&m);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the steps of a trace");
    }
    *out = m;
    return PLUMB_OK;
}

void plumb_step_marks_fini(struct plumb_step_marks *m)
{
    plumb_ids_fini(&m->named);
    free(m->numbers);
    free(m->marks);
    free(m->launched_by);
    *m = (struct plumb_step_marks){.t = NULL};
}

/* ---- Steps of slices ------------------------------------------------------------------------ */

static bool own_step(const struct plumb_step_marks *m, uint32_t slice, int64_t *out)
{
    const struct plumb_table *t = m->t;
    uint32_t arg = m->arg == UINT32_MAX ? PLUMB_TABLE_NONE : plumb_table_arg(t, slice, m->arg);
    if (arg == PLUMB_TABLE_NONE || t->slice_args.type[arg] > PLUMB_ARG_U64)
        return false;
    *out = t->slice_args.value[arg].i64;
    return true;
}

/* By what the slice and those around it say. */
static bool track_step(const struct plumb_step_marks *m, uint32_t slice, int64_t *out)
{
    if (own_step(m, slice, out))
        return true;
    for (; slice != PLUMB_TABLE_NONE; slice = m->t->slices.parent[slice])
        if ((m->launched_by && is_mark(m, slice, out)) || (m->t->plumb && own_step(m, slice, out)))
            return true;
    return false;
}

/* The last mark of the process that began before or then, if it lasts. */
static bool time_step(const struct plumb_step_marks *m, uint32_t slice, int64_t *out)
{
    uint64_t ns = m->t->slices.ts_ns[slice];
    uint32_t process = m->t->tracks[m->t->slices.track[slice]].process;
    size_t first = 0, end = m->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct plumb_step_mark *mark = &m->marks[middle];
        if (mark->process < process || (mark->process == process && mark->begin_ns <= ns))
            first = middle + 1;
        else
            end = middle;
    }
    if (first == 0 || m->marks[first - 1].process != process || m->marks[first - 1].end_ns <= ns)
        return false;
    *out = m->marks[first - 1].step;
    return true;
}

bool plumb_step_of(const struct plumb_step_marks *m, uint32_t slice, int64_t *out)
{
    if (track_step(m, slice, out))
        return true;
    if (!m->launched_by)
        return false;
    uint32_t from = m->launched_by[slice];
    if (from == PLUMB_TABLE_NONE)
        return time_step(m, slice, out);
    return track_step(m, from, out) || time_step(m, from, out);
}
