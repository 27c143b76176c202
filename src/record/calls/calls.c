/* calls.c: see calls.h.
 *
 * The counts lie in memory of the process, and grow for as long as it lives. Ten times a second,
 * and at the end of the run, what was added since the last time goes into the counts of the run, in
 * the mapping. So a run that ends has every call; a killed process loses those of its last tenth of
 * a second, and of its first one. No thread of the program does anything for this. */
#include "record/calls/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/calls_area.h"
#include "base/clock.h"
#include "base/log.h"
#include "record/count/count.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/record_log.h"
#include "record/runtime/run_wanted.h"

enum { MS = 1000000, TURN_NS = 100 * MS, OPEN_AFTER_MS = 100, OPEN_BELOW_AFTER_MS = 1000 };

/* Of the helper, and of the thread that loads the library. */
static struct {
    const struct plumb_calls_area *area; /* NULL: the process counts none */
    bool asked;                          /* this process is the one that was asked to record */
    bool seen;                           /* a run has opened in this process */
    uint64_t next_ns;
    uint64_t *passed; /* [passed_count] what was passed on of each entry */
    uint32_t passed_count, passed_cap;
    uint64_t unattributed[PLUMB_CALLS_FUNCTIONS]; /* the same of these */
    uint32_t noted;                               /* notes that the run has */
    uint32_t reported[PLUMB_CALLS_ITEMS / 32];    /* bit i: item i of the list has been reported */
    char *name;                                   /* [name_bytes] of the last function */
    size_t name_bytes;
} calls;

/* ---- Finding the counts ---------------------------------------------------------------------- */

/* "7f5e1c3a2000-7f5e1c3a3000 r--p ... /memfd:plumb-calls-1 (deleted)" */
static const struct plumb_calls_area *area_of(const char *line)
{
    uint64_t begin = 0, end = 0;
    char rights[5] = "";
    const uint64_t *page;
    if ((!strstr(line, "/memfd:" PLUMB_CALLS_PAGE " (deleted)") &&
         !strstr(line, "[anon:" PLUMB_CALLS_PAGE "]")) ||
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, rights) != 3 ||
        strcmp(rights, "r--p") != 0)
        return NULL;
    page = (const uint64_t *)(uintptr_t)begin;
    return page[0] == PLUMB_CALLS_MAGIC ? (const void *)(uintptr_t)page[1] : NULL;
}

static const struct plumb_calls_area *find(void)
{
    const struct plumb_calls_area *found = NULL;
    char *line = NULL;
    size_t size = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && getline(&line, &size, maps) > 0)
        found = area_of(line);
    if (maps)
        fclose(maps);
    free(line);
    return found && found->version == PLUMB_CALLS_VERSION && found->size == sizeof *found ? found
                                                                                          : NULL;
}

void plumb_calls_find(const struct plumb_api *api)
{
    uint64_t asked = plumb_rt.settings.record_pid;
    int saved = errno;
    if (!plumb_rt.settings.count[0])
        return;
    calls.area = find();
    calls.asked = !asked || asked == plumb_rt.pid;
    if (calls.area)
        calls.area->attach(api, plumb_periodic_pass_on);
    if (calls.area && plumb_wanted())
        plumb_periodic_open_later(calls.asked ? OPEN_AFTER_MS : OPEN_BELOW_AFTER_MS);
    errno = saved;
}

static uint32_t entry_count(void)
{
    uint32_t n = PLUMB_ACQUIRE(*calls.area->entry_count);
    return n < calls.area->entry_limit ? n : calls.area->entry_limit;
}

static uint32_t function_count(void)
{
    uint32_t n = PLUMB_ACQUIRE(*calls.area->function_count);
    return n < PLUMB_CALLS_FUNCTIONS ? n : PLUMB_CALLS_FUNCTIONS;
}

bool plumb_calls_are_counted(void)
{
    return calls.area != NULL;
}

bool plumb_calls_wait(void)
{
    if (!calls.area || entry_count() > 0)
        return calls.area != NULL;
    return calls.asked && (function_count() > 0 || PLUMB_LOAD(*calls.area->note_count) > 0);
}

/* ---- Passing on ------------------------------------------------------------------------------ */

/* Returns "library:function", until the next call; names of C++ may have any length. */
static const char *name_of(uint32_t function)
{
    const struct plumb_calls_function *f = &calls.area->functions[function];
    size_t library = strlen(f->library), bytes = library + strlen(f->name) + 2;
    if (bytes > calls.name_bytes) {
        char *larger = realloc(calls.name, bytes * 2);
        if (!larger)
            return "(other)";
        calls.name = larger;
        calls.name_bytes = bytes * 2;
    }
    snprintf(calls.name, bytes, "%s:%s", f->library, f->name);
    return calls.name;
}

static void pass(struct plumb_run *run, uint64_t key, int64_t step, uint32_t function, uint64_t n)
{
    struct plumb_count_event e = {.kind = PLUMB_COUNT_CALLS,
                                  .group = plumb_key_group(key),
                                  .node = plumb_key_node(key),
                                  .step = step,
                                  .calls = n,
                                  .value = (int64_t)n};
    if (n == 0 || function >= PLUMB_CALLS_FUNCTIONS ||
        !PLUMB_ACQUIRE(calls.area->functions[function].name))
        return;
    e.name = name_of(function);
    plumb_cell_add(run, &e);
}

/* Makes a place for what was passed on of each entry. Returns how many entries have one. */
static uint32_t reach(uint32_t n)
{
    uint32_t cap = calls.passed_cap ? calls.passed_cap : 1024;
    uint64_t *larger;
    while (cap < n)
        cap *= 2;
    if (cap != calls.passed_cap) {
        larger = realloc(calls.passed, cap * sizeof *larger);
        if (!larger)
            return calls.passed_count;
        calls.passed = larger;
        calls.passed_cap = cap;
    }
    for (; calls.passed_count < n; calls.passed_count++)
        calls.passed[calls.passed_count] = 0;
    return n;
}

/* `run` NULL: what is counted now belongs to no run. */
static void take(struct plumb_run *run)
{
    uint32_t n = reach(entry_count());
    for (uint32_t i = 0; i < n; i++) {
        const struct plumb_calls_entry *e = &calls.area->entries[i];
        uint32_t function = PLUMB_ACQUIRE(e->function);
        uint64_t now = PLUMB_LOAD(e->calls), added = now - calls.passed[i];
        if (!function || !added)
            continue;
        calls.passed[i] = now;
        if (run)
            pass(run, e->key, e->step, function - 1, added);
    }
    for (uint32_t i = 0; i < function_count(); i++) {
        uint64_t now = PLUMB_LOAD(calls.area->unattributed[i]);
        uint64_t added = now - calls.unattributed[i];
        calls.unattributed[i] = now;
        if (run)
            pass(run, 0, -1, i, added);
    }
}

/* A line may not be complete yet. `end`: it never will be. */
static void note_new(struct plumb_run *run, bool end)
{
    uint32_t n = PLUMB_ACQUIRE(*calls.area->note_count), most = calls.area->note_limit;
    if (calls.noted < n && calls.noted < most)
        plumb_lock();
    else
        return;
    for (; calls.noted < n && calls.noted < most; calls.noted++) {
        const char *line = PLUMB_ACQUIRE(calls.area->notes[calls.noted]);
        if (!line && !end)
            break;
        if (line)
            plumb_run_note(run, "%s", line);
    }
    plumb_unlock();
}

/* Reports to `plumb record` which items of the list have matched a function since the last time. */
static void report_seen(void)
{
    const char *item = plumb_rt.settings.count;
    for (uint32_t i = 0; i < PLUMB_CALLS_ITEMS && *item; i++) {
        uint32_t bit = UINT32_C(1) << i % 32;
        if (!(PLUMB_LOAD(calls.area->never_found[i / 32]) & bit) &&
            !(calls.reported[i / 32] & bit)) {
            calls.reported[i / 32] |= bit;
            plumb_run_report_line("seen", "-", i, 0);
        }
        item += strcspn(item, ",");
        item += *item == ',';
    }
}

void plumb_calls_open(struct plumb_run *run)
{
    if (!calls.area)
        return;
    if (calls.seen)
        take(NULL);
    calls.seen = true;
    calls.next_ns = 0;
    calls.noted = 0;
    plumb_run_report_line("calls", "-", 0, 0);
    (void)run;
}

void plumb_calls_pass_on(struct plumb_run *run)
{
    if (!calls.area)
        return;
    take(run);
    note_new(run, false);
    report_seen();
}

uint64_t plumb_calls_turn(struct plumb_run *run)
{
    uint64_t now;
    if (!calls.area)
        return UINT64_MAX;
    now = plumb_clock_gettime_ns(CLOCK_MONOTONIC);
    if (now >= calls.next_ns) {
        plumb_calls_pass_on(run);
        calls.next_ns = now + TURN_NS;
    }
    return calls.next_ns - now;
}

void plumb_calls_finish(struct plumb_run *run)
{
    uint32_t n;
    if (!calls.area)
        return;
    plumb_calls_pass_on(run);
    note_new(run, true);
    n = PLUMB_ACQUIRE(*calls.area->note_count);
    if (n <= calls.area->note_limit)
        return;
    plumb_lock();
    plumb_run_note(run, "not counted: %u more references", n - calls.area->note_limit);
    plumb_unlock();
}

void plumb_calls_forked(void)
{
    /* The helper of the parent may have been moving them. */
    calls.passed = NULL;
    calls.name = NULL;
    calls.passed_count = calls.passed_cap = 0;
    calls.name_bytes = 0;
    calls.asked = false;
    calls.seen = false;
    memset(calls.unattributed, 0, sizeof calls.unattributed);
    if (calls.area && plumb_wanted())
        plumb_periodic_open_later(OPEN_BELOW_AFTER_MS);
}
