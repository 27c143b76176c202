/* otlp_runs.c: see otlp_runs.h. A run is known by its real path: a process may record into a link
 * to the folder that is searched as well. The folder is listed newest first, and no more than the
 * newest are looked at, so that a run that is over is not taken for a new one after it was
 * forgotten. */
#include "otlp_runs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include <plumb/control.h>
#include <plumb/read/run.h>

void otlp_runs_init(struct otlp_runs *runs, const char *folder, const plumb_otlp_options *options)
{
    memset(runs, 0, sizeof *runs);
    runs->folder = folder;
    runs->options = *options;
    /* The clock of the times that the kernel gives to files. */
    clock_gettime(CLOCK_REALTIME_COARSE, &runs->since);
}

static void forget(struct otlp_runs *runs, size_t i)
{
    free(runs->run[i].path);
    plumb_otlp_close(runs->run[i].reader);
    runs->run[i] = runs->run[--runs->count];
}

void otlp_runs_fini(struct otlp_runs *runs)
{
    while (runs->count > 0)
        forget(runs, runs->count - 1);
}

static bool find(struct otlp_runs *runs, const char *path)
{
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->run[i].path, path) == 0) {
            runs->run[i].listed = true;
            return true;
        }
    return false;
}

static void add(struct otlp_runs *runs, const char *run_dir)
{
    struct otlp_run made = {.path = realpath(run_dir, NULL), .listed = true};
    plumb_error err;
    if (!made.path || find(runs, made.path)) {
        free(made.path);
        return;
    }
    if (runs->count == OTLP_RUNS_MAX) {
        if (!runs->full)
            serve_log("otlp: exports %d runs at once; further ones wait", OTLP_RUNS_MAX);
        runs->full = true;
        free(made.path);
        return;
    }
    if (plumb_otlp_open(&made.reader, made.path, &runs->options, &err) < 0) {
        free(made.path);
        return;
    }
    runs->run[runs->count++] = made;
}

/* A run that was over before this began is not exported. */
static bool is_new(const struct otlp_runs *runs, const plumb_run_info *info)
{
    char path[PATH_MAX];
    struct stat st;
    if (info->state == PLUMB_RUN_OPEN)
        return true;
    snprintf(path, sizeof path, "%s/timing.json", info->path);
    if (stat(path, &st) != 0)
        return false;
    if (st.st_mtim.tv_sec != runs->since.tv_sec)
        return st.st_mtim.tv_sec > runs->since.tv_sec;
    return st.st_mtim.tv_nsec >= runs->since.tv_nsec;
}

static void look_into_folder(struct otlp_runs *runs)
{
    plumb_run_list *list;
    plumb_error err;
    if (plumb_run_list_open(&list, runs->folder, &err) < 0)
        return;
    for (size_t i = 0; i < plumb_run_list_count(list) && i < OTLP_RUNS_MAX; i++) {
        const plumb_run_info *info = plumb_run_list_get(list, i);
        if (is_new(runs, info))
            add(runs, info->path);
    }
    plumb_run_list_close(list);
}

static void look_at_processes(struct otlp_runs *runs)
{
    plumb_process_list *list;
    plumb_error err;
    if (plumb_process_list_open(&list, &err) < 0)
        return;
    for (size_t i = 0; i < plumb_process_list_count(list); i++) {
        const plumb_process *p = plumb_process_list_get(list, i);
        if (p->answers && p->run_dir && *p->run_dir)
            add(runs, p->run_dir);
    }
    plumb_process_list_close(list);
}

void otlp_runs_look(struct otlp_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->run[i].listed = false;
    look_into_folder(runs);
    look_at_processes(runs);
    for (size_t i = runs->count; i-- > 0;)
        if (!runs->run[i].listed && (runs->run[i].over || runs->run[i].fails))
            forget(runs, i);
}
