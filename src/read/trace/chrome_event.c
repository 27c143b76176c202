/* chrome_event.c: events of a Chrome trace become events of the table. */
#include <stdlib.h>
#include <string.h>

#include "codec/chrome_words.h"
#include "codec/perfetto.h"
#include "read/trace/chrome_parts.h"

/* ---- Tracks ---------------------------------------------------------------------------------- */

static uint64_t word(const struct plumb_chrome_id *id)
{
    return (uint64_t)id->number + (id->is_text ? UINT64_C(1) << 63 : 0);
}

static uint32_t track_of(struct plumb_chrome *r, char kind, uint64_t a, uint64_t b, bool *fresh)
{
    uint32_t count = r->t->track_count;
    uint32_t track = plumb_table_track(r->t, plumb_pf_uuid(0, (uint32_t)kind, a, b));
    *fresh = r->t->track_count > count;
    return track;
}

static uint32_t process_of(struct plumb_chrome *r)
{
    const struct plumb_chrome_id *pid = &r->event.pid;
    bool fresh;
    uint32_t track = track_of(r, 'P', word(pid), 0, &fresh);
    if (!fresh || track == PLUMB_TABLE_NONE)
        return track;
    r->t->tracks[track].kind = PLUMB_TRACK_PROCESS;
    r->t->tracks[track].known = true;
    r->t->tracks[track].name = pid->is_text ? pid->text : 0;
    r->t->tracks[track].has_pid = !pid->is_text;
    r->t->tracks[track].pid = pid->is_text ? 0 : pid->number;
    return track;
}

static uint32_t thread_of(struct plumb_chrome *r)
{
    const struct plumb_chrome_id *tid = r->event.tid.there ? &r->event.tid : &r->event.pid;
    bool fresh;
    uint32_t process = process_of(r);
    uint32_t track = track_of(r, 'T', word(&r->event.pid), word(tid), &fresh);
    if (!fresh || track == PLUMB_TABLE_NONE)
        return track;
    r->t->tracks[track].kind = PLUMB_TRACK_THREAD;
    r->t->tracks[track].known = true;
    r->t->tracks[track].parent = process;
    r->t->tracks[track].name = tid->is_text ? tid->text : 0;
    r->t->tracks[track].has_tid = !tid->is_text;
    r->t->tracks[track].tid = tid->is_text ? 0 : tid->number;
    return track;
}

/* Asynchronous slices of one category and id; an id may hold for the process or for all. */
static uint32_t async_of(struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    uint32_t process = process_of(r);
    uint64_t scope = e->id_kind == 'l' ? word(&e->pid) : 0;
    bool fresh;
    uint32_t track = track_of(r, e->id_kind ? e->id_kind : 'i',
                              word(&e->id) ^ (uint64_t)e->category << 40, scope, &fresh);
    if (!fresh || track == PLUMB_TABLE_NONE)
        return track;
    r->t->tracks[track].name = e->name;
    r->t->tracks[track].parent = process;
    r->t->tracks[track].known = true;
    return track;
}

/* ---- Counters ------------------------------------------------------------------------------- */

static bool number_of(const struct plumb_table *t, const struct plumb_chrome_raw_arg *a,
                      double *out)
{
    const char *text;
    char *end;
    switch (a->type) {
    case PLUMB_ARG_I64:
        *out = (double)a->value.i64;
        return true;
    case PLUMB_ARG_U64:
        *out = (double)a->value.u64;
        return true;
    case PLUMB_ARG_F64:
        *out = a->value.f64;
        return true;
    case PLUMB_ARG_TEXT: /* some writers have them as texts */
        text = plumb_table_text(t, (uint32_t)a->value.u64);
        *out = strtod(text, &end);
        return end != text && !*end && *out - *out == 0;
    default:
        return false;
    }
}

static void put_counters(struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    uint32_t process = process_of(r);
    for (size_t i = 0; i < r->arg_count; i++) {
        const struct plumb_chrome_raw_arg *a = &r->args[i];
        double value;
        bool fresh;
        if (!number_of(r->t, a, &value))
            continue;
        uint32_t track = track_of(r, 'C', word(&e->pid) ^ word(&e->id),
                                  (uint64_t)e->name << 32 | a->key, &fresh);
        if (track == PLUMB_TABLE_NONE)
            return;
        if (fresh) {
            r->key.len = 0;
            plumb_buf_str(&r->key, plumb_table_text(r->t, e->name));
            if (a->key != e->name) {
                plumb_buf_str(&r->key, r->key.len && a->key ? " " : "");
                plumb_buf_str(&r->key, plumb_table_text(r->t, a->key));
            }
            uint32_t name = plumb_table_string(r->t, r->key.data, r->key.len);
            r->t->tracks[track].name = name;
            r->t->tracks[track].kind = PLUMB_TRACK_COUNTER;
            r->t->tracks[track].parent = process;
            r->t->tracks[track].known = true;
        }
        if (a->type == PLUMB_ARG_I64)
            plumb_table_counter_i64(r->t, track, e->ts_ns, a->value.i64);
        else
            plumb_table_counter_f64(r->t, track, e->ts_ns, value);
    }
}

/* ---- Metadata ------------------------------------------------------------------------------- */

static const struct plumb_chrome_raw_arg *find_arg(const struct plumb_chrome *r, const char *key)
{
    for (size_t i = 0; i < r->arg_count; i++)
        if (strcmp(plumb_table_text(r->t, r->args[i].key), key) == 0)
            return &r->args[i];
    return NULL;
}

static void put_metadata(struct plumb_chrome *r)
{
    const char *what = plumb_table_text(r->t, r->event.name);
    bool of_process = strncmp(what, "process_", 8) == 0;
    const struct plumb_chrome_raw_arg *name = find_arg(r, "name"),
                                      *rank = find_arg(r, "sort_index");
    if (!of_process && strncmp(what, "thread_", 7) != 0)
        return;
    uint32_t track = of_process ? process_of(r) : thread_of(r);
    if (track == PLUMB_TABLE_NONE)
        return;
    if (name && name->type == PLUMB_ARG_TEXT && strstr(what, "_name"))
        r->t->tracks[track].name = (uint32_t)name->value.u64;
    if (rank && rank->type == PLUMB_ARG_I64 && strstr(what, "_sort_index"))
        r->t->tracks[track].rank = (int32_t)rank->value.i64;
}

/* ---- Events --------------------------------------------------------------------------------- */

static void put_flow(struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    uint32_t track = thread_of(r);
    uint32_t point = plumb_table_point(r->t, track, e->ts_ns, e->phase == 'f' && !e->binds_around);
    uint64_t id = plumb_pf_uuid(0, 'F', word(&e->id), (uint64_t)e->name << 32 | e->category);
    /* One start may have many ends, as the launch of a graph has. */
    plumb_table_add_flow(r->t, point, id, e->phase == 'f' ? PLUMB_FLOW_LEAF : PLUMB_FLOW_ON);
}

static uint32_t put_event(struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    switch (e->phase) {
    case 'X':
        return plumb_table_complete(r->t, thread_of(r), e->ts_ns,
                                    e->dur_ns > 0 ? (uint64_t)e->dur_ns : 0, e->name, e->category);
    case 'B':
        return plumb_table_begin(r->t, thread_of(r), e->ts_ns, e->name, e->category);
    case 'E':
        return plumb_table_end(r->t, thread_of(r), e->ts_ns, e->name);
    case 'I':
    case 'i':
    case 'R':
        return plumb_table_instant(r->t, thread_of(r), e->ts_ns, e->name, e->category);
    case 'b':
    case 'S':
        return plumb_table_begin(r->t, async_of(r), e->ts_ns, e->name, e->category);
    case 'e':
    case 'F':
        return plumb_table_end(r->t, async_of(r), e->ts_ns, e->name);
    case 'n':
    case 'T':
    case 'p':
        return plumb_table_instant(r->t, async_of(r), e->ts_ns, e->name, e->category);
    default:
        r->t->faults.other++;
        return PLUMB_TABLE_NONE;
    }
}

/* The instant that our exports end with, as Kineto's traces do. It is not an event of the program.
 */
static bool is_end_mark(const struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    return r->escaped && e->phase == 'i' && r->arg_count == 0 &&
           strcmp(plumb_table_text(r->t, e->name), PLUMB_CHROME_WINDOW_END) == 0;
}

void plumb_chrome_put(struct plumb_chrome *r)
{
    const struct plumb_chrome_raw_event *e = &r->event;
    if (is_end_mark(r))
        return;
    if (e->phase == 'M') {
        put_metadata(r);
        return;
    }
    if (e->phase == 0 || !e->has_ts || e->bad_ts) {
        r->t->faults.damaged++;
        return;
    }
    if (e->phase == 'C') {
        put_counters(r);
        return;
    }
    if (e->phase == 's' || e->phase == 't' || e->phase == 'f') {
        put_flow(r);
        return;
    }
    uint32_t event = put_event(r);
    for (size_t i = 0; i < r->arg_count; i++)
        plumb_table_add_arg(r->t, event, r->args[i].key, r->args[i].type, r->args[i].value);
}
