/* region.c: see region.h. Resolving compares short names one by one: there are some twenty. */
#include "record/span/region.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pages.h"
#include "base/process/environment.h"
#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "config/region_names.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/region_state.h"
#include "record/runtime/runtime.h"

static struct plumb_region_entry *at(uint32_t i)
{
    return &plumb_rt.regions.entry[i];
}

static uint32_t count(void)
{
    return PLUMB_ACQUIRE(plumb_rt.regions.count);
}

/* ---- The registry ---------------------------------------------------------------------------- */

/* Returns the number of the region, from 1, or 0. */
static uint32_t find_short(const char *name)
{
    for (uint32_t i = 0; i < count(); i++) {
        if (strcmp(at(i)->short_name, name) == 0 || (at(i)->twin && strcmp(at(i)->twin, name) == 0))
            return i + 1;
    }
    return 0;
}

static uint32_t find(const char *text, size_t len)
{
    char name[PLUMB_REGION_SHORT_MAX + 1];
    return plumb_region_normalise(name, text, len, NULL) == PLUMB_OK ? find_short(name) : 0;
}

/* Returns whether PLUMB_REGIONS names region `i`. */
static bool is_listed(uint32_t i)
{
    const char *list = plumb_rt.settings.regions, *token;
    size_t len;
    while ((token = plumb_region_token(&list, &len)) != NULL)
        if ((len == 1 && *token == '*') || find(token, len) == i + 1)
            return true;
    return false;
}

static void publish(struct plumb_run *run, uint32_t i)
{
    struct plumb_live_region *r = plumb_table_add(run, &run->h->region);
    if (!r)
        return;
    memset(r, 0, sizeof *r);
    r->name_off = plumb_carve_text(run, at(i)->long_name);
    r->selected = at(i)->selected;
    plumb_table_commit(&run->h->region);
}

/* Under the lock. */
static int add(const char *name, const char *twin, const char *description, plumb_error *err)
{
    struct plumb_regions *all = &plumb_rt.regions;
    struct plumb_region_entry e = {.twin = twin};
    char text[sizeof PLUMB_REGION_NODE + sizeof PLUMB_REGION_PREFIX + PLUMB_REGION_SHORT_MAX];
    if (all->count == PLUMB_REGIONS_MAX)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "there are %d regions already; '%s' is one more",
                          (int)PLUMB_REGIONS_MAX, name);
    if (!all->entry)
        all->entry = plumb_pages_map(PLUMB_REGIONS_MAX * sizeof *all->entry);
    snprintf(text, sizeof text, PLUMB_REGION_NODE PLUMB_REGION_PREFIX "%s", name);
    e.node_name = plumb_keep_text(text);
    e.description = plumb_keep_text(description ? description : "");
    if (!all->entry || !e.node_name || !e.description)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "no memory for the region '%s'", name);
    e.long_name = e.node_name + sizeof PLUMB_REGION_NODE - 1;
    e.short_name = e.long_name + sizeof PLUMB_REGION_PREFIX - 1;
    *at(all->count) = e;
    PLUMB_RELEASE(all->count, all->count + 1);
    return PLUMB_OK;
}

static void ready(void)
{
    const struct plumb_region_name *names;
    size_t n;
    if (count())
        return;
    names = plumb_region_names(&n);
    for (size_t i = 0; i < n; i++)
        add(names[i].name, names[i].twin, names[i].description, NULL);
}

int plumb_region_register_impl(const char *name, const char *description, plumb_error *err)
{
    char short_name[PLUMB_REGION_SHORT_MAX + 1];
    int rc = plumb_region_normalise(short_name, name ? name : "", name ? strlen(name) : 0, err);
    if (rc < 0)
        return rc;
    if (plumb_locked)
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "a signal handler that interrupted plumb cannot register '%s'", name);
    plumb_lock();
    ready();
    if (find_short(short_name))
        rc = plumb_fail(err, PLUMB_ERR_STATE, "the region '%s' is registered already", short_name);
    else
        rc = add(short_name, NULL, description, err);
    if (rc == PLUMB_OK && plumb_rt.run) {
        uint32_t last = plumb_rt.regions.count - 1;
        PLUMB_STORE(at(last)->selected, is_listed(last));
        publish(plumb_rt.run, last);
    }
    plumb_unlock();
    return rc;
}

uint32_t plumb_region_number(const char *name)
{
    if (!count() && !plumb_locked) {
        plumb_lock();
        ready();
        plumb_unlock();
    }
    return name ? find(name, strlen(name)) : 0;
}

const char *plumb_region_resolve_impl(const char *name)
{
    uint32_t i = plumb_region_number(name);
    return i ? at(i - 1)->long_name : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(at(*(const uint32_t *)a)->short_name, at(*(const uint32_t *)b)->short_name);
}

/* Sorts the indices of the registry by name. Returns how many there are. */
static uint32_t sorted(uint32_t order[PLUMB_REGIONS_MAX])
{
    uint32_t n = count();
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort(order, n, sizeof *order, by_name);
    return n;
}

size_t plumb_region_list_impl(plumb_region *out, size_t n, size_t element_bytes)
{
    uint32_t order[PLUMB_REGIONS_MAX], have;
    plumb_region_number(NULL);
    have = sorted(order);
    if (plumb_locked)
        return have; /* this is a signal handler that interrupted the holder */
    plumb_lock();
    for (uint32_t i = 0; i < have && i < n; i++) {
        const struct plumb_region_entry *e = at(order[i]);
        struct plumb_run *run = plumb_rt.run;
        plumb_region r = {.name = e->long_name,
                          .short_name = e->short_name,
                          .twin = e->twin,
                          .description = e->description,
                          .selected = run && e->selected};
        if (run && order[i] < run->h->region.count)
            r.entered = PLUMB_LOAD(
                ((struct plumb_live_region *)plumb_table_at(run, &run->h->region, order[i]))
                    ->entered);
        memcpy((char *)out + i * element_bytes, &r,
               element_bytes < sizeof r ? element_bytes : sizeof r);
    }
    plumb_unlock();
    return have;
}

/* ---- What is selected ------------------------------------------------------------------------ */

/* A variable that is set and empty selects no region, unlike one that is not set. */
static bool is_chosen(void)
{
    const char *set = plumb_environment_get(plumb_environ(), "PLUMB_REGIONS");
    /* A value that is set and not in the settings was refused, which was reported. */
    return plumb_rt.settings.regions[0] || (set && !*set);
}

static bool is_every(void)
{
    const char *list = plumb_rt.settings.regions, *token;
    size_t len;
    while ((token = plumb_region_token(&list, &len)) != NULL)
        if (len == 1 && *token == '*')
            return true;
    return false;
}

void plumb_regions_open(struct plumb_run *run)
{
    struct plumb_regions *all = &plumb_rt.regions;
    uint32_t selected = 0;
    ready();
    for (uint32_t i = 0; i < all->count; i++) {
        PLUMB_STORE(at(i)->selected, is_listed(i));
        selected += at(i)->selected;
        if (at(i)->node)
            plumb_node_select(at(i)->node, at(i)->selected);
        publish(run, i);
    }
    all->selection = !is_chosen() ? PLUMB_SELECT_RUN
                     : selected   ? PLUMB_SELECT_REGIONS
                                  : PLUMB_SELECT_NOTHING;
    PLUMB_STORE(all->speaks, run->h->local_rank <= 0 && !plumb_rt.forked);
    run->h->regions.selection = all->selection;
    run->h->regions.scope = plumb_rt.settings.region_scope;
    run->h->regions.all = is_every();
    run->h->regions.on_off = plumb_carve_text(run, PLUMB_COLLECTION_ON);
    run->h->regions.off_off = plumb_carve_text(run, PLUMB_COLLECTION_OFF);
}

/* A line of the log that is put together; parts that do not fit are left out. */
struct line {
    char text[900];
    size_t len;
};

static void put(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct line *l, const char *format, ...)
{
    va_list ap;
    int n;
    va_start(ap, format);
    n = vsnprintf(l->text + l->len, sizeof l->text - l->len, format, ap);
    va_end(ap);
    if (n > 0)
        l->len += (size_t)n < sizeof l->text - l->len ? (size_t)n : sizeof l->text - l->len - 1;
}

static void put_names(struct line *l)
{
    uint32_t order[PLUMB_REGIONS_MAX], n = sorted(order);
    for (uint32_t i = 0; i < n; i++)
        put(l, "%s%s", i ? ", " : "", at(order[i])->short_name);
}

const char *plumb_region_nearest(const char *token, size_t len)
{
    char word[PLUMB_REGION_SHORT_MAX + 1];
    struct plumb_nearest n;
    if (plumb_region_normalise(word, token, len, NULL) < 0)
        return NULL;
    n = plumb_nearest_start(word);
    for (uint32_t i = 0; i < count(); i++) {
        plumb_nearest_offer(&n, at(i)->short_name);
        if (at(i)->twin)
            plumb_nearest_offer(&n, at(i)->twin);
    }
    return n.best;
}

/* Appends the entries of the list that name no region, in their order, each once. */
static uint32_t put_strangers(struct line *l)
{
    const char *list = plumb_rt.settings.regions, *start = list, *token;
    uint32_t n = 0;
    size_t len;
    while ((token = plumb_region_token(&list, &len)) != NULL) {
        const char *before = start, *earlier;
        size_t earlier_len;
        if ((len == 1 && *token == '*') || find(token, len))
            continue;
        while ((earlier = plumb_region_token(&before, &earlier_len)) != token)
            if (earlier_len == len && plumb_ascii_equal_n(earlier, token, len))
                break;
        if (earlier != token)
            continue;
        put(l, "%s'%.*s'", n++ ? ", " : "", (int)(len < 80 ? len : 80), token);
        earlier = plumb_region_nearest(token, len);
        if (earlier)
            put(l, " (did you mean '%s'?)", earlier);
    }
    return n;
}

static void log_nothing_selected(const char *consequence)
{
    struct line l = {.len = 0};
    put(&l, "plumb: PLUMB_REGIONS names no region, %s: ", consequence);
    if (put_strangers(&l) == 0)
        put(&l, "the list is empty");
    put(&l, "; there are ");
    put_names(&l);
    plumb_say("%s", l.text);
}

/* Under life_lock, so the settings do not change. */
static bool selects_nothing(void)
{
    if (plumb_rt.settings.region_check != PLUMB_REGION_ABORT || plumb_rt.forked || !is_chosen())
        return false;
    plumb_region_number(NULL);
    for (uint32_t i = 0; i < count(); i++)
        if (is_listed(i))
            return false;
    return true;
}

void plumb_regions_check(void)
{
    bool nothing;
    if (PLUMB_LOAD(plumb_rt.settings.region_check) != PLUMB_REGION_ABORT)
        return;
    plumb_life_lock();
    nothing = selects_nothing();
    if (nothing)
        log_nothing_selected("so the program ends (PLUMB_REGION_CHECK=abort)");
    plumb_life_unlock();
    if (!nothing)
        return;
    fflush(NULL);
    _exit(1);
}

/* Rank 0 of a machine logs for all ranks, and a forked child's parent has already logged. */
bool plumb_regions_speak(void)
{
    return PLUMB_LOAD(plumb_rt.regions.speaks);
}

void plumb_regions_log(void)
{
    struct plumb_regions *all = &plumb_rt.regions;
    struct line l = {.len = 0};
    uint64_t hash = plumb_hash_text(plumb_rt.settings.regions) | 1;
    if (!is_chosen() || all->told == hash || !plumb_regions_speak())
        return;
    all->told = hash;
    if (all->selection == PLUMB_SELECT_NOTHING) {
        log_nothing_selected("so there is no trace");
        return;
    }
    put(&l, "plumb: PLUMB_REGIONS: no such region, ignored: ");
    if (put_strangers(&l)) {
        put(&l, "; there are ");
        put_names(&l);
        plumb_say("%s", l.text);
    }
}
