/* activation_stats.c: statistics by name, and records as lines of JSON. The table is the list of
 * what PLUMB_ACTIVATIONS_STATS may name, beside what the program registers. */
#include "core/activation.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/log.h"

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

static int find(const char *name, int *column)
{
    for (int i = 0; i < TABLE; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *column = i;
            return 1;
        }
    }
    for (uint32_t i = 0; i < plumb_act.own_count; i++) {
        if (strcmp(plumb_act.own[i].name, name) == 0) {
            *column = -1 - (int)i;
            return 1;
        }
    }
    return 0;
}

static void add(int column)
{
    for (uint32_t i = 0; i < plumb_act.columns; i++)
        if (plumb_act.column[i] == column)
            return;
    if (plumb_act.columns == PLUMB_ACT_STATS)
        return;
    plumb_act.column[plumb_act.columns++] = (int16_t)column;
    if (column >= 0)
        plumb_act.want |= table[column].want;
}

/* The next name of a list, without the blanks around it; false: there is none. */
static bool next_name(char *name, size_t size, const char **list)
{
    const char *p = *list;
    size_t n = strcspn(p, ","), len;
    const char *from = p + strspn(p, " \t");
    len = from < p + n ? (size_t)(p + n - from) : 0;
    while (len > 0 && (from[len - 1] == ' ' || from[len - 1] == '\t'))
        len--;
    snprintf(name, size, "%.*s", (int)len, from);
    *list = p + n + (p[n] == ',');
    return *p != '\0';
}

uint32_t plumb_act_resolve(const char *names)
{
    char name[64];
    uint32_t unknown = 0;
    int column;
    plumb_act.columns = plumb_act.want = 0;
    while (next_name(name, sizeof name, &names)) {
        if (*name && find(name, &column))
            add(column);
        else
            unknown += *name != '\0';
    }
    return unknown;
}

static void tell_unknown(const char *name)
{
    char valid[1024];
    size_t n = 0;
    uint32_t own = PLUMB_ACQUIRE(plumb_act.own_count);
    for (int i = 0; i < TABLE; i++)
        n += (size_t)snprintf(valid + n, sizeof valid - n, "%s%s", i ? ", " : "", table[i].name);
    for (uint32_t i = 0; i < own && n < sizeof valid; i++)
        n += (size_t)snprintf(valid + n, sizeof valid - n, ", %s", plumb_act.own[i].name);
    plumb_say("plumb: PLUMB_ACTIVATIONS_STATS: no statistic '%.60s'; there are %s", name, valid);
}

void plumb_act_tell_unknown(const char *names)
{
    char name[64];
    int column;
    uint32_t known = 0;
    while (next_name(name, sizeof name, &names)) {
        bool found;
        pthread_mutex_lock(&plumb_act.lock);
        found = !*name || find(name, &column);
        known += found && *name;
        pthread_mutex_unlock(&plumb_act.lock);
        if (!found)
            tell_unknown(name);
    }
    if (!known)
        plumb_say("plumb: PLUMB_ACTIVATIONS_STATS names no statistic that there is; no activations "
                  "are recorded");
}

static const char *name_of(int column)
{
    return column >= 0 ? table[column].name : plumb_act.own[-1 - column].name;
}

void plumb_act_names(char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < plumb_act.columns && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "",
                              name_of(plumb_act.column[i]));
}

static bool is_name(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_")
                    : 0;
    return n > 0 && n < 64 && !name[n];
}

/* Keys of the record itself. */
static bool is_reserved(const char *name)
{
    static const char *const keys[] = {"module", "tensor", "step", "call", "rank",
                                       "seq",    "phase",  "io",   "time"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], name) == 0)
            return true;
    return false;
}

int plumb_activation_stat_impl(const char *name, plumb_activation_stat_fn fn, void *arg,
                               plumb_error *err)
{
    const char *kept;
    int rc = PLUMB_OK;
    int unused;
    if (!is_name(name) || !fn)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "a statistic needs a function and a name of letters, digits and '_'");
    plumb_lock();
    kept = plumb_keep_text(name);
    plumb_unlock();
    if (!kept)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    pthread_mutex_lock(&plumb_act.lock);
    if (find(name, &unused) || is_reserved(name)) {
        rc = plumb_fail(err, PLUMB_ERR_ARG, "there is a statistic or a field '%s' already", name);
    } else if (plumb_act.own_count == PLUMB_ACT_OWN) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "there are %d statistics already", PLUMB_ACT_OWN);
    } else {
        plumb_act.own[plumb_act.own_count] = (struct plumb_act_own){kept, fn, arg};
        PLUMB_RELEASE(plumb_act.own_count, plumb_act.own_count + 1);
    }
    pthread_mutex_unlock(&plumb_act.lock);
    return rc;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Every parser reads it: what JSON has no number for is the text that others write bare. */
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
    char text[PLUMB_ACT_WHY + 16];
    snprintf(text, sizeof text, "<error: %s>", why);
    plumb_json_str(j, text);
}

static void put_shape(struct plumb_json *j, const struct plumb_act_record *r)
{
    if (r->ndim < 0) {
        plumb_json_null(j);
        return;
    }
    plumb_json_i64s(j, r->shape, (size_t)r->ndim);
}

static void put_dtype(struct plumb_json *j, const struct plumb_act_record *r)
{
    plumb_json_str(j, *r->dtype ? r->dtype : NULL);
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

static void put_column(struct plumb_json *j, const struct plumb_act_record *r, int column)
{
    int own = -1 - column;
    plumb_json_key(j, name_of(column));
    if (column >= 0)
        put_known(j, r, column);
    else if (r->own_bad >> own & 1)
        put_error(j, r->own_why[own]);
    else
        put_real(j, r->own[own]);
}

static bool has_column(enum kind kind)
{
    for (uint32_t i = 0; i < plumb_act.columns; i++)
        if (plumb_act.column[i] >= 0 && table[plumb_act.column[i]].kind == kind)
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

const char *plumb_act_io_name(uint32_t io)
{
    static const char *const names[] = {"out", "in", "grad"};
    return names[io];
}

void plumb_act_line(struct plumb_buf *out, const struct plumb_act_record *r)
{
    struct plumb_json j;
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    plumb_json_key(&j, "module");
    plumb_json_str(&j, r->module->name);
    plumb_json_key(&j, "tensor");
    plumb_json_str(&j, r->label);
    plumb_json_key(&j, "step");
    put_step(&j, r->step);
    for (uint32_t i = 0; i < plumb_act.columns; i++)
        put_column(&j, r, plumb_act.column[i]);
    plumb_json_key(&j, "call");
    plumb_json_u64(&j, r->call);
    plumb_json_key(&j, "rank");
    plumb_json_i64(&j, plumb_rank_told());
    plumb_json_key(&j, "seq");
    plumb_json_u64(&j, r->seq);
    plumb_json_key(&j, "phase");
    plumb_json_str(&j, plumb_rt.phases.name[r->phase]);
    plumb_json_key(&j, "io");
    plumb_json_str(&j, plumb_act_io_name(r->io));
    if (!has_column(DTYPE)) {
        plumb_json_key(&j, "dtype");
        put_dtype(&j, r);
    }
    if (!has_column(SHAPE)) {
        plumb_json_key(&j, "shape");
        put_shape(&j, r);
    }
    plumb_json_key(&j, "time");
    plumb_json_fixed(&j, r->time, 6);
    plumb_json_object_end(&j);
    plumb_buf_char(out, '\n');
}
