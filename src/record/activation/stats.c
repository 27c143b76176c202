/* stats.c: the statistics of a run's records, and those that the program has registered. plumb's
 * own are in tensor/record_line.c. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "record/activation/activation.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"

static int find(const char *name, int *column)
{
    *column = plumb_record_stat(name);
    if (*column >= 0)
        return 1;
    for (uint32_t i = 0; i < plumb_act.own_count; i++) {
        if (strcmp(plumb_act.own[i].name, name) == 0) {
            *column = -1 - (int)i;
            return 1;
        }
    }
    return 0;
}

/* Copies the next name of a list, without the blanks around it. Returns false at its end. */
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
    memset(&plumb_act.columns, 0, sizeof plumb_act.columns);
    while (next_name(name, sizeof name, &names)) {
        if (*name && find(name, &column))
            plumb_record_add_column(&plumb_act.columns, name, column);
        else
            unknown += *name != '\0';
    }
    return unknown;
}

static void warn_unknown(const char *name)
{
    char valid[1024];
    size_t n = 0;
    uint32_t own = PLUMB_ACQUIRE(plumb_act.own_count);
    for (int i = 0; plumb_record_stat_name(i); i++)
        n += (size_t)snprintf(valid + n, sizeof valid - n, "%s%s", i ? ", " : "",
                              plumb_record_stat_name(i));
    for (uint32_t i = 0; i < own && n < sizeof valid; i++)
        n += (size_t)snprintf(valid + n, sizeof valid - n, ", %s", plumb_act.own[i].name);
    plumb_say("plumb: PLUMB_ACTIVATIONS_STATS: no statistic '%.60s'; there are %s", name, valid);
}

void plumb_act_log_unknown(const char *names)
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
            warn_unknown(name);
    }
    if (!known)
        plumb_say("plumb: PLUMB_ACTIVATIONS_STATS names no statistic that there is; no activations "
                  "are recorded");
}

void plumb_act_names(char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < plumb_act.columns.count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "",
                              plumb_act.columns.column[i].name);
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
    } else if (plumb_act.own_count == PLUMB_RECORD_OWN) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "there are %d statistics already", PLUMB_RECORD_OWN);
    } else {
        plumb_act.own[plumb_act.own_count] = (struct plumb_act_own){kept, fn, arg};
        PLUMB_RELEASE(plumb_act.own_count, plumb_act.own_count + 1);
    }
    pthread_mutex_unlock(&plumb_act.lock);
    return rc;
}
