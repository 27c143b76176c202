/* activation.c: what happens when a layer tells of a tensor, and the choices of a run.
 *
 * The statistics are found on the program's thread, before the call returns, because the memory is
 * the program's; everything after that is left to the writer's thread. No lock is held while a
 * tensor is read. */
#include "core/activation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/scratch.h"
#include "core/carve.h"
#include "core/run.h"
#include "core/stage.h"

enum { COPIES = 16, CLOSE_WAIT_MS = 10000, DEPTH = 16 };
#define FILE_WAIT_NS UINT64_C(5000000000)

struct plumb_act plumb_act = {.begin_lock = PTHREAD_MUTEX_INITIALIZER,
                              .lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    int32_t type;
    plumb_activation_copy_fn fn;
    void *arg;
} copies[COPIES];

/* This thread is in a call: what a statistic or a copy function of the program tells of inside is
 * left out, as is what a signal handler tells of. */
static __thread bool calling __attribute__((tls_model("initial-exec")));

/* ---- What is asked for ----------------------------------------------------------------------- */

/* A number of "0,5-9"; false: there is none. */
static bool take_step(const char **p, int64_t *out)
{
    char *end;
    *p += strspn(*p, " \t");
    if (**p < '0' || **p > '9')
        return false;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    *p = end + strspn(end, " \t");
    return errno == 0;
}

static int parse_steps(struct plumb_act *a, const char *text, plumb_error *err)
{
    uint32_t n = 0;
    const char *p = text + strspn(text, " \t");
    while (*p) {
        int64_t from, to;
        bool good = take_step(&p, &from);
        to = from;
        if (good && *p == '-') {
            p++;
            good = take_step(&p, &to) && to >= from;
        }
        if (!good || (*p && *p != ','))
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "'%.200s' is no list of steps: it is one like 0,5-9", text);
        if (n == PLUMB_ACT_RANGES)
            return plumb_fail(err, PLUMB_ERR_ARG, "more than %d ranges of steps", PLUMB_ACT_RANGES);
        a->steps[n].from = from;
        a->steps[n++].to = to;
        p += *p == ',';
    }
    a->step_count = n;
    return PLUMB_OK;
}

/* The reason, with the variable before it. */
static int blame(const char *variable, const plumb_error *why, plumb_error *err)
{
    return plumb_fail(err, why->code, "PLUMB_ACTIVATIONS_%s: %s", variable, why->message);
}

static int parse(struct plumb_act *a, const struct plumb_settings *s, plumb_error *err)
{
    plumb_error why = {0, ""};
    a->step_count = 0;
    a->dumps = s->activations_dump[0] != '\0';
    if (parse_steps(a, s->activations_steps, &why) < 0)
        return blame("STEPS", &why, err);
    if (plumb_pattern_init(&a->layers, s->activations_layers, &why) < 0)
        return blame("LAYERS", &why, err);
    if (plumb_pattern_init(&a->dump, s->activations_dump, &why) == PLUMB_OK)
        return PLUMB_OK;
    plumb_pattern_fini(&a->layers);
    return blame("DUMP", &why, err);
}

int plumb_activations_check(const struct plumb_settings *s, plumb_error *err)
{
    struct plumb_act *trial;
    int rc;
    if (!s->activations)
        return PLUMB_OK;
    trial = plumb_pages_map(sizeof *trial);
    if (!trial)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    rc = parse(trial, s, err);
    if (rc == PLUMB_OK) {
        plumb_pattern_fini(&trial->layers);
        plumb_pattern_fini(&trial->dump);
    }
    plumb_pages_unmap(trial, sizeof *trial);
    return rc;
}

bool plumb_activations_wanted(void)
{
    return PLUMB_LOAD(plumb_rt.settings.activations) && plumb_wanted();
}

/* ---- The life of a run ----------------------------------------------------------------------- */

/* Where the records go; false, and said: nowhere. */
static bool choose_path(const struct plumb_run *run)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    char *path = plumb_act.path;
    if (s->activations_output[0])
        return plumb_path_own(path, sizeof plumb_act.path, s->activations_output,
                              "no activations are recorded");
    if (run->dir[0])
        snprintf(path, sizeof plumb_act.path, "%s/activations.jsonl", run->dir);
    else
        plumb_say("plumb: the run has no directory; no activations are recorded");
    return run->dir[0] != '\0';
}

static bool open_file(void)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    plumb_error why = {0, ""};
    int rc = s->activations_output[0] ? plumb_run_make_parents(plumb_act.path, &why) : PLUMB_OK;
    if (rc == PLUMB_OK)
        rc = plumb_act_queue_open(plumb_act.path, s->activations_append, &why);
    if (rc < 0)
        plumb_say("plumb: %s; no activations are recorded", why.message);
    return rc == PLUMB_OK;
}

/* Under begin_lock: looks the statistics up, and opens the file where one is left. `last`: names
 * that are unknown now are so for good. */
static void decide(bool last)
{
    struct plumb_act *a = &plumb_act;
    const char *names = plumb_rt.settings.activations_stats;
    uint32_t unknown, columns;
    pthread_mutex_lock(&a->lock);
    unknown = plumb_act_resolve(names);
    columns = a->columns.count;
    pthread_mutex_unlock(&a->lock);
    if ((unknown || !columns) && !last)
        return;
    if (unknown || !columns)
        plumb_act_tell_unknown(names);
    PLUMB_RELEASE(a->state, columns && open_file() ? PLUMB_ACT_ON : PLUMB_ACT_OFF);
}

void plumb_activations_do_open(void)
{
    if (PLUMB_ACQUIRE(plumb_act.state) == PLUMB_ACT_UNDECIDED && PLUMB_ACQUIRE(plumb_act.called))
        decide(true);
    plumb_act_queue_begin();
    plumb_act_dump_open();
}

/* Under begin_lock. The file is among the helper's descriptors. */
static void settle(void)
{
    PLUMB_RELEASE(plumb_act.called, 1);
    if (!plumb_helper_do(PLUMB_JOB_ACTIVATIONS, FILE_WAIT_NS))
        PLUMB_RELEASE(plumb_act.state, PLUMB_ACT_OFF);
    plumb_log_show(PLUMB_LOG_TO_ANY);
}

/* Whether records are made, which the first call settles. */
static bool is_on(void)
{
    struct plumb_act *a = &plumb_act;
    struct plumb_cancel before;
    if (PLUMB_ACQUIRE(a->state) == PLUMB_ACT_UNDECIDED) {
        /* Opening a file may end the thread, with the lock held. */
        before = plumb_cancel_off();
        pthread_mutex_lock(&a->begin_lock);
        if (PLUMB_ACQUIRE(a->state) == PLUMB_ACT_UNDECIDED)
            settle();
        pthread_mutex_unlock(&a->begin_lock);
        plumb_cancel_on(before);
    }
    return PLUMB_ACQUIRE(a->state) == PLUMB_ACT_ON;
}

void plumb_activations_open(struct plumb_run *run)
{
    struct plumb_act *a = &plumb_act;
    plumb_error why = {0, ""};
    if (!plumb_rt.settings.activations)
        return;
    pthread_mutex_lock(&a->lock);
    a->step_seen = a->step_reached = a->said = false;
    a->matched = a->said_matched = 0;
    a->told = a->seq = a->dumped_bytes = 0;
    memset(a->dumps_left_out, 0, sizeof a->dumps_left_out);
    a->first_step = a->last_step = -1;
    plumb_act_calls_clear(&a->calls);
    pthread_mutex_unlock(&a->lock);
    PLUMB_STORE(a->step_open, 0);
    PLUMB_STORE(a->called, 0);
    PLUMB_STORE(a->state, PLUMB_ACT_UNDECIDED);
    snprintf(a->dir, sizeof a->dir, "%s", run->dir);
    if (parse(a, &plumb_rt.settings, &why) < 0) {
        plumb_say("plumb: %s; no activations are recorded", why.message);
        return;
    }
    if (choose_path(run)) {
        pthread_mutex_lock(&a->begin_lock);
        decide(false);
        pthread_mutex_unlock(&a->begin_lock);
        if (PLUMB_LOAD(a->state) != PLUMB_ACT_OFF) {
            PLUMB_RELEASE(a->generation, run->generation);
            return;
        }
    }
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}

/* "attached to ...": when the first step is over or the run is; again when the run is over, where
 * more modules have come since. */
static void tell_attached(void)
{
    struct plumb_act *a = &plumb_act;
    const struct plumb_settings *s = &plumb_rt.settings;
    char names[1024], more[64] = "";
    uint32_t matched, before;
    bool said;
    pthread_mutex_lock(&a->lock);
    said = a->said;
    before = a->said_matched;
    a->said = true;
    a->said_matched = matched = a->matched;
    plumb_act_names(names, sizeof names);
    pthread_mutex_unlock(&a->lock);
    if (said && matched == before)
        return;
    if (said)
        snprintf(more, sizeof more, ", %u of them after the first step", matched - before);
    if (matched == 0)
        plumb_say("plumb: activation trace: nothing matched: %s",
                  a->told == 0 ? "the program tells of no activations"
                               : "no module has that in its path");
    if (matched == 0 || (said && before == 0) || !s->quiet)
        plumb_say("plumb: activation trace attached to %u module%s%s (pattern='%s', stats=[%s])",
                  matched, matched == 1 ? "" : "s", more, s->activations_layers, names);
}

/* Steps that were chosen and never came. */
static void tell_steps(void)
{
    const struct plumb_act *a = &plumb_act;
    if (a->step_count == 0 || a->told == 0 || a->step_reached)
        return;
    if (!a->step_seen && !PLUMB_LOAD(a->step_open))
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS chose steps, and the program opened none "
                  "(PLUMB_STEP, PLUMB_STEPS): no activations were recorded");
    else if (!a->step_seen)
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS chose steps, and no layer ran inside one: a step "
                  "is open on its own thread, others get it by plumb_context_adopt(): no "
                  "activations were recorded");
    else
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS: the program came to none of the steps '%s', its "
                  "last was %lld: no activations were recorded",
                  plumb_rt.settings.activations_steps, (long long)a->last_step);
}

static void tell_dumps(void)
{
    static const char *const whys[PLUMB_ACT_DUMP_WHYS] = {
        [PLUMB_ACT_DUMP_UNREADABLE] = "no data that can be read, or a type that safetensors lacks",
        [PLUMB_ACT_DUMP_BOUND] = "PLUMB_ACTIVATIONS_DUMP_BYTES is used up",
        [PLUMB_ACT_DUMP_UNWRITTEN] = "they could not be written",
        [PLUMB_ACT_DUMP_LATE] = "the disk took nothing for 5 s"};
    for (int i = 0; i < PLUMB_ACT_DUMP_WHYS; i++) {
        uint64_t n = plumb_act.dumps_left_out[i];
        if (n > 0)
            plumb_say("plumb: %llu tensor%s not kept whole: %s", (unsigned long long)n,
                      n == 1 ? " was" : "s were", whys[i]);
    }
}

void plumb_activations_close(struct plumb_run *run)
{
    struct plumb_act *a = &plumb_act;
    uint64_t lost = 0;
    if (!PLUMB_LOAD(a->generation))
        return;
    __atomic_store_n(&a->generation, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < CLOSE_WAIT_MS && __atomic_load_n(&a->inside, __ATOMIC_SEQ_CST); i++)
        plumb_helper_pause(1000000);
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_UNDECIDED) /* no call came */
        plumb_act_tell_unknown(plumb_rt.settings.activations_stats);
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_ON || (a->told == 0 && a->columns.count)) {
        tell_attached();
        tell_steps();
    }
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_ON)
        lost = plumb_act_queue_close();
    if (lost > 0) {
        plumb_say("plumb: %llu activation records were left out", (unsigned long long)lost);
        plumb_run_note(run, "%llu activation records were left out", (unsigned long long)lost);
    }
    plumb_act_dump_close();
    tell_dumps();
    /* A thread that is held up in a call goes on using them. */
    if (PLUMB_LOAD(a->inside))
        return;
    plumb_act_modules_forget();
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}

void plumb_activations_give_back(void)
{
    struct plumb_act *a = &plumb_act;
    /* What a match was changing in a pattern cannot be freed. */
    if (!PLUMB_LOAD(a->generation) || PLUMB_LOAD(a->deciding))
        return;
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}

/* The parent's threads are not here, nor is its writer; what they held is the parent's. */
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

/* Bytes that a view spans, from its lowest to its highest address. */
static bool span_of(const struct plumb_view *v, uint64_t *below, uint64_t *bytes)
{
    int64_t low = 0, high = 0, compact = 1;
    uint64_t element = plumb_dtype_element_bits(v->dtype) / 8;
    for (int32_t i = v->ndim - 1; i >= 0; i--) {
        int64_t stride = v->strides ? v->strides[i] : compact;
        int64_t far = (v->shape[i] - 1) * stride;
        low += far < 0 ? far : 0;
        high += far > 0 ? far : 0;
        compact *= v->shape[i];
    }
    *below = (uint64_t)-low * element;
    *bytes = (uint64_t)(high - low + 1) * element;
    return v->dtype.bits % 8 == 0 && v->count > 0 && v->data != NULL;
}

/* Brings a device's tensor here; `copy` must be unmapped. NULL: `v` is as it was. */
static void *fetch(struct plumb_view *v, uint64_t *bytes, plumb_error *why)
{
    int i = 0;
    uint64_t below;
    void *copy;
    int rc;
    while (i < COPIES && !(PLUMB_ACQUIRE(copies[i].fn) && copies[i].type == v->device.type))
        i++;
    if (i == COPIES || !span_of(v, &below, bytes))
        return NULL;
    copy = plumb_pages_map(*bytes);
    if (!copy) {
        plumb_fail(why, PLUMB_ERR_MEMORY, "no memory for a copy of %llu bytes",
                   (unsigned long long)*bytes);
        return NULL;
    }
    rc = copies[i].fn(copy, v->data - below, *bytes, v->device.index, copies[i].arg);
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
        if (plumb_act.own[own].fn(tensor, &r->own[own], why, PLUMB_RECORD_WHY,
                                  plumb_act.own[own].arg) == 0)
            continue;
        why[PLUMB_RECORD_WHY - 1] = '\0';
        if (!*why)
            snprintf(why, PLUMB_RECORD_WHY, "no reason given");
        r->head.own_bad |= 1u << own;
    }
}

/* `v`, where the record knows its type and shape, and what was mapped for it: *copy [*bytes]. */
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
        *copy = fetch(v, bytes, &why);
    if (why.code || plumb_value_stats(&r->stats, v, plumb_act.columns.want, &why) < 0)
        fail_record(r, why.message);
    else
        plumb_value_ieee(&r->stats);
    own_statistics(r, tensor);
}

/* ---- A call ---------------------------------------------------------------------------------- */

static bool step_is_chosen(int64_t step)
{
    for (uint32_t i = 0; i < plumb_act.step_count; i++)
        if (step >= plumb_act.steps[i].from && step <= plumb_act.steps[i].to)
            return true;
    return plumb_act.step_count == 0;
}

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
    /* What is kept says which record it belongs to, so that comes first. */
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

/* Enters a call into what is said of all of them. */
static void note_call(struct plumb_act *a, int64_t step)
{
    bool next;
    pthread_mutex_lock(&a->lock);
    a->told++;
    a->step_seen |= step >= 0;
    a->step_reached |= step_is_chosen(step);
    if (step > a->last_step)
        a->last_step = step;
    if (a->first_step < 0)
        a->first_step = step;
    next = !a->said && step != a->first_step; /* the first step is over */
    pthread_mutex_unlock(&a->lock);
    if (next)
        tell_attached();
}

static void call(const uint32_t *path, uint32_t n, int64_t step, uint32_t group, const char *label,
                 const plumb_value *value)
{
    struct call c = {NULL, step, group & 0xff};
    if (!is_on())
        return;
    c.module = plumb_act_module(path, n);
    note_call(&plumb_act, step);
    if (!c.module || !(c.module->chosen || c.module->dumped) || !step_is_chosen(step))
        return;
    walk(&c, label && *label ? label : "out", value, 0);
}

/* Counted, so that the end of the run waits; false: no run records activations. */
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
        PLUMB_RELEASE(copies[place].fn, NULL);
        copies[place].type = device_type;
        copies[place].arg = arg;
        PLUMB_RELEASE(copies[place].fn, fn);
    }
    pthread_mutex_unlock(&plumb_act.lock);
    return place >= 0
               ? PLUMB_OK
               : plumb_fail(err, PLUMB_ERR_STATE, "there are %d kinds of devices already", COPIES);
}
