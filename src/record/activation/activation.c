/* activation.c: the call by which a layer reports a tensor.
 *
 * The statistics are computed on the program's thread, before the call returns, because the memory
 * is the program's. Everything after that is done by the writer's thread. No lock is held while a
 * tensor is read. */
#include "record/activation/activation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pages.h"
#include "base/scratch.h"
#include "record/runtime/enter.h"
#include "record/runtime/thread.h"
#include <plumb/stage.h>

enum { COPIES = 16, COPY_TRIES = 100, DEPTH = 16 };

struct plumb_act plumb_act = {.begin_lock = PTHREAD_MUTEX_INITIALIZER,
                              .lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    uint32_t changes; /* odd: being replaced */
    int32_t type;
    plumb_activation_copy_fn fn;
    void *arg;
} copies[COPIES];

/* This thread is in a call. Tensors that are reported during it, by a statistic or a copy function
 * of the program or by a signal handler, are left out. */
static __thread bool calling __attribute__((tls_model("initial-exec")));

/* The child has neither the parent's threads nor its writer; their locks and records are the
 * parent's. */
void plumb_activations_forked(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    plumb_act.lock = plumb_act.begin_lock = fresh;
    plumb_act.generation = plumb_act.inside = 0;
    plumb_act.undecided = NULL;
    plumb_act.deciding = 0;
    calling = false;
    plumb_act_queue_forked();
    plumb_act_dump_forked();
}

/* ---- A tensor -------------------------------------------------------------------------------- */

static void fail_record(struct plumb_act_record *r, const char *why)
{
    snprintf(r->why, sizeof r->why, "%.150s", why);
}

/* Reads an entry that may be replaced at the same time; `*fn` NULL: there is none for this type.
 * Returns false if it was replaced: the function and the argument may be of two calls. */
static bool read_copy(plumb_activation_copy_fn *fn, void **arg, int i, int32_t type)
{
    uint32_t changes = PLUMB_ACQUIRE(copies[i].changes);
    bool is = PLUMB_LOAD(copies[i].type) == type;
    *fn = PLUMB_LOAD(copies[i].fn);
    *arg = PLUMB_LOAD(copies[i].arg);
    plumb_order();
    *fn = is ? *fn : NULL;
    return changes % 2 == 0 && PLUMB_LOAD(copies[i].changes) == changes;
}

/* Without the lock, which this thread may hold: a signal handler may come here. It finds nothing
 * where it interrupted the replacement itself. */
static plumb_activation_copy_fn copy_of(int32_t type, void **arg)
{
    for (int i = 0; i < COPIES; i++) {
        plumb_activation_copy_fn fn = NULL;
        for (int k = 0; k < COPY_TRIES && !read_copy(&fn, arg, i, type); k++, fn = NULL)
            plumb_spin();
        if (fn)
            return fn;
    }
    return NULL;
}

void *plumb_act_fetch(struct plumb_view *v, uint64_t *bytes, plumb_error *why)
{
    void *arg, *copy;
    plumb_activation_copy_fn fn = copy_of(v->device.type, &arg);
    uint64_t below;
    int rc;
    if (!fn || !v->data || !plumb_view_span(v, &below, bytes))
        return NULL;
    copy = plumb_pages_map(*bytes);
    if (!copy) {
        plumb_fail(why, PLUMB_ERR_MEMORY, "no memory for a copy of %llu bytes",
                   (unsigned long long)*bytes);
        return NULL;
    }
    rc = fn(copy, v->data - below, *bytes, v->device.index, arg);
    if (rc != 0) {
        plumb_fail(why, PLUMB_ERR_IO, "the copy from the device failed with %d", rc);
        plumb_pages_unmap(copy, *bytes);
        return NULL;
    }
    v->data = (unsigned char *)copy + below;
    v->device = (struct plumb_dl_device){PLUMB_DL_CPU, 0};
    return copy;
}

static void own_statistics(struct plumb_act_record *r, const void *tensor)
{
    for (uint32_t i = 0; i < plumb_act.columns.count; i++) {
        int own = -1 - plumb_act.columns.column[i].index;
        char *why = r->own_why[own >= 0 ? own : 0];
        if (own < 0)
            continue;
        why[0] = '\0';
        if (plumb_act.own[own].fn(&r->own[own], tensor, why, PLUMB_RECORD_WHY,
                                  plumb_act.own[own].arg) == 0)
            continue;
        why[PLUMB_RECORD_WHY - 1] = '\0';
        if (!*why)
            snprintf(why, PLUMB_RECORD_WHY, "no reason given");
        r->head.own_bad |= 1u << own;
    }
}

/* Fills `v` and the type and shape of the record. *copy [*bytes] is memory that was mapped for
 * it. */
static void look(struct plumb_act_record *r, const void *tensor, struct plumb_view *v, void **copy,
                 uint64_t *bytes)
{
    plumb_error why = {0, ""};
    r->head.ndim = -1;
    if (plumb_view_init(v, tensor, &why) < 0) {
        fail_record(r, why.message);
        return;
    }
    r->head.dtype = v->dtype;
    r->head.ndim = v->ndim;
    if (v->ndim > 0)
        memcpy(r->shape, v->shape, (size_t)v->ndim * sizeof *r->shape);
    if (!plumb_dl_device_is_host(v->device))
        *copy = plumb_act_fetch(v, bytes, &why);
    if (why.code || plumb_value_stats(&r->stats, v, plumb_act.columns.want, &why) < 0)
        fail_record(r, why.message);
    else
        plumb_value_ieee(&r->stats);
    own_statistics(r, tensor);
}

/* ---- A call ---------------------------------------------------------------------------------- */

static uint32_t io_of(const char *label)
{
    static const struct {
        const char *name;
        uint32_t io;
    } begins[] = {{"in", PLUMB_RECORD_IN}, {"grad", PLUMB_RECORD_GRAD}};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        size_t n = strlen(begins[i].name);
        if (strncmp(label, begins[i].name, n) == 0 && strchr(".[", label[n]))
            return begins[i].io;
    }
    return PLUMB_RECORD_OUT;
}

struct call {
    const struct plumb_act_module *module;
    int64_t step;
    uint32_t phase;
};

static void record(const struct call *c, const char *label, const void *tensor)
{
    struct plumb_act_record *r = plumb_scratch_take();
    struct plumb_view view;
    struct timespec now;
    void *copy = NULL;
    uint64_t bytes = 0;
    size_t length;
    if (!r) {
        plumb_act_queue_lose();
        return;
    }
    memset(&r->head, 0, sizeof r->head);
    r->why[0] = '\0';
    r->module = c->module->name;
    r->head.step = c->step;
    r->phase = plumb_rt.phases.name[c->phase];
    r->head.io = io_of(label);
    length = strnlen(label, sizeof r->label - 1);
    memcpy(r->label, label, length);
    r->label[length] = '\0';
    clock_gettime(CLOCK_REALTIME, &now);
    r->head.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    look(r, tensor, &view, &copy, &bytes);
    /* A kept tensor names its record, so the record comes first. */
    if (c->module->chosen)
        plumb_act_queue_put(r);
    else
        plumb_act_queue_number(r);
    if (c->module->dumped && r->head.ndim >= 0)
        plumb_act_dump(r, &view);
    if (copy)
        plumb_pages_unmap(copy, bytes);
    plumb_scratch_give(r);
}

static void walk(const struct call *c, const char *label, const plumb_value *v, int depth)
{
    char part[PLUMB_RECORD_LABEL];
    if (v->kind == PLUMB_VALUE_TENSOR)
        record(c, label, v->as.tensor);
    if (depth == DEPTH || (v->kind != PLUMB_VALUE_LIST && v->kind != PLUMB_VALUE_FIELDS))
        return;
    for (uint32_t i = 0; i < v->count; i++) {
        bool list = v->kind == PLUMB_VALUE_LIST;
        if (list)
            snprintf(part, sizeof part, "%.100s[%u]", label, i);
        else
            snprintf(part, sizeof part, "%.100s.%s", label,
                     v->as.fields[i].name ? v->as.fields[i].name : "");
        walk(c, part, list ? &v->as.list[i] : &v->as.fields[i].value, depth + 1);
    }
}

/* Counts a call in the figures of all calls. */
static void note_call(struct plumb_act *a, int64_t step)
{
    bool next;
    pthread_mutex_lock(&a->lock);
    a->told++;
    a->step_seen |= step >= 0;
    a->step_reached |= plumb_step_list_has(&plumb_act.steps, step);
    if (step > a->last_step)
        a->last_step = step;
    if (a->first_step < 0)
        a->first_step = step;
    next = !a->said && step != a->first_step; /* the first step is over */
    pthread_mutex_unlock(&a->lock);
    if (next)
        plumb_act_log_attached();
}

static void call(const uint32_t *path, uint32_t n, int64_t step, uint32_t group, const char *label,
                 const plumb_value *value)
{
    struct call c = {NULL, step, group & 0xff};
    if (!plumb_act_is_on())
        return;
    c.module = plumb_act_module(path, n);
    note_call(&plumb_act, step);
    if (!c.module || !(c.module->chosen || c.module->dumped) ||
        !plumb_step_list_has(&plumb_act.steps, step))
        return;
    walk(&c, label && *label ? label : "out", value, 0);
}

/* Counts the thread as inside, so the end of the run waits for it. Returns false if no run records
 * activations. */
static bool come_in(void)
{
    if (calling)
        return false;
    __atomic_add_fetch(&plumb_act.inside, 1, __ATOMIC_SEQ_CST);
    calling = __atomic_load_n(&plumb_act.generation, __ATOMIC_SEQ_CST) != 0;
    if (!calling)
        __atomic_sub_fetch(&plumb_act.inside, 1, __ATOMIC_SEQ_CST);
    return calling;
}

static void go_out(void)
{
    calling = false;
    __atomic_sub_fetch(&plumb_act.inside, 1, __ATOMIC_RELEASE);
}

void plumb_activation_impl(plumb_node node, const char *label, const plumb_value *value)
{
    uint32_t path[PLUMB_ACT_PATH], n;
    struct plumb_in in;
    int saved = errno;
    int64_t step;
    uint32_t group;
    if (!value || node == 0 || node >= PLUMB_ACQUIRE(plumb_rt.node_count) || calling ||
        !plumb_enter(&in, false))
        return;
    n = plumb_act_path(path, in.th, node);
    step = in.th->step;
    group = in.th->group;
    plumb_leave(in);
    if (come_in()) {
        call(path, n, step, group, label, value);
        go_out();
    }
    errno = saved;
}

void plumb_activation_stage(struct plumb_thread *th, uint32_t node, uint32_t part, const char *name,
                            const plumb_value *value)
{
    char label[PLUMB_RECORD_LABEL];
    if (part == PLUMB_STAGE_METADATA || !come_in())
        return;
    snprintf(label, sizeof label, "%s.%s", part == PLUMB_STAGE_INPUT ? "in" : "out",
             name ? name : "");
    call(&node, 1, th->step, th->group, label, value);
    go_out();
}

int plumb_activation_copy_impl(int32_t device_type, plumb_activation_copy_fn fn, void *arg,
                               plumb_error *err)
{
    int place = -1;
    pthread_mutex_lock(&plumb_act.lock);
    for (int i = 0; i < COPIES; i++) {
        if (copies[i].fn && copies[i].type == device_type)
            place = i;
    }
    for (int i = 0; i < COPIES && place < 0; i++) {
        if (!copies[i].fn)
            place = i;
    }
    if (place >= 0) {
        PLUMB_BUMP(copies[place].changes, 1);
        plumb_order();
        PLUMB_STORE(copies[place].type, device_type);
        PLUMB_STORE(copies[place].arg, arg);
        PLUMB_STORE(copies[place].fn, fn);
        PLUMB_RELEASE(copies[place].changes, copies[place].changes + 1);
    }
    pthread_mutex_unlock(&plumb_act.lock);
    return place >= 0
               ? PLUMB_OK
               : plumb_fail(err, PLUMB_ERR_STATE, "there are %d kinds of devices already", COPIES);
}
