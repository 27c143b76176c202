/* perfetto_tracks.c: track descriptors become tracks of the table. */
#include "read/trace/perfetto_parts.h"

/* The number of a thread's track for older writers, which name threads by pid and tid instead.
 * Newer ones number their tracks at random, so the two hardly meet. */
static uint64_t number_of(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ b * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ x >> 31) * UINT64_C(0x94d049bb133111eb) | 1;
}

static struct plumb_table_track *track_at(struct plumb_pfr *r, uint32_t track)
{
    return track == PLUMB_TABLE_NONE ? NULL : &r->t->tracks[track];
}

/* ---- Counters ------------------------------------------------------------------------------- */

struct plumb_pfr_counter *plumb_pfr_counter(struct plumb_pfr *r, uint32_t track)
{
    uint32_t place = plumb_ids_get(&r->counter_of, track);
    return place ? &r->counters[place - 1] : NULL;
}

static void keep_counter(struct plumb_pfr *r, uint32_t track,
                         const struct plumb_pfr_counter *counter)
{
    struct plumb_pfr_counter *known = plumb_pfr_counter(r, track), *all;
    if (known) {
        known->multiplier = counter->multiplier;
        known->incremental = counter->incremental;
        return;
    }
    all = plumb_arena_grow(&r->arena, r->counters, &r->counter_cap, r->counter_count + 1,
                           sizeof *all);
    if (!all || !plumb_ids_put(&r->counter_of, track, (uint32_t)r->counter_count + 1)) {
        r->failed = true;
        return;
    }
    r->counters = all;
    all[r->counter_count++] = *counter;
}

static void read_counter(struct plumb_pfr *r, uint32_t track, struct plumb_wire w)
{
    struct plumb_pfr_counter counter = {0};
    struct plumb_table_track *l = track_at(r, track);
    while (plumb_wire_next(&w)) {
        if (w.field == PF_COUNTER_UNIT && w.v <= PLUMB_UNIT_BYTES)
            l->unit = (enum plumb_track_unit)w.v;
        else if (w.field == PF_COUNTER_UNIT_NAME)
            l->unit_name = plumb_pfr_text(r, w.bytes, w.n);
        else if (w.field == PF_COUNTER_UNIT_MULTIPLIER)
            counter.multiplier = (int64_t)w.v;
        else if (w.field == PF_COUNTER_IS_INCREMENTAL)
            counter.incremental = w.v != 0;
    }
    l->kind = PLUMB_TRACK_COUNTER;
    if (counter.multiplier > 1 || counter.incremental)
        keep_counter(r, track, &counter);
}

/* ---- Processes and threads ------------------------------------------------------------------ */

static void read_process(struct plumb_pfr *r, uint32_t track, struct plumb_wire w)
{
    struct plumb_table_track *l = track_at(r, track);
    r->text.len = 0;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_PROCESS_PID) {
            l->pid = (int32_t)w.v;
            l->has_pid = true;
        } else if (w.field == PF_PROCESS_NAME) {
            l->name = plumb_pfr_text(r, w.bytes, w.n);
        } else if (w.field == PF_PROCESS_CMDLINE) {
            plumb_buf_str(&r->text, r->text.len ? " " : "");
            plumb_buf_append(&r->text, w.bytes, w.n);
        }
    }
    l->kind = PLUMB_TRACK_PROCESS;
    if (r->text.len > 0) {
        union plumb_table_number text = {
            .u64 = plumb_pfr_text(r, (const unsigned char *)r->text.data, r->text.len)};
        plumb_table_add_fact(r->t, plumb_table_string(r->t, "cmdline", 7), PLUMB_ARG_TEXT, text);
    }
}

static int64_t read_thread(struct plumb_pfr *r, uint32_t track, struct plumb_wire w)
{
    struct plumb_table_track *l = track_at(r, track);
    int64_t reference_us = 0;
    while (plumb_wire_next(&w)) {
        if (w.field == PF_THREAD_PID) {
            l->pid = (int32_t)w.v;
            l->has_pid = true;
        } else if (w.field == PF_THREAD_TID) {
            l->tid = (int64_t)w.v;
            l->has_tid = true;
        } else if (w.field == PF_THREAD_NAME && w.n > 0) {
            l->name = plumb_pfr_text(r, w.bytes, w.n);
        } else if (w.field == PF_THREAD_REFERENCE_US) {
            reference_us = (int64_t)w.v;
        }
    }
    l->kind = PLUMB_TRACK_THREAD;
    return reference_us;
}

/* ---- Tracks --------------------------------------------------------------------------------- */

static uint32_t track_of(struct plumb_pfr *r, struct plumb_wire w)
{
    uint64_t uuid = 0;
    while (plumb_wire_next(&w))
        if (w.field == PF_TRACK_UUID)
            uuid = w.v;
    return plumb_table_track(r->t, uuid);
}

static void read_own_fields(struct plumb_pfr *r, uint32_t track, struct plumb_wire w)
{
    while (plumb_wire_next(&w)) {
        struct plumb_table_track *l = track_at(r, track); /* tracks move when one is made */
        switch (w.field) {
        case PF_TRACK_NAME:
        case PF_TRACK_STATIC_NAME:
        case PF_TRACK_ATRACE_NAME:
            l->name = plumb_pfr_text(r, w.bytes, w.n);
            break;
        case PF_TRACK_PARENT_UUID: {
            uint32_t parent = w.v ? plumb_table_track(r->t, w.v) : PLUMB_TABLE_NONE;
            track_at(r, track)->parent = parent == track ? PLUMB_TABLE_NONE : parent;
            break;
        }
        case PF_TRACK_SIBLING_ORDER_RANK:
            l->rank = (int32_t)w.v;
            break;
        default:
            break;
        }
    }
}

void plumb_pfr_track(struct plumb_pfr *r, struct plumb_wire w)
{
    uint32_t track = track_of(r, w);
    struct plumb_wire again = w;
    if (track == PLUMB_TABLE_NONE)
        return;
    track_at(r, track)->known = true;
    while (plumb_wire_next(&again)) {
        if (again.field == PF_TRACK_PROCESS)
            read_process(r, track, plumb_wire_inner(&again));
        else if (again.field == PF_TRACK_THREAD)
            read_thread(r, track, plumb_wire_inner(&again));
        else if (again.field == PF_TRACK_COUNTER)
            read_counter(r, track, plumb_wire_inner(&again));
    }
    read_own_fields(r, track, w); /* its own name comes before a thread's */
}

/* ---- Descriptors of older writers ----------------------------------------------------------- */

uint32_t plumb_pfr_thread_track(struct plumb_pfr *r, int64_t pid, int64_t tid)
{
    uint32_t track = plumb_table_track(r->t, number_of((uint64_t)pid, (uint64_t)tid));
    struct plumb_table_track *l = track_at(r, track);
    if (!l || l->known)
        return track;
    l->kind = PLUMB_TRACK_THREAD;
    l->pid = pid;
    l->tid = tid;
    l->has_pid = l->has_tid = l->known = true;
    return track;
}

void plumb_pfr_process(struct plumb_pfr *r, struct plumb_wire w)
{
    struct plumb_wire again = w;
    uint64_t pid = 0;
    while (plumb_wire_next(&again))
        if (again.field == PF_PROCESS_PID)
            pid = again.v;
    uint32_t track = plumb_table_track(r->t, number_of(pid, UINT64_MAX));
    if (track == PLUMB_TABLE_NONE)
        return;
    track_at(r, track)->known = true;
    read_process(r, track, w);
}

void plumb_pfr_thread(struct plumb_pfr *r, struct plumb_pfr_sequence *s, struct plumb_wire w)
{
    struct plumb_wire again = w;
    int64_t pid = 0, tid = 0;
    while (plumb_wire_next(&again)) {
        if (again.field == PF_THREAD_PID)
            pid = (int32_t)again.v;
        else if (again.field == PF_THREAD_TID)
            tid = (int32_t)again.v;
    }
    uint32_t track = plumb_pfr_thread_track(r, pid, tid);
    if (track == PLUMB_TABLE_NONE)
        return;
    s->reference_us = read_thread(r, track, w);
    s->legacy = true;
    s->pid = pid;
    s->tid = tid;
    s->track = track + 1;
}
