/* session.c: see session.h.
 *
 * A primitive of a CPU engine runs on the thread that calls it (and on the workers that oneDNN
 * wakes for it), so its span is host time: its lane is PLUMB_LANE_OF_HOST, of which nothing counts
 * as device time. A lane belongs to one thread at a time, so that spans of a lane nest; the lane of
 * a thread that has ended goes to the next one that comes.
 *
 * This module is a client of the runtime: it is not linked with libplumb, calls it through the
 * table of functions alone, and names no symbol of it, for a process that refers to plumb gets a
 * second thread when it starts (base/process/references.h), which most of those below
 * `plumb record` should not get. No lock anywhere: a forked child might find it taken. */
#include "collect/onednn/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/futex.h"
#include "collect/onednn/runtime.h"

enum { LANES = 64, LANE_SLOTS = 16384, ARGS = 6, NAP_NS = 200000, WAIT_NS = 500000000 };

static struct {
    const struct plumb_api *api; /* atomic; of the runtime, once there is one */
    plumb_collector *self;       /* atomic */
    uint32_t tried_to_load;      /* atomic */
    uint32_t has_key;            /* `key` has been made; its destructor runs when a thread ends */
    pthread_key_t key;
    uint32_t serial;      /* atomic; of the session that is open; 0: none is */
    uint32_t started;     /* sessions so far */
    uint64_t waits_since; /* atomic; ns: see wait_for_session(); 0: no thread has waited */
    uint32_t lanes;       /* atomic: that this session has opened, perhaps before it began */
    uint32_t seen;        /* atomic: a call came by in this session */
    uint64_t missed;      /* atomic: calls of threads for which there is no lane */
    plumb_name impl, shapes, types, flops, bytes, details;
    struct {
        uint64_t owner;  /* atomic; serial << 32 | thread id; 0: free */
        plumb_lane lane; /* atomic: changed by the owner, or while no session is open */
    } lane[LANES];
} session;

/* The calling thread's place; of an older session where `serial` is another one. */
static __thread struct {
    uint32_t serial, at;
    plumb_lane lane;
} mine __attribute__((tls_model("initial-exec")));

/* ---- The collector --------------------------------------------------------------------------- */

static int start(plumb_collector *self, void *arg, const char *options, plumb_error *err)
{
    (void)arg;
    (void)options;
    (void)err;
    PLUMB_STORE(session.self, self);
    for (int i = 0; i < LANES; i++) {
        PLUMB_STORE(session.lane[i].lane.id, 0);
        PLUMB_STORE(session.lane[i].owner, 0);
    }
    PLUMB_STORE(session.seen, 0);
    PLUMB_STORE(session.missed, 0);
    PLUMB_RELEASE(session.serial, ++session.started);
    return PLUMB_OK;
}

static int fail(plumb_error *err, int code, const char *text, unsigned long long number)
{
    err->code = code;
    snprintf(err->message, sizeof err->message, text, number);
    return code;
}

static int stop(void *arg, plumb_error *err)
{
    unsigned long long missed = PLUMB_LOAD(session.missed);
    (void)arg;
    PLUMB_RELEASE(session.serial, 0);
    PLUMB_STORE(session.lanes, 0);
    PLUMB_STORE(session.waits_since, 0);
    if (missed)
        return fail(err, PLUMB_ERR_STATE,
                    "%llu primitives are missing: more than 64 threads at a time ran some", missed);
    if (!PLUMB_LOAD(session.seen))
        return fail(err, PLUMB_ERR_ABSENT,
                    "no call of dnnl_primitive_execute() came by: the program ran no primitive, or "
                    "its oneDNN lies inside another library, as in PyTorch's wheels",
                    0);
    return PLUMB_OK;
}

static void take_names(const struct plumb_api *api)
{
    session.impl = api->name_get("impl");
    session.shapes = api->name_get("shapes");
    session.types = api->name_get("dtypes");
    session.flops = api->name_get("flops");
    session.bytes = api->name_get("bytes");
    session.details = api->name_get("op");
}

static void leave_lane(void *unused);

static void use(const struct plumb_api *api)
{
    plumb_collector_ops ops;
    plumb_collector *self;
    plumb_error err = {0, ""};
    memset(&ops, 0, sizeof ops);
    ops.size = sizeof ops;
    ops.name = "onednn";
    ops.help = "primitives of oneDNN: implementation, shapes, FLOPs, bytes, time";
    ops.start = start;
    ops.stop = stop;
    take_names(api);
    session.has_key = pthread_key_create(&session.key, leave_lane) == 0;
    self = api->collector_register(&ops, NULL, &err);
    if (!self)
        return;
    PLUMB_STORE(session.self, self);
    PLUMB_RELEASE(session.api, api);
}

/* ---- The runtime ----------------------------------------------------------------------------- */

void plumb_onednn_meet(bool load)
{
    const struct plumb_api *api;
    int saved = errno;
    uint32_t first = 0;
    if (PLUMB_LOAD(session.api))
        return;
    if (load && !__atomic_compare_exchange_n(&session.tried_to_load, &first, 1, false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    api = plumb_onednn_runtime(load);
    if (api && api->size >= offsetof(struct plumb_api, instant))
        use(api);
    errno = saved;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static uint64_t owner_of(uint32_t serial)
{
    return (uint64_t)serial << 32 | (uint32_t)syscall(SYS_gettid);
}

/* At the end of a thread. */
static void leave_lane(void *unused)
{
    uint64_t owner = owner_of(mine.serial);
    (void)unused;
    if (mine.serial)
        __atomic_compare_exchange_n(&session.lane[mine.at].owner, &owner, 0, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    mine.serial = 0;
}

static bool open_lane(plumb_lane *out, const struct plumb_api *api)
{
    plumb_lane_options o;
    char name[32];
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.kind = PLUMB_LANE_OF_HOST;
    o.slots = LANE_SLOTS;
    o.name = name;
    snprintf(name, sizeof name, "oneDNN %u", PLUMB_ADD(session.lanes, 1) + 1);
    if (api->lane_open(out, PLUMB_LOAD(session.self), &o, NULL) >= 0)
        return true;
    PLUMB_ADD(session.lanes, (uint32_t)-1);
    return false;
}

/* A run records a moment before its collectors have started. A thread that comes in between waits
 * for the session, for half a second after the first one at most: a program whose run does not have
 * this collector is held up once. */
static bool wait_for_session(const struct plumb_api *api)
{
    uint64_t now, none = 0;
    if (PLUMB_ACQUIRE(session.serial))
        return true;
    if (!api->is_recording())
        return false;
    now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    __atomic_compare_exchange_n(&session.waits_since, &none, now, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    while (!PLUMB_ACQUIRE(session.serial)) {
        if (now - PLUMB_LOAD(session.waits_since) > WAIT_NS)
            return false;
        plumb_nap(NAP_NS);
        now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    }
    return true;
}

/* Takes a free place. `empty`: one without a lane. Returns LANES if there is none. */
static uint32_t take_place(uint64_t owner, bool empty)
{
    uint32_t at = 0;
    for (; at < LANES; at++) {
        uint64_t nobody = 0;
        if (empty && PLUMB_LOAD(session.lane[at].lane.id))
            continue;
        if (__atomic_compare_exchange_n(&session.lane[at].owner, &nobody, owner, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            break;
    }
    return at;
}

/* `lane`: all-zero, or one that this thread has opened already. */
static bool fill_place(uint32_t at, plumb_lane lane, const struct plumb_api *api)
{
    if (PLUMB_LOAD(session.lane[at].lane.id))
        return true;
    if (!lane.id && !open_lane(&lane, api)) {
        PLUMB_RELEASE(session.lane[at].owner, 0);
        return false;
    }
    PLUMB_STORE(session.lane[at].lane.id, lane.id);
    return true;
}

/* The thread's lane in the open session. A run that is wanted opens with the first lane that is
 * asked for, and with it the session. False: nothing records, or there is no lane. */
static PLUMB_COLD bool take_lane(const struct plumb_api *api)
{
    plumb_lane lane = {0};
    uint32_t serial = PLUMB_ACQUIRE(session.serial), at;
    if (!serial) {
        open_lane(&lane, api); /* opens the run */
        if (!wait_for_session(api))
            return false;
        serial = PLUMB_ACQUIRE(session.serial);
    }
    if (!serial)
        return false;
    PLUMB_STORE(session.seen, 1);
    at = take_place(owner_of(serial), lane.id != 0);
    if (at == LANES)
        PLUMB_ADD(session.missed, 1);
    if (at == LANES || !fill_place(at, lane, api))
        return false;
    mine.serial = serial;
    mine.at = at;
    mine.lane.id = PLUMB_LOAD(session.lane[at].lane.id);
    if (session.has_key)
        pthread_setspecific(session.key, &session);
    return true;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void capture(struct plumb_onednn_span *out, const struct plumb_api *api)
{
    out->serial = mine.serial;
    out->lane = mine.lane;
    memset(&out->origin, 0, sizeof out->origin);
    out->origin.step = -1;
    api->origin_capture(&out->origin, out->lane, 0);
}

bool plumb_onednn_begin(struct plumb_onednn_span *out, const struct plumb_dnnl *d,
                        const struct plumb_dnnl_call *call)
{
    const struct plumb_api *api = PLUMB_ACQUIRE(session.api);
    int saved = errno;
    bool have;
    if (PLUMB_UNLIKELY(!api)) {
        plumb_onednn_meet(true);
        api = PLUMB_ACQUIRE(session.api);
    }
    if (!api)
        return false;
    have = (mine.serial && mine.serial == PLUMB_ACQUIRE(session.serial)) || take_lane(api);
    if (have) {
        plumb_onednn_facts_of(&out->facts, d, call, api->name_get);
        capture(out, api);
        /* The first call in a forked child has just opened the child's run. */
        if (PLUMB_UNLIKELY(out->serial != PLUMB_ACQUIRE(session.serial)) && take_lane(api))
            capture(out, api);
    }
    errno = saved;
    out->begin = have ? api->host_ticks() : 0;
    return have;
}

static void add_name(plumb_event_arg *args, uint32_t *n, plumb_name key, plumb_name value)
{
    if (!value)
        return;
    args[*n].key = key;
    args[*n].type = 3;
    args[(*n)++].value.i64 = (int64_t)value;
}

static void add_number(plumb_event_arg *args, uint32_t *n, plumb_name key, int64_t value,
                       bool known)
{
    if (!known)
        return;
    args[*n].key = key;
    args[*n].type = 1;
    args[(*n)++].value.i64 = value;
}

void plumb_onednn_end(struct plumb_onednn_span *span, bool ok)
{
    const struct plumb_api *api = PLUMB_LOAD(session.api);
    const struct plumb_onednn_facts *f = &span->facts;
    uint64_t end = api->host_ticks();
    const plumb_clock host = {0};
    plumb_event_arg args[ARGS];
    plumb_event e;
    uint32_t n = 0;
    int saved = errno;
    /* A session that has ended since would count it as late. */
    if (!ok || span->serial != PLUMB_ACQUIRE(session.serial))
        return;
    add_name(args, &n, session.impl, f->impl);
    add_name(args, &n, session.shapes, f->shapes);
    add_name(args, &n, session.types, f->types);
    add_number(args, &n, session.flops, f->flops, f->known & PLUMB_ONEDNN_FLOPS);
    add_number(args, &n, session.bytes, f->bytes, f->known & PLUMB_ONEDNN_BYTES);
    add_name(args, &n, session.details, f->details);
    memset(&e, 0, sizeof e);
    e.size = sizeof e;
    e.kind = PLUMB_EVENT_SPAN;
    e.name = f->name;
    e.begin = span->begin;
    e.end = end;
    e.origin = &span->origin;
    e.args = args;
    e.arg_count = n;
    api->emit(span->lane, host, &e);
    errno = saved;
}
