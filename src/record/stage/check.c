/* check.c: checks of stages' inputs and outputs.
 *
 * A node's checks are a list that only grows at its head and is read without the lock. A replaced
 * check gets a new entry, and the old one is skipped. Failures of a run are collected in its entry
 * of th->stage and reported once, at the end of the stage. */
#include "record/stage/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text/print.h"
#include "record/runtime/carve.h"
#include "record/runtime/count.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/names.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/stage/stage.h"
#include "tensor/value_stats.h"

enum { DIMS = 16, ANY = -1, NOTES = 20, KEPT = 4096, DTYPES = 8 };

struct plumb_node_check {
    struct plumb_node_check *next;
    const char *name;
    uint32_t part, bit; /* bit: its place in plumb_stage_run.checked */
    uint32_t replaced;
    uint32_t dims; /* of `dim`; 0 with any_shape */
    bool any_shape, leading;
    int64_t dim[DIMS];
    uint32_t dtypes;
    struct plumb_dtype dtype[DTYPES];
    plumb_rule check;
};

static struct {
    uint32_t kept;  /* checks that were ever registered */
    uint32_t run;   /* generation that `notes` counts for */
    uint32_t notes; /* failures noted in it */
} verify;           /* under the lock */

/* ---- Registering ----------------------------------------------------------------------------- */

/* "2,?,64": sizes of dimensions; "...,3,64": any dimensions before these. */
static int parse_shape(struct plumb_node_check *c, const char *text, plumb_error *err)
{
    const char *p = text;
    c->any_shape = !text;
    if (text && strncmp(p, "...", 3) == 0) {
        c->leading = true;
        p += p[3] == ',' ? 4 : 3;
    }
    while (p && *p) {
        char *end = (char *)(uintptr_t)p + 1;
        int64_t size = *p == '?' ? ANY : strtoll(p, &end, 10);
        if (c->dims == DIMS || (size < 0 && *p != '?') || end == p || (*end && *end != ',') ||
            (*end == ',' && !end[1]))
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "plumb_stage_check: '%.60s' is not a shape: sizes or ? with commas "
                              "between, at most %d",
                              text, (int)DIMS);
        c->dim[c->dims++] = size;
        p = *end ? end + 1 : end;
    }
    return PLUMB_OK;
}

/* "float32|bfloat16" */
static int parse_dtypes(struct plumb_node_check *c, const char *text, plumb_error *err)
{
    while (text && *text) {
        size_t n = strcspn(text, "|");
        char name[PLUMB_DTYPE_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
        if (c->dtypes == DTYPES || plumb_dtype_parse(&c->dtype[c->dtypes], name, NULL) < 0)
            return plumb_fail(err, PLUMB_ERR_ARG,
                              "plumb_stage_check: '%s' is not a dtype, or one too many", name);
        c->dtypes++;
        text += n + (text[n] == '|');
    }
    return PLUMB_OK;
}

static struct plumb_node_check *find(uint32_t node, uint32_t part, const char *name)
{
    struct plumb_node_check *c = PLUMB_ACQUIRE(plumb_node_at(node)->checks);
    while (c && (c->part != part || PLUMB_LOAD(c->replaced) || strcmp(c->name, name) != 0))
        c = c->next;
    return c;
}

/* Under the lock. The check's texts are copied, not kept. */
static int keep(uint32_t node, const struct plumb_node_check *made, const char *name,
                plumb_error *err)
{
    struct plumb_node_entry *e = plumb_node_at(node);
    struct plumb_node_check *old = find(node, made->part, name), *c;
    uint32_t bit = old ? old->bit : 0;
    for (c = e->checks; c && !old; c = c->next)
        bit = c->bit >= bit ? c->bit + 1 : bit;
    if (bit >= 64 || verify.kept >= KEPT)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "plumb_stage_check: %s",
                          bit >= 64 ? "a stage has at most 64 checks"
                                    : "checks were replaced too often");
    c = plumb_keep_bytes(sizeof *c);
    if (!c)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "plumb_stage_check: out of memory");
    *c = *made;
    c->name = old ? old->name : plumb_keep_text(name);
    if (!c->name)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "plumb_stage_check: out of memory");
    c->bit = bit;
    c->next = e->checks;
    verify.kept++;
    PLUMB_RELEASE(e->checks, c);
    if (old)
        PLUMB_STORE(old->replaced, 1);
    return PLUMB_OK;
}

int plumb_stage_check_impl(const char *stage, uint32_t part, const char *name,
                           const plumb_rule *rule, plumb_error *err)
{
    struct plumb_node_check made = {.part = part};
    plumb_node node;
    int rc;
    if (!stage || !name || !rule || rule->size < sizeof(size_t) || part > PLUMB_STAGE_OUTPUT)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "plumb_stage_check: stage, name and rule (with its size) are needed, and "
                          "an input or an output");
    memcpy(&made.check, rule, rule->size < sizeof made.check ? rule->size : sizeof made.check);
    if (made.check.range && !(made.check.min <= made.check.max))
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_stage_check: the range is empty");
    rc = parse_shape(&made, made.check.shape, err);
    if (rc == PLUMB_OK)
        rc = parse_dtypes(&made, made.check.dtype, err);
    if (rc < 0)
        return rc;
    made.check.shape = made.check.dtype = NULL;
    if (plumb_may_lock("plumb_stage_check", err) < 0)
        return PLUMB_ERR_STATE;
    node = plumb_node_intern(stage);
    plumb_lock();
    rc = keep(node, &made, name, err);
    plumb_unlock();
    return rc;
}

/* ---- Evaluating ------------------------------------------------------------------------------ */

static const char *const parts[] = {"input", "output"};

static void failed(struct plumb_stage_run *s, const struct plumb_node_check *c, const char *element,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

static void failed(struct plumb_stage_run *s, const struct plumb_node_check *c, const char *element,
                   const char *format, ...)
{
    size_t at = strlen(s->unmet);
    char why[200];
    va_list ap;
    va_start(ap, format);
    plumb_vprint(why, sizeof why, format, ap);
    va_end(ap);
    s->unmet_count++;
    snprintf(s->unmet + at, sizeof s->unmet - at, "%s%s '%.60s%s': %s", at ? "; " : "",
             parts[c->part], c->name, element, why);
}

static void shape_text(char *out, size_t size, const int64_t *dim, uint32_t n, bool leading)
{
    size_t at = (size_t)snprintf(out, size, "[%s", leading ? "..." : "");
    for (uint32_t i = 0; i < n && at < size; i++) {
        const char *comma = i || leading ? ", " : "";
        at += dim[i] == ANY ? (size_t)snprintf(out + at, size - at, "%s?", comma)
                            : (size_t)snprintf(out + at, size - at, "%s%" PRId64, comma, dim[i]);
    }
    if (at < size)
        snprintf(out + at, size - at, "]");
}

static void check_shape(struct plumb_stage_run *s, const struct plumb_node_check *c,
                        const char *element, const struct plumb_view *v)
{
    uint32_t n = (uint32_t)v->ndim, skip = c->leading && n > c->dims ? n - c->dims : 0;
    bool fits = n - skip == c->dims;
    char is[80], want[80];
    for (uint32_t i = 0; i < c->dims && fits; i++)
        fits = c->dim[i] == ANY || c->dim[i] == v->shape[skip + i];
    if (fits || c->any_shape)
        return;
    shape_text(is, sizeof is, v->shape, n, false);
    shape_text(want, sizeof want, c->dim, c->dims, c->leading);
    failed(s, c, element, "shape %s, want %s", is, want);
}

static void check_dtype(struct plumb_stage_run *s, const struct plumb_node_check *c,
                        const char *element, const struct plumb_view *v)
{
    char is[PLUMB_DTYPE_NAME_MAX], want[PLUMB_DTYPE_NAME_MAX];
    for (uint32_t i = 0; i < c->dtypes; i++) {
        if (memcmp(&c->dtype[i], &v->dtype, sizeof v->dtype) == 0)
            return;
    }
    if (c->dtypes)
        failed(s, c, element, "dtype %s, want %s%s", plumb_dtype_name(is, v->dtype),
               plumb_dtype_name(want, c->dtype[0]), c->dtypes > 1 ? " or another of the list" : "");
}

/* Checks `n` values between `least` and `most`, infinities included, and `nan` more that are NaN,
 * which is in no range. */
static void check_range(struct plumb_stage_run *s, const struct plumb_node_check *c,
                        const char *element, uint64_t nan, uint64_t n, double least, double most)
{
    if (!c->check.range)
        return;
    if (nan)
        failed(s, c, element, "%" PRIu64 " NaN of %" PRIu64 " values, want %g to %g", nan, n + nan,
               c->check.min, c->check.max);
    else if (n && (least < c->check.min || most > c->check.max))
        failed(s, c, element, "values from %g to %g, want %g to %g", least, most, c->check.min,
               c->check.max);
}

static void check_values(struct plumb_stage_run *s, const struct plumb_node_check *c,
                         const char *element, const struct plumb_view *v)
{
    struct plumb_value_stats stats;
    plumb_error why = {0, ""};
    uint64_t inf;
    if (!c->check.finite && !c->check.range)
        return;
    if (plumb_value_stats(&stats, v, PLUMB_VALUE_SPREAD, &why) < 0) {
        failed(s, c, element, "its values cannot be checked: %s", why.message);
        return;
    }
    inf = stats.pos_inf + stats.neg_inf;
    if (c->check.finite && stats.nan + inf)
        failed(s, c, element, "%" PRIu64 " NaN and %" PRIu64 " infinite of %" PRIu64 " values",
               stats.nan, inf, stats.n);
    plumb_value_ieee(&stats); /* then the bounds include infinities */
    check_range(s, c, element, stats.nan, stats.n - stats.nan, stats.min, stats.max);
}

static void check_tensor(struct plumb_stage_run *s, const struct plumb_node_check *c,
                         const char *element, const void *tensor)
{
    plumb_error why = {0, ""};
    struct plumb_view v;
    if (plumb_view_init(&v, tensor, &why) < 0) {
        failed(s, c, element, "%s", why.message);
        return;
    }
    check_shape(s, c, element, &v);
    check_dtype(s, c, element, &v);
    check_values(s, c, element, &v);
}

static void check_number(struct plumb_stage_run *s, const struct plumb_node_check *c,
                         const char *element, double value)
{
    if (!c->any_shape && (c->dims || !c->leading))
        failed(s, c, element, "a number, want a tensor");
    if (c->check.finite && value - value != 0)
        failed(s, c, element, "%g is not finite", value);
    check_range(s, c, element, value != value, value == value, value, value);
}

static void check_one(struct plumb_stage_run *s, const struct plumb_node_check *c,
                      const char *element, const plumb_value *value)
{
    char why[160] = "";
    bool plain = c->any_shape && !c->dtypes && !c->check.finite && !c->check.range;
    if (value->kind == PLUMB_VALUE_TENSOR)
        check_tensor(s, c, element, value->as.tensor);
    else if (value->kind == PLUMB_VALUE_F64)
        check_number(s, c, element, value->as.f64);
    else if (value->kind == PLUMB_VALUE_I64)
        check_number(s, c, element, (double)value->as.i64);
    else if (!plain)
        failed(s, c, element, "neither a tensor nor a number");
    if (c->check.fn && c->check.fn(value, c->check.arg, why, sizeof why) != 0) {
        why[sizeof why - 1] = '\0';
        failed(s, c, element, "%s", why[0] ? why : "refused by the program's function");
    }
}

void plumb_verify_value(struct plumb_stage_run *s, uint32_t part, const char *name,
                        const plumb_value *value)
{
    const struct plumb_node_check *c =
        part <= PLUMB_STAGE_OUTPUT ? find(s->node, part, name ? name : "") : NULL;
    char element[24];
    if (!c)
        return;
    s->checked |= UINT64_C(1) << c->bit;
    if (value->kind != PLUMB_VALUE_LIST) {
        check_one(s, c, "", value);
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        snprintf(element, sizeof element, "[%u]", i);
        check_one(s, c, element, &value->as.list[i]);
    }
}

static void missing(struct plumb_stage_run *s, uint32_t upto)
{
    const struct plumb_node_check *c = PLUMB_ACQUIRE(plumb_node_at(s->node)->checks);
    for (; c; c = c->next) {
        if (c->part > upto || PLUMB_LOAD(c->replaced) || c->check.optional ||
            s->checked >> c->bit & 1)
            continue;
        s->checked |= UINT64_C(1) << c->bit;
        failed(s, c, "", "missing");
    }
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void note(const char *line)
{
    struct plumb_in in;
    if (!plumb_enter(&in, true))
        return;
    plumb_lock();
    if (verify.run != in.run->generation)
        verify.notes = 0;
    verify.run = in.run->generation;
    if (verify.notes++ < NOTES)
        plumb_run_note(in.run, "%s", line);
    plumb_unlock();
    plumb_leave(in);
}

int plumb_stage_verify_impl(plumb_span stage, plumb_error *err)
{
    struct plumb_thread *th = plumb_tls;
    struct plumb_stage_run *s;
    if (PLUMB_LOAD(plumb_rt.settings.verify) == PLUMB_VERIFY_OFF || !th || PLUMB_LOAD(th->busy) ||
        !(s = plumb_stage_of(th, stage)))
        return PLUMB_OK;
    missing(s, PLUMB_STAGE_INPUT);
    if (!s->unmet_count || PLUMB_LOAD(plumb_rt.settings.verify) != PLUMB_VERIFY_FAIL)
        return PLUMB_OK;
    return plumb_fail(err, PLUMB_ERR_CHECK, "%.80s: %s", plumb_node_at(s->node)->name, s->unmet);
}

void plumb_verify_ending(struct plumb_thread *th, plumb_span stage)
{
    struct plumb_stage_run *s = plumb_stage_of(th, stage);
    int saved = errno;
    char line[480];
    if (!s)
        return;
    /* A failed run does not fail again for outputs that it did not reach. */
    if (!s->mark)
        missing(s, PLUMB_STAGE_OUTPUT);
    if (s->unmet_count) {
        snprintf(line, sizeof line, "verification of stage '%.60s' failed: %s",
                 plumb_node_at(s->node)->name, s->unmet);
        plumb_log(PLUMB_LOAD(plumb_rt.settings.verify) == PLUMB_VERIFY_FAIL ? PLUMB_LOG_ERROR
                                                                            : PLUMB_LOG_WARN,
                  "%s", line);
        note(line);
        plumb_counter_add_impl("plumb.verify.failed", s->unmet_count);
        if (PLUMB_LOAD(plumb_rt.settings.verify) == PLUMB_VERIFY_FAIL && !s->mark)
            plumb_rt.api->span_mark(stage, 1, s->unmet);
    }
    errno = saved;
}
