/* take_values.c: values of a result's file that several readers take (take.h): texts, keys, times,
 * and the facts of this machine. */
#include "read/history/take.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "read/history/canonical.h"

const char *plumb_take_text(struct plumb_taking *t, const struct plumb_json_value *v)
{
    const char *text = plumb_json_text(v);
    return text && *text ? plumb_arena_strdup(&t->list->arena, text) : NULL;
}

const char *plumb_take_key(struct plumb_taking *t, const struct plumb_json_value *v)
{
    if (plumb_json_text(v))
        return plumb_take_text(t, v);
    if (!plumb_json_is_number(v))
        return NULL;
    struct plumb_buf text = {0};
    plumb_canonical_json(&text, v);
    char *copy = text.failed ? NULL : plumb_arena_strdup(&t->list->arena, text.data);
    t->list->arena.failed |= text.failed;
    plumb_buf_fini(&text);
    return copy;
}

const char *plumb_take_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---- Times ----------------------------------------------------------------------------------- */

static bool digits(const char **p, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, ++*p) {
        if (!isdigit((unsigned char)**p))
            return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

static void skip(const char **p, const char *one_of)
{
    if (**p && strchr(one_of, **p))
        ++*p;
}

static bool fraction(const char **p, uint64_t *ns)
{
    uint64_t unit = 100000000;
    *ns = 0;
    if (**p != '.' && **p != ',')
        return true;
    for (++*p; isdigit((unsigned char)**p); ++*p, unit /= 10)
        *ns += unit * (uint64_t)(**p - '0');
    return true;
}

static bool offset(const char **p, long *seconds)
{
    int hours, minutes = 0;
    *seconds = 0;
    while (**p == ' ')
        ++*p;
    if (**p == 'Z' || **p == 'z') {
        ++*p;
        return true;
    }
    if (**p != '+' && **p != '-')
        return true;
    int sign = *(*p)++ == '-' ? -1 : 1;
    if (!digits(p, 2, &hours))
        return false;
    skip(p, ":");
    if (isdigit((unsigned char)**p) && !digits(p, 2, &minutes))
        return false;
    *seconds = sign * (hours * 3600L + minutes * 60L);
    return true;
}

bool plumb_take_time(const char *text, uint64_t *out)
{
    struct tm tm = {.tm_isdst = 0};
    const char *p = text;
    uint64_t ns;
    long east;
    if (!text || !digits(&p, 4, &tm.tm_year))
        return false;
    skip(&p, "-");
    if (!digits(&p, 2, &tm.tm_mon))
        return false;
    skip(&p, "-");
    if (!digits(&p, 2, &tm.tm_mday))
        return false;
    skip(&p, "T ");
    if (!digits(&p, 2, &tm.tm_hour))
        return false;
    skip(&p, ":");
    if (!digits(&p, 2, &tm.tm_min))
        return false;
    skip(&p, ":");
    if (isdigit((unsigned char)*p) && !digits(&p, 2, &tm.tm_sec))
        return false;
    if (!fraction(&p, &ns) || !offset(&p, &east) || *p)
        return false;
    if (tm.tm_year < 1970 || tm.tm_year > 2261 || tm.tm_mon < 1 || tm.tm_mon > 12 ||
        tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    int64_t seconds = (int64_t)timegm(&tm) - east;
    if (seconds < 0)
        return false;
    *out = (uint64_t)seconds * 1000000000u + ns;
    return true;
}

/* ---- This machine ---------------------------------------------------------------------------- */

static void put_processor(struct plumb_buf *out)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    const char *name = "unknown";
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        name = colon + 1 + strspn(colon + 1, " \t");
        break;
    }
    plumb_canonical_text(out, name);
    if (file)
        fclose(file);
}

void plumb_take_machine(struct plumb_buf *out, const char *host, int64_t cpus)
{
    char own[256] = "", other[300];
    gethostname(own, sizeof own - 1);
    plumb_buf_str(out, "{\"cpu\":");
    if (!host || strcmp(host, own) == 0) {
        put_processor(out);
    } else {
        snprintf(other, sizeof other, "host %s", host);
        plumb_canonical_text(out, other);
    }
    plumb_buf_printf(out, ",\"cpus\":%lld}",
                     (long long)(cpus > 0 ? cpus : sysconf(_SC_NPROCESSORS_ONLN)));
}
