/* read_runs.c: run directories of the public interface. Any thread, one list at a time. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/rank.h"
#include "config/settings.h"
#include "read/run/load.h"
#include "read/run/runs.h"
#include "report/run/run_list.h"
#include <plumb/read/run.h>

extern char **environ;

struct plumb_run_list {
    struct plumb_found_runs found;
    plumb_run_info *infos;
};

int plumb_runs_dir(char *out, size_t size, plumb_error *err)
{
    struct plumb_settings *settings = malloc(sizeof *settings);
    struct plumb_rank rank;
    plumb_error why;
    char host[256] = "localhost";
    int rc;
    if (!settings)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    gethostname(host, sizeof host - 1);
    plumb_rank_find(&rank, environ);
    plumb_settings_default(settings);
    plumb_settings_from_env(settings, environ, NULL, NULL);
    struct plumb_expand values = {host, (uint64_t)getpid(), rank.rank, environ};
    rc = plumb_settings_expand(out, size, settings->dir, &values, &why);
    if (rc < 0)
        rc = plumb_fail(err, rc, "PLUMB_DIR '%s': %s", settings->dir, why.message);
    free(settings);
    return rc;
}

/* "20260102-030405" to "2026-01-02 03:04:05". */
static char *started_text(struct plumb_arena *arena, const char *s)
{
    if (strlen(s) != 15)
        return plumb_arena_strdup(arena, "");
    return plumb_arena_printf(arena, "%.4s-%.2s-%.2s %.2s:%.2s:%.2s", s, s + 4, s + 6, s + 9,
                              s + 11, s + 13);
}

int plumb_run_list_open(plumb_run_list **out, const char *dir, plumb_error *err)
{
    char own_dir[4096];
    int rc;
    struct plumb_run_list *list = calloc(1, sizeof *list);
    if (!list)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a list of runs");
    if (!dir && (rc = plumb_runs_dir(own_dir, sizeof own_dir, err)) < 0)
        goto out;
    if ((rc = plumb_runs_find(&list->found, dir ? dir : own_dir, err)) < 0)
        goto out;
    struct plumb_arena *arena = &list->found.arena;
    list->infos = plumb_arena_alloc(arena, (list->found.count + 1) * sizeof *list->infos);
    for (size_t i = 0; list->infos && i < list->found.count; i++) {
        const struct plumb_found_run *run = &list->found.runs[i];
        uint32_t state = run->ended ? PLUMB_RUN_ENDED : PLUMB_RUN_OPEN;
        list->infos[i] = (plumb_run_info){.path = run->path,
                                          .name = run->name,
                                          .pipeline = run->pipeline,
                                          .started = started_text(arena, run->stamp),
                                          .bytes = run->bytes,
                                          .state = state};
    }
    if (arena->failed) {
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a list of runs");
        goto out;
    }
    *out = list;
    list = NULL;
out:
    plumb_run_list_close(list);
    return rc;
}

void plumb_run_list_close(plumb_run_list *list)
{
    if (!list)
        return;
    plumb_runs_fini(&list->found);
    free(list);
}

size_t plumb_run_list_count(const plumb_run_list *list)
{
    return list->found.count;
}

const plumb_run_info *plumb_run_list_get(const plumb_run_list *list, size_t i)
{
    return i < list->found.count ? &list->infos[i] : NULL;
}

int plumb_run_list_render(char **out, const plumb_run_list *list, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_buf_str(&text, "");
    plumb_run_list_text(&text, list->infos, list->found.count);
    if (text.failed) {
        plumb_buf_fini(&text);
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for a list of runs");
    }
    *out = text.data;
    return PLUMB_OK;
}

/* Whether the run's process is alive. If that is not known, it counts as alive: pruning must not
 * guess. */
static bool still_records(const char *path, void *arg)
{
    struct plumb_load load;
    plumb_error err = {0, ""};
    (void)arg;
    if (plumb_load_run(&load, path, &err) < 0)
        return err.code != PLUMB_ERR_FORMAT; /* a mapping that no reader accepts anyway */
    plumb_timing_fini(&load.timing);
    return load.state == PLUMB_LOAD_LIVE;
}

int plumb_run_list_prune(plumb_pruned_runs *out, const plumb_run_list *list,
                         const plumb_prune_options *options, plumb_error *err)
{
    plumb_prune_options o = {sizeof o, 0, 0};
    struct plumb_pruned done;
    struct timespec now;
    if (!options || options->size < sizeof o)
        return plumb_fail(err, PLUMB_ERR_ARG, "options without a size");
    o = *options;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_s = (uint64_t)now.tv_sec;
    uint64_t before_s = o.older_than_s > 0 && o.older_than_s < now_s ? now_s - o.older_than_s : 0;
    struct plumb_prune rules = {
        .older_than_ns = before_s * 1000000000u,
        .max_bytes = o.max_bytes ? o.max_bytes : UINT64_MAX,
        .busy = still_records,
    };
    int rc = plumb_runs_prune(&done, &list->found, &rules, err);
    if (rc == PLUMB_OK && out)
        *out = (plumb_pruned_runs){done.runs, done.bytes};
    return rc;
}
