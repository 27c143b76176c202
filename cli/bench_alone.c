/* bench_alone.c: the process of plumb bench that runs the stage. It answers through the shared file
 * only; what the stage prints goes to standard error. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <plumb/plumb.h>

struct plumb_cli_bench_shared *plumb_cli_bench_map(const char *folder, bool make)
{
    char path[4096];
    struct plumb_cli_bench_shared *shared = MAP_FAILED;
    int fd, saved;
    snprintf(path, sizeof path, "%s/%s", folder, PLUMB_CLI_BENCH_SHARED);
    fd = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0)
        return NULL;
    if (!make || (errno = posix_fallocate(fd, 0, sizeof *shared)) == 0)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    saved = errno;
    close(fd);
    errno = saved;
    return shared == MAP_FAILED ? NULL : shared;
}

static int save_times(const char *folder, const plumb_bench_result *r, plumb_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, PLUMB_CLI_BENCH_TIMES);
    return plumb_read_save(path, r->run_ns, r->runs * sizeof *r->run_ns, err);
}

struct recording {
    const char *folder, *collect;
};

/* Begins to record: the measured runs alone, of all threads and collectors, with a trace and a
 * breakdown. Without libplumb, or where PLUMB=0 forbids it, the stage is measured all the same. */
static void record(void *arg)
{
    const struct recording *r = arg;
    char run[4200];
    plumb_error err = {0, ""};
    plumb_options o = plumb_options_default();
    snprintf(run, sizeof run, "%s/" PLUMB_CLI_BENCH_RUN, r->folder);
    o.run_dir = run;
    o.collect = r->collect[0] ? r->collect : NULL;
    o.trace = PLUMB_ON;
    o.quiet = PLUMB_ON;
    int rc = plumb_start(&o, &err);
    if (rc < 0 && rc != PLUMB_ERR_ABSENT)
        plumb_cli_say(&plumb_cmd_bench, "nothing is recorded: %s", err.message);
}

static int run_stage(plumb_bench_result *out, const struct plumb_cli_bench *b,
                     struct plumb_cli_bench_shared *shared, plumb_error *err)
{
    struct recording recording = {b->alone, shared->collect};
    char path[PATH_MAX];
    const struct plumb_stage_library *library;
    const plumb_stage_ops *ops;
    /* The stage may change the working directory. */
    const char *signature = b->signature ? realpath(b->signature, path) : NULL;
    plumb_bench_options options = b->options;
    void *instance = NULL;
    int rc = plumb_stages_load(&library, b->library, err);
    if (rc < 0 || (rc = plumb_stages_find(&ops, library, b->stage, b->library, err)) < 0)
        return rc;
    rc = ops->open(&instance, b->config, err);
    if (rc < 0) {
        if (!err->message[0])
            snprintf(err->message, sizeof err->message, "it gives no reason");
        return rc;
    }
    fprintf(stderr, "[Harness] Setup complete: %s of %s\n", b->stage, b->library);
    options.progress = &shared->progress;
    options.measuring = record;
    options.arg = &recording;
    if (b->first_step >= 0)
        options.first_step = &b->first_step;
    rc = plumb_bench(out, signature ? signature : b->signature, b->stage, ops, instance, &options,
                     err);
    if (ops->close)
        ops->close(instance);
    return rc;
}

int plumb_cli_bench_alone(const struct plumb_cli_bench *b)
{
    struct plumb_cli_bench_shared *shared = plumb_cli_bench_map(b->alone, false);
    plumb_bench_result result;
    plumb_error err = {0, ""};
    int rc;
    if (!shared) {
        plumb_cli_say(&plumb_cmd_bench, "cannot open '%s': %s", b->alone, strerror(errno));
        return PLUMB_EXIT_TROUBLE;
    }
    rc = run_stage(&result, b, shared, &err);
    plumb_stop(NULL);
    if (rc >= 0) {
        rc = save_times(b->alone, &result, &err);
        shared->result = result;
        snprintf(shared->remarks, sizeof shared->remarks, "%s",
                 result.remarks ? result.remarks : "");
        plumb_bench_result_free(&result);
    }
    shared->status = rc;
    shared->err = err;
    shared->finished = 1;
    return rc < 0 ? PLUMB_EXIT_TROUBLE : PLUMB_EXIT_OK;
}
