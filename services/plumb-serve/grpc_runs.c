/* grpc_runs.c: ListRuns, GetRun and GetRunFile of plumb.v1.Profiler. A client names a run of the
 * list and a file of that run; neither name is ever used as a path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <plumb/read/report.h>
#include <plumb/read/run.h>

#include "grpc_profiler.h"
#include "grpc_session.h"
#include <proto/plumb/v1/profiler.pb-c.h>

enum { NAME_MAX_BYTES = 1024, FILES_MAX = 1024 };

struct named {
    Plumb__V1__Run message;
    char name[NAME_MAX_BYTES];
};

/* "pipeline/run", as it lies below the folder. */
static void fill_run(struct named *out, const plumb_run_info *run)
{
    plumb__v1__run__init(&out->message);
    snprintf(out->name, sizeof out->name, "%s%s%s", run->pipeline, *run->pipeline ? "/" : "",
             run->name);
    out->message.name = out->name;
    out->message.path = (char *)run->path;
    out->message.pipeline = (char *)run->pipeline;
    out->message.started = (char *)run->started;
    out->message.bytes = run->bytes;
    out->message.state = (Plumb__V1__RunState)run->state;
}

static bool open_list(plumb_run_list **out, struct serve_call *c)
{
    char own_dir[4096];
    const char *dir = c->serve->options.runs;
    plumb_error err = {0, ""};
    int rc = dir ? PLUMB_OK : plumb_runs_dir(own_dir, sizeof own_dir, &err);
    if (rc == PLUMB_OK)
        rc = plumb_run_list_open(out, dir ? dir : own_dir, &err);
    if (rc < 0)
        serve_grpc_fail(c, rc, &err);
    return rc >= 0;
}

void serve_profiler_list_runs(struct serve_call *c, const void *request)
{
    Plumb__V1__ListRunsResponse reply = PLUMB__V1__LIST_RUNS_RESPONSE__INIT;
    plumb_run_list *list = NULL;
    (void)request;
    if (!open_list(&list, c))
        return;
    size_t n = plumb_run_list_count(list);
    struct named *runs = calloc(n + 1, sizeof *runs);
    reply.runs = calloc(n + 1, sizeof(void *));
    reply.n_runs = n;
    for (size_t i = 0; runs && reply.runs && i < n; i++) {
        fill_run(&runs[i], plumb_run_list_get(list, i));
        reply.runs[i] = &runs[i].message;
    }
    if (runs && reply.runs)
        serve_call_send(c, &reply.base);
    else
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(reply.runs);
    free(runs);
    plumb_run_list_close(list);
}

/* Finds a run by its name in ListRuns, or by its last part; "": the newest. NULL after a failure.
 */
static const plumb_run_info *find_run(struct serve_call *c, const plumb_run_list *list,
                                      const char *name, struct named *out)
{
    for (size_t i = 0; i < plumb_run_list_count(list); i++) {
        const plumb_run_info *run = plumb_run_list_get(list, i);
        fill_run(out, run);
        if (!*name || strcmp(out->name, name) == 0 || strcmp(run->name, name) == 0)
            return run;
    }
    serve_call_fail(c, GRPC_STATUS_NOT_FOUND,
                    *name ? "run '%s' does not exist" : "the folder has no runs", name);
    return NULL;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct files {
    Plumb__V1__RunFile message[FILES_MAX], *list[FILES_MAX];
    size_t count;
};

static void add_file(struct files *f, const char *name, uint64_t bytes)
{
    Plumb__V1__RunFile *m = &f->message[f->count];
    char *copy = strdup(name);
    if (!copy)
        return;
    plumb__v1__run_file__init(m);
    m->name = copy;
    m->bytes = bytes;
    f->list[f->count++] = m;
}

static void list_files(struct files *f, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    struct stat st;
    while (dir && f->count < FILES_MAX && (entry = readdir(dir)))
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            add_file(f, entry->d_name, (uint64_t)st.st_size);
    if (dir)
        closedir(dir);
}

static int open_file(const char *run, const char *name)
{
    struct stat st;
    int dir = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 || strchr(name, '/')
                 ? -1
                 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (dir >= 0)
        close(dir);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void serve_profiler_get_run_file(struct serve_call *c, const void *request)
{
    const Plumb__V1__GetRunFileRequest *r = request;
    plumb_run_list *list = NULL;
    struct named name;
    char path[8192];
    if (!open_list(&list, c))
        return;
    const plumb_run_info *run = find_run(c, list, r->name, &name);
    if (run) {
        snprintf(path, sizeof path, "%s/%s", run->path, r->file);
        int fd = open_file(run->path, r->file);
        if (fd >= 0)
            serve_grpc_send_file(c, fd, path);
        else
            serve_call_fail(c, GRPC_STATUS_NOT_FOUND, "run '%s' has no file '%s'", name.name,
                            r->file);
    }
    plumb_run_list_close(list);
}

/* ---- GetRun ---------------------------------------------------------------------------------- */

static bool render(struct serve_call *c, char **out, const char *path, const char *format)
{
    plumb_report_options o = plumb_report_options_default();
    plumb_report *report = NULL;
    plumb_error err = {0, ""};
    o.format = *format ? format : "json";
    int rc = plumb_report_open(&report, path, &err);
    if (rc >= 0)
        rc = plumb_report_render(out, report, &o, &err);
    if (rc < 0)
        serve_grpc_fail(c, rc, &err);
    plumb_report_close(report);
    return rc >= 0;
}

static void send_run(struct serve_call *c, const plumb_run_info *run, struct named *name,
                     const char *format)
{
    Plumb__V1__GetRunResponse reply = PLUMB__V1__GET_RUN_RESPONSE__INIT;
    struct files *files = calloc(1, sizeof *files);
    if (!files) {
        serve_call_fail(c, GRPC_STATUS_RESOURCE_EXHAUSTED, "out of memory");
    } else if (render(c, &reply.report, run->path, format)) {
        list_files(files, run->path);
        reply.run = &name->message;
        reply.files = files->list;
        reply.n_files = files->count;
        serve_call_send(c, &reply.base);
        plumb_read_free(reply.report);
    }
    for (size_t i = 0; files && i < files->count; i++)
        free(files->message[i].name);
    free(files);
}

void serve_profiler_get_run(struct serve_call *c, const void *request)
{
    const Plumb__V1__GetRunRequest *r = request;
    plumb_run_list *list = NULL;
    struct named name;
    if (!open_list(&list, c))
        return;
    const plumb_run_info *run = find_run(c, list, r->name, &name);
    if (run)
        send_run(c, run, &name, r->format);
    plumb_run_list_close(list);
}
