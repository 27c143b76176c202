/* record_line.c: statistics by name, and records as lines of JSON. The table lists the names that
 * PLUMB_ACTIVATIONS_STATS accepts, in addition to those that a program registers. */
#include <stdio.h>
#include <string.h>

#include "codec/json_write.h"
#include "tensor/record.h"

enum kind { REAL, WHOLE, HASH, SAMPLE, HISTOGRAM, SHAPE, DTYPE };

#define AT(member) offsetof(struct plumb_value_stats, member)

static const struct {
    const char *name;
    enum kind kind;
    uint32_t want;
    size_t offset;
} table[] = {
    {"abs_mean", REAL, 0, AT(abs_mean)},
    {"dtype", DTYPE, 0, 0},
    {"hash", HASH, PLUMB_VALUE_HASH, AT(hash)},
    {"hash_any", HASH, PLUMB_VALUE_SET_HASH, AT(set_hash)},
    {"histogram", HISTOGRAM, PLUMB_VALUE_HISTOGRAM, 0},
    {"inf", WHOLE, 0, AT(pos_inf)},
    {"l2", REAL, PLUMB_VALUE_SPREAD, AT(l2)},
    {"max", REAL, PLUMB_VALUE_SPREAD, AT(max)},
    {"mean", REAL, 0, AT(mean)},
    {"min", REAL, PLUMB_VALUE_SPREAD, AT(min)},
    {"nan", WHOLE, 0, AT(nan)},
    {"neg_inf", WHOLE, 0, AT(neg_inf)},
    {"rms", REAL, PLUMB_VALUE_SPREAD, AT(rms)},
    {"sample", SAMPLE, PLUMB_VALUE_SAMPLE, 0},
    {"shape", SHAPE, 0, 0},
    {"std", REAL, PLUMB_VALUE_SPREAD, AT(std)},
    {"sum", REAL, 0, AT(sum)},
    {"zeros", WHOLE, PLUMB_VALUE_ZEROS, AT(zeros)},
};
enum { TABLE = sizeof table / sizeof table[0] };

/* ---- Names ----------------------------------------------------------------------------------- */

int plumb_record_stat(const char *name)
{
    for (int i = 0; i < TABLE; i++)
        if (strcmp(table[i].name, name) == 0)
            return i;
    return -1;
}

const char *plumb_record_stat_name(int index)
{
    return index >= 0 && index < TABLE ? table[index].name : NULL;
}

void plumb_record_add_column(struct plumb_record_columns *c, const char *name, int index)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->column[i].index == index)
            return;
    if (c->count == PLUMB_RECORD_COLUMNS)
        return;
    snprintf(c->column[c->count].name, sizeof c->column[0].name, "%s", name);
    c->column[c->count++].index = index;
    if (index >= 0)
        c->want |= table[index].want;
    else if (c->own_used < (uint32_t)-index)
        c->own_used = (uint32_t)-index;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Every parser reads it: a number that JSON lacks is a string, the word that others write bare. */
static void put_real(struct plumb_json *j, double v)
{
    if (v != v)
        plumb_json_str(j, "NaN");
    else if (v - v != 0)
        plumb_json_str(j, v > 0 ? "Infinity" : "-Infinity");
    else
        plumb_json_f64(j, v);
}

static void put_error(struct plumb_json *j, const char *why)
{
    char text[PLUMB_RECORD_WHY + 16];
    snprintf(text, sizeof text, "<error: %s>", why);
    plumb_json_str(j, text);
}

static void put_shape(struct plumb_json *j, const struct plumb_act_record *r)
{
    if (r->head.ndim < 0) {
        plumb_json_null(j);
        return;
    }
    plumb_json_i64s(j, r->shape, (size_t)r->head.ndim);
}

static void put_dtype(struct plumb_json *j, const struct plumb_act_record *r)
{
    char name[PLUMB_DTYPE_NAME_MAX];
    plumb_json_str(j, r->head.ndim < 0 ? NULL : plumb_dtype_name(name, r->head.dtype));
}

static void put_list(struct plumb_json *j, const struct plumb_value_stats *s, enum kind kind)
{
    plumb_json_array_inline(j);
    for (uint32_t i = 0; kind == SAMPLE && i < s->samples; i++)
        put_real(j, s->sample[i]);
    for (int i = 0; kind == HISTOGRAM && i < PLUMB_VALUE_BINS; i++)
        plumb_json_u64(j, s->histogram[i]);
    plumb_json_array_end(j);
}

static void put_known(struct plumb_json *j, const struct plumb_act_record *r, int column)
{
    const char *at = (const char *)&r->stats + table[column].offset;
    enum kind kind = table[column].kind;
    uint64_t whole = 0;
    double real = 0;
    char hex[20];
    if (kind == SHAPE) {
        put_shape(j, r);
        return;
    }
    if (kind == DTYPE) {
        put_dtype(j, r);
        return;
    }
    if (r->why[0]) {
        put_error(j, r->why);
        return;
    }
    if (kind == REAL)
        memcpy(&real, at, sizeof real);
    else if (kind == WHOLE || kind == HASH)
        memcpy(&whole, at, sizeof whole);
    if (kind == HASH)
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)whole);
    if (kind == REAL)
        put_real(j, real);
    else if (kind == WHOLE)
        plumb_json_u64(j, whole);
    else if (kind == HASH)
        plumb_json_str(j, hex); /* a number of 64 bits is rounded by many readers */
    else
        put_list(j, &r->stats, kind);
}

static void put_column(struct plumb_json *j, const struct plumb_act_record *r, const char *name,
                       int index)
{
    int own = -1 - index;
    plumb_json_key(j, name);
    if (index >= 0)
        put_known(j, r, index);
    else if (r->head.own_bad >> own & 1)
        put_error(j, r->own_why[own]);
    else
        put_real(j, r->own[own]);
}

static bool has_column(const struct plumb_record_columns *c, enum kind kind)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->column[i].index >= 0 && table[c->column[i].index].kind == kind)
            return true;
    return false;
}

static void put_step(struct plumb_json *j, int64_t step)
{
    if (step < 0)
        plumb_json_null(j);
    else
        plumb_json_i64(j, step);
}

const char *plumb_record_io_name(uint32_t io)
{
    static const char *const names[] = {"out", "in", "grad"};
    return names[io];
}

void plumb_record_line(struct plumb_buf *out, const struct plumb_act_record *r,
                       const struct plumb_record_columns *c, int64_t rank)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    plumb_json_key(&j, "module");
    plumb_json_str(&j, r->module);
    plumb_json_key(&j, "tensor");
    plumb_json_str(&j, r->label);
    plumb_json_key(&j, "step");
    put_step(&j, r->head.step);
    for (uint32_t i = 0; i < c->count; i++)
        put_column(&j, r, c->column[i].name, c->column[i].index);
    plumb_json_key(&j, "call");
    plumb_json_u64(&j, r->head.call);
    plumb_json_key(&j, "rank");
    plumb_json_i64(&j, rank);
    plumb_json_key(&j, "seq");
    plumb_json_u64(&j, r->head.seq);
    plumb_json_key(&j, "phase");
    plumb_json_str(&j, r->phase);
    plumb_json_key(&j, "io");
    plumb_json_str(&j, plumb_record_io_name(r->head.io));
    if (!has_column(c, DTYPE)) {
        plumb_json_key(&j, "dtype");
        put_dtype(&j, r);
    }
    if (!has_column(c, SHAPE)) {
        plumb_json_key(&j, "shape");
        put_shape(&j, r);
    }
    plumb_json_key(&j, "time");
    plumb_json_millionths(&j, (r->head.time_ns + 500) / 1000);
    plumb_json_object_end(&j);
    plumb_buf_char(out, '\n');
}
