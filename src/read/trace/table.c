/* table.c: a table while it is filled, and what is asked of a finished one. */
#include "read/trace/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "read/trace/table_build.h"

/* ---- Life ----------------------------------------------------------------------------------- */

int plumb_table_init(struct plumb_table *t, plumb_error *err)
{
    *t = (struct plumb_table){.build = calloc(1, sizeof *t->build)};
    if (!t->build)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a trace");
    plumb_strings_put(&t->strings, "", 0);
    return PLUMB_OK;
}

void plumb_build_free(struct plumb_table_build *b)
{
    if (!b)
        return;
    free(b->events.at);
    free(b->counters.at);
    free(b->durations.at);
    free(b->args.at);
    free(b->flows.at);
    free(b->ways.at);
    plumb_ids_fini(&b->track_of);
    free(b);
}

static void free_args(struct plumb_table_args *a)
{
    free(a->key);
    free(a->type);
    free(a->value);
}

void plumb_table_fini(struct plumb_table *t)
{
    struct plumb_table_slices *s = &t->slices;
    struct plumb_table_instants *i = &t->instants;
    void *columns[] = {
        s->ts_ns,          s->dur_ns, s->track,  s->name,  s->category,       s->parent,
        s->depth,          s->args,   s->flags,  i->ts_ns, i->track,          i->name,
        i->category,       i->slice,  i->args,   t->flows, t->counters.ts_ns, t->counters.track,
        t->counters.value, t->drops,  t->tracks, t->facts};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        free(columns[c]);
    free_args(&t->slice_args);
    free_args(&t->instant_args);
    plumb_strings_fini(&t->strings);
    plumb_build_free(t->build);
    *t = (struct plumb_table){.build = NULL};
}

/* ---- Filling -------------------------------------------------------------------------------- */

bool plumb_build_grow(struct plumb_table_build *b, struct plumb_build_list *list, size_t size)
{
    size_t cap = list->cap ? 2 * list->cap : 64;
    void *at = list->count < UINT32_MAX / 2 && !b->failed ? realloc(list->at, cap * size) : NULL;
    if (!at) {
        b->failed = true;
        return false;
    }
    list->at = at;
    list->cap = cap;
    return true;
}

uint32_t plumb_table_string(struct plumb_table *t, const void *text, size_t n)
{
    return plumb_strings_put(&t->strings, text, n);
}

uint32_t plumb_table_new_track(struct plumb_table *t)
{
    struct plumb_build_list *tracks = &t->build->tracks;
    struct plumb_table_track *track = NULL;
    struct plumb_build_track *way = plumb_build_add(t->build, &t->build->ways, sizeof *way);
    if (way && tracks->count < 1u << (32 - PLUMB_BUILD_TYPE_BITS))
        track = plumb_build_add(t->build, tracks, sizeof *track);
    if (!track) {
        t->build->failed = true;
        return PLUMB_TABLE_NONE;
    }
    *way = (struct plumb_build_track){.last = INT64_MIN};
    *track = (struct plumb_table_track){
        .parent = PLUMB_TABLE_NONE, .process = PLUMB_TABLE_NONE, .whole = true};
    t->tracks = tracks->at;
    t->track_count = (uint32_t)tracks->count;
    return t->track_count - 1;
}

uint32_t plumb_table_track(struct plumb_table *t, uint64_t uuid)
{
    uint32_t track = plumb_ids_get(&t->build->track_of, uuid);
    if (track)
        return track - 1;
    track = plumb_table_new_track(t);
    if (track == PLUMB_TABLE_NONE)
        return track;
    t->tracks[track].uuid = uuid;
    if (!plumb_ids_put(&t->build->track_of, uuid, track + 1))
        t->build->failed = true;
    return track;
}

static void include(struct plumb_table_build *b, int64_t ns)
{
    b->least = b->timed && b->least < ns ? b->least : ns;
    b->most = b->timed && b->most > ns ? b->most : ns;
    b->timed = true;
}

/* So that a track whose events came in order need not be looked at for that again. */
static void follow(struct plumb_build_track *way, const struct plumb_build_event *e, bool complete)
{
    way->unsorted |= e->ns < way->last || (e->ns == way->last && (complete || way->complete));
    way->complete = complete;
    way->last = e->ns;
    way->events++;
}

static uint32_t add_event(struct plumb_table *t, struct plumb_build_event event)
{
    struct plumb_table_build *b = t->build;
    enum plumb_build_type type = plumb_build_type(&event);
    struct plumb_build_event *e = NULL;
    uint32_t track = plumb_build_track(&event);
    if (track < t->track_count)
        e = plumb_build_add(b, &b->events, sizeof *e);
    if (!e)
        return PLUMB_TABLE_NONE;
    *e = event;
    b->slices += type == PLUMB_BUILD_BEGIN || type == PLUMB_BUILD_COMPLETE;
    b->instants += type == PLUMB_BUILD_INSTANT;
    include(b, e->ns);
    follow((struct plumb_build_track *)b->ways.at + track, e,
           type == PLUMB_BUILD_COMPLETE || type == PLUMB_BUILD_POINT);
    return (uint32_t)(b->events.count - 1);
}

static uint32_t track_type(uint32_t track, enum plumb_build_type type)
{
    return track << PLUMB_BUILD_TYPE_BITS | type;
}

uint32_t plumb_table_begin(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name,
                           uint32_t category)
{
    return add_event(t, (struct plumb_build_event){
                            ns, track_type(track, PLUMB_BUILD_BEGIN), 0, {.of = {name, category}}});
}

uint32_t plumb_table_end(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name)
{
    return add_event(t, (struct plumb_build_event){
                            ns, track_type(track, PLUMB_BUILD_END), 0, {.of = {name, 0}}});
}

uint32_t plumb_table_instant(struct plumb_table *t, uint32_t track, int64_t ns, uint32_t name,
                             uint32_t category)
{
    return add_event(t,
                     (struct plumb_build_event){
                         ns, track_type(track, PLUMB_BUILD_INSTANT), 0, {.of = {name, category}}});
}

uint32_t plumb_table_complete(struct plumb_table *t, uint32_t track, int64_t ns, uint64_t dur_ns,
                              uint32_t name, uint32_t category)
{
    struct plumb_table_build *b = t->build;
    uint64_t *dur = plumb_build_add(b, &b->durations, sizeof *dur);
    uint64_t most = (uint64_t)INT64_MAX - (uint64_t)ns; /* until the end of all times */
    if (!dur)
        return PLUMB_TABLE_NONE;
    *dur = dur_ns < most ? dur_ns : most;
    include(b, (int64_t)((uint64_t)ns + *dur));
    return add_event(t, (struct plumb_build_event){ns,
                                                   track_type(track, PLUMB_BUILD_COMPLETE),
                                                   (uint32_t)(b->durations.count - 1),
                                                   {.of = {name, category}}});
}

uint32_t plumb_table_point(struct plumb_table *t, uint32_t track, int64_t ns, bool next)
{
    return add_event(
        t, (struct plumb_build_event){ns, track_type(track, PLUMB_BUILD_POINT), next, {.row = 0}});
}

static void add_counter(struct plumb_table *t, const struct plumb_build_event *event)
{
    struct plumb_build_event *e = NULL;
    if (plumb_build_track(event) < t->track_count)
        e = plumb_build_add(t->build, &t->build->counters, sizeof *e);
    if (!e)
        return;
    *e = *event;
    include(t->build, e->ns);
}

void plumb_table_counter_i64(struct plumb_table *t, uint32_t track, int64_t ns, int64_t value)
{
    add_counter(t, &(struct plumb_build_event){
                       ns, track_type(track, PLUMB_BUILD_I64), 0, {.value = {.i64 = value}}});
}

void plumb_table_counter_f64(struct plumb_table *t, uint32_t track, int64_t ns, double value)
{
    add_counter(t, &(struct plumb_build_event){
                       ns, track_type(track, PLUMB_BUILD_F64), 0, {.value = {.f64 = value}}});
    if (track < t->track_count)
        t->tracks[track].whole = false;
}

void plumb_table_add_arg(struct plumb_table *t, uint32_t event, uint32_t key,
                         enum plumb_table_type type, union plumb_table_number value)
{
    struct plumb_build_arg *a;
    if (event != PLUMB_TABLE_NONE && (a = plumb_build_add(t->build, &t->build->args, sizeof *a)))
        *a = (struct plumb_build_arg){value, event, key << PLUMB_BUILD_TYPE_BITS | type};
}

void plumb_table_add_flow(struct plumb_table *t, uint32_t event, uint64_t id,
                          enum plumb_flow_role role)
{
    struct plumb_build_flow *f;
    const struct plumb_build_event *events = t->build->events.at;
    if (event != PLUMB_TABLE_NONE && (f = plumb_build_add(t->build, &t->build->flows, sizeof *f)))
        *f = (struct plumb_build_flow){id, events[event].ns, event, role};
}

void plumb_table_add_fact(struct plumb_table *t, uint32_t key, enum plumb_table_type type,
                          union plumb_table_number value)
{
    struct plumb_table_fact *f = plumb_build_add(t->build, &t->build->facts, sizeof *f);
    if (!f)
        return;
    *f = (struct plumb_table_fact){key, type, value};
    t->facts = t->build->facts.at;
    t->fact_count = (uint32_t)t->build->facts.count;
}

void plumb_table_set_zero(struct plumb_table *t, int64_t ns, uint64_t unix_ns)
{
    if (t->build->has_zero)
        return;
    t->build->has_zero = true;
    t->build->zero = ns;
    t->unix_ns = unix_ns;
}

/* ---- Asking --------------------------------------------------------------------------------- */

uint32_t plumb_table_after(const struct plumb_table *t, uint32_t slice)
{
    const struct plumb_table_slices *s = &t->slices;
    uint32_t i = slice + 1;
    while (i < s->count && s->depth[i] > s->depth[slice] && s->track[i] == s->track[slice])
        i++;
    return i;
}

uint32_t plumb_table_arg(const struct plumb_table *t, uint32_t slice, uint32_t key)
{
    for (uint32_t i = t->slices.args[slice + 1]; i-- > t->slices.args[slice];)
        if (t->slice_args.key[i] == key)
            return i;
    return PLUMB_TABLE_NONE;
}

const char *plumb_table_phase(const struct plumb_table *t, uint32_t category)
{
    return category == 0 && t->plumb ? "inference" : plumb_table_text(t, category);
}

const struct plumb_table_fact *plumb_table_fact(const struct plumb_table *t, const char *key)
{
    uint32_t id = plumb_strings_find(&t->strings, key);
    for (uint32_t i = t->fact_count; i-- > 0;)
        if (t->facts[i].key == id)
            return &t->facts[i];
    return NULL;
}

/* The value of the first of the two facts that the trace has; -1: it has neither. */
static int32_t number_of(const struct plumb_table *t, const char *own, const char *kineto)
{
    const char *const keys[] = {own, kineto};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct plumb_table_fact *f = plumb_table_fact(t, keys[i]);
        if (f && f->type == PLUMB_ARG_I64 && f->value.i64 >= 0 && f->value.i64 <= INT32_MAX)
            return (int32_t)f->value.i64;
    }
    return -1;
}

struct plumb_table_rank plumb_table_rank(const struct plumb_table *t)
{
    const struct plumb_table_fact *backend = plumb_table_fact(t, "distributedInfo.backend");
    return (struct plumb_table_rank){
        .rank = number_of(t, "plumb.rank", "distributedInfo.rank"),
        .world_size = number_of(t, "plumb.world_size", "distributedInfo.world_size"),
        .backend = backend && backend->type == PLUMB_ARG_TEXT
                       ? plumb_table_text(t, (uint32_t)backend->value.u64)
                       : NULL,
    };
}

void plumb_table_put_value(struct plumb_buf *out, const struct plumb_table *t,
                           enum plumb_table_type type, union plumb_table_number value)
{
    struct plumb_json number;
    switch (type) {
    case PLUMB_ARG_I64:
        plumb_buf_printf(out, "%" PRId64, value.i64);
        break;
    case PLUMB_ARG_U64:
        plumb_buf_printf(out, "%" PRIu64, value.u64);
        break;
    case PLUMB_ARG_F64:
        plumb_json_init(&number, out, 0);
        if (plumb_json_special(value.f64))
            plumb_buf_str(out, plumb_json_special(value.f64));
        else
            plumb_json_f64(&number, value.f64);
        break;
    case PLUMB_ARG_BOOL:
        plumb_buf_str(out, value.u64 ? "true" : "false");
        break;
    case PLUMB_ARG_POINTER:
        plumb_buf_printf(out, "0x%" PRIx64, value.u64);
        break;
    case PLUMB_ARG_TEXT:
    case PLUMB_ARG_JSON:
        plumb_buf_str(out, plumb_table_text(t, (uint32_t)value.u64));
        break;
    }
}

uint32_t plumb_table_group(const struct plumb_table *t, uint32_t track)
{
    uint32_t parent = t->tracks[track].parent;
    if (parent == PLUMB_TABLE_NONE || t->tracks[parent].kind == PLUMB_TRACK_PROCESS ||
        t->tracks[parent].kind == PLUMB_TRACK_THREAD)
        return PLUMB_TABLE_NONE;
    return parent;
}

void plumb_table_put_track(struct plumb_buf *out, const struct plumb_table *t, uint32_t track)
{
    const struct plumb_table_track *l = &t->tracks[track];
    uint32_t top = PLUMB_TABLE_NONE, above = track;
    while (t->plumb && (above = plumb_table_group(t, above)) != PLUMB_TABLE_NONE)
        top = above;
    /* A track below a queue that has no device bears the name of the queue already. */
    if (top != PLUMB_TABLE_NONE && t->tracks[top].name &&
        strncmp(plumb_table_text(t, l->name), plumb_table_text(t, t->tracks[top].name),
                strlen(plumb_table_text(t, t->tracks[top].name))) != 0)
        plumb_buf_printf(out, "%s: ", plumb_table_text(t, t->tracks[top].name));
    if (l->name)
        plumb_buf_str(out, plumb_table_text(t, l->name));
    else if (l->kind == PLUMB_TRACK_THREAD)
        plumb_buf_printf(out, "thread %" PRId64, l->tid);
    else if (l->kind == PLUMB_TRACK_PROCESS)
        plumb_buf_printf(out, "process %" PRId64, l->pid);
    else
        plumb_buf_printf(out, "track %" PRIu32, track);
}
