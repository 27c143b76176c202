/* http_metrics.c: finds the processes that record, reads their mappings, and writes the text. The
 * processes do nothing for it.
 *
 * A process is found through its control socket, or by its run below the folder of runs, which is
 * searched every other second at most: it may hold thousands of runs. */
#include "http_metrics.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <plumb/control.h>
#include <plumb/read/metrics.h>
#include <plumb/read/run.h>

#include "fail.h"
#include "log.h"

enum { PROCESSES_MAX = 256, SEARCH_AGAIN_S = 2 };

struct serve_scraper {
    pthread_mutex_t lock;
    const char *runs;
    struct serve_devices *devices;
    uint64_t scrapes, failed;
    plumb_error said; /* the first failure of the newest scrape that had one: logged once */
    time_t searched;
    size_t found;
    char *open_run[PROCESSES_MAX]; /* runs without an end, newest first */
};

struct serve_scraper *serve_scraper_open(const char *runs, struct serve_devices *devices)
{
    struct serve_scraper *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->runs = runs;
    s->devices = devices;
    return s;
}

static void forget_runs(struct serve_scraper *s)
{
    while (s->found)
        free(s->open_run[--s->found]);
}

void serve_scraper_close(struct serve_scraper *s)
{
    if (!s)
        return;
    forget_runs(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- Finding --------------------------------------------------------------------------------- */

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1; /* not 0, which is "never" */
}

static void search(struct serve_scraper *s)
{
    plumb_run_list *list = NULL;
    time_t now = now_s();
    if (s->searched && now - s->searched < SEARCH_AGAIN_S)
        return;
    s->searched = now;
    forget_runs(s);
    if (plumb_run_list_open(&list, s->runs, NULL) < 0)
        return;
    for (size_t i = 0; i < plumb_run_list_count(list) && s->found < PROCESSES_MAX; i++) {
        const plumb_run_info *run = plumb_run_list_get(list, i);
        char *path = run->state == PLUMB_RUN_OPEN ? realpath(run->path, NULL) : NULL;
        if (path)
            s->open_run[s->found++] = path;
    }
    plumb_run_list_close(list);
}

struct scrape {
    struct serve_scraper *s;
    plumb_metrics *metrics;
    char *added[PROCESSES_MAX];
    size_t count, failed;
};

/* A run that ended since it was found, or whose process is gone, is not a failure. */
static bool fails(const plumb_error *err)
{
    return err->code < 0 && err->code != PLUMB_ERR_STATE && err->code != PLUMB_ERR_NOT_FOUND;
}

static void note_failure(struct scrape *x, const plumb_error *err)
{
    if (x->failed++)
        return;
    if (strcmp(x->s->said.message, err->message) != 0)
        serve_log("http: %s", err->message);
    x->s->said = *err;
}

/* Takes `path`. */
static void add(struct scrape *x, char *path)
{
    plumb_error err = {0, ""};
    bool is_new = path && x->count < PROCESSES_MAX;
    for (size_t i = 0; is_new && i < x->count; i++)
        is_new = strcmp(x->added[i], path) != 0;
    if (!is_new || plumb_metrics_add(x->metrics, path, &err) < 0) {
        if (fails(&err))
            note_failure(x, &err);
        free(path);
        return;
    }
    x->added[x->count++] = path;
}

static void add_all(struct scrape *x)
{
    plumb_process_list *list = NULL;
    if (plumb_process_list_open(&list, NULL) == PLUMB_OK)
        for (size_t i = 0; i < plumb_process_list_count(list); i++) {
            const plumb_process *p = plumb_process_list_get(list, i);
            if (p->answers && p->run_dir && p->run_dir[0])
                add(x, realpath(p->run_dir, NULL));
        }
    plumb_process_list_close(list);
    search(x->s);
    for (size_t i = 0; i < x->s->found; i++)
        add(x, strdup(x->s->open_run[i]));
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void put(const struct scrape *x, uint32_t type, const char *name, const char *help,
                double value)
{
    plumb_metrics_put(x->metrics, type, name, help, NULL, value, NULL);
}

static void add_own(struct scrape *x, double seconds)
{
    serve_devices_add(x->s->devices, x->metrics);
    put(x, PLUMB_METRIC_GAUGE, "plumb_serve_processes", "Processes that record and were read",
        (double)x->count);
    put(x, PLUMB_METRIC_COUNTER, "plumb_serve_scrapes_total", "Answers so far, with this one",
        (double)x->s->scrapes);
    put(x, PLUMB_METRIC_COUNTER, "plumb_serve_unreadable_total",
        "Runs that could not be read, at all scrapes", (double)x->s->failed);
    put(x, PLUMB_METRIC_GAUGE, "plumb_serve_scrape_duration_seconds",
        "Time that reading the processes took for this answer", seconds);
}

static double elapsed_s(const struct timespec *from)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - from->tv_sec) + (double)(t.tv_nsec - from->tv_nsec) / 1e9;
}

static int answer(char **out, size_t *bytes, struct scrape *x, enum serve_answer what,
                  plumb_error *err)
{
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    x->s->scrapes++;
    add_all(x);
    x->s->failed += x->failed;
    if (what == SERVE_ANSWER_SUMMARY)
        return plumb_metrics_summary(out, bytes, x->metrics, err);
    add_own(x, elapsed_s(&begin));
    return plumb_metrics_render(out, bytes, x->metrics,
                                what == SERVE_ANSWER_OPENMETRICS ? PLUMB_METRICS_OPENMETRICS
                                                                 : PLUMB_METRICS_PROMETHEUS,
                                err);
}

int serve_scraper_answer(char **out, size_t *bytes, struct serve_scraper *s, enum serve_answer what,
                         plumb_error *err)
{
    plumb_metrics_options o = plumb_metrics_options_default();
    struct scrape x = {.s = s};
    int rc;
    o.only_recording = 1;
    pthread_mutex_lock(&s->lock);
    if ((rc = plumb_metrics_open(&x.metrics, &o, err)) == PLUMB_OK)
        rc = answer(out, bytes, &x, what, err);
    plumb_metrics_close(x.metrics);
    while (x.count)
        free(x.added[--x.count]);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- Content negotiation --------------------------------------------------------------------- */

/* Returns the quality of a media range, 0 to 1, or -1 if `accept` does not name it. */
static double quality(const char *accept, const char *range)
{
    double best = -1;
    size_t n = strlen(range);
    for (const char *at = accept; at && *at; at = strchr(at, ',')) {
        at += strspn(at, ", \t");
        if (strncasecmp(at, range, n) == 0 && strchr(";, \t", at[n])) {
            const char *end = at + strcspn(at, ","), *q = at;
            double value = 1;
            while ((q = strchr(q, ';')) && q < end) {
                q += 1 + strspn(q + 1, " \t");
                if ((*q == 'q' || *q == 'Q') && q[1] == '=')
                    value = strtod(q + 2, NULL);
            }
            best = value > best ? value : best;
        }
    }
    return best;
}

bool serve_accepts_openmetrics(const char *accept)
{
    double open = quality(accept, "application/openmetrics-text"), text;
    if (open <= 0)
        return false;
    text = quality(accept, "text/plain");
    return open >= text;
}
