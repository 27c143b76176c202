/* platform.c: the platform of a process: system, C library, compiler, GPUs, commit. Read from files
 * by the helper, when a run opens and when the program asks; texts that cannot be read stay
 * empty. */
#include "record/run/platform.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/git_commit.h"
#include "base/process/nvidia.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"

#define READ_WAIT_NS UINT64_C(5000000000)

_Static_assert(PLUMB_NVIDIA_NAME == sizeof((plumb_environment *)NULL)->gpus[0],
               "names of GPUs are copied as they are");

#ifdef __clang__
#define COMPILER __VERSION__ /* begins with the name */
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Looks in the working directory first: the executable of a script is its interpreter. */
static void find_commit(char *out, size_t size)
{
    char commit[PLUMB_GIT_COMMIT_BYTES], folder[1024];
    ssize_t n;
    if (!getcwd(folder, sizeof folder) || !plumb_git_commit(commit, folder)) {
        n = readlink("/proc/self/exe", folder, sizeof folder - 1);
        folder[n > 0 ? n : 0] = '\0';
        if (strrchr(folder, '/'))
            *strrchr(folder, '/') = '\0';
        plumb_git_commit(commit, folder);
    }
    snprintf(out, size, "%s", commit);
}

static void read_environment(plumb_environment *e)
{
    struct utsname u;
    memset(e, 0, sizeof *e);
    if (uname(&u) == 0)
        snprintf(e->platform, sizeof e->platform, "%s %s %s", u.sysname, u.release, u.machine);
#ifdef _CS_GNU_LIBC_VERSION
    if (confstr(_CS_GNU_LIBC_VERSION, e->libc, sizeof e->libc) == 0)
        e->libc[0] = '\0';
#endif
    snprintf(e->compiler, sizeof e->compiler, "%s", COMPILER);
    snprintf(e->plumb, sizeof e->plumb, "%s", PLUMB_VERSION);
    plumb_nvidia_driver(e->nvidia_driver, sizeof e->nvidia_driver, PLUMB_NVIDIA_PROC);
    e->gpu_count = plumb_nvidia_names(e->gpus, PLUMB_ENVIRONMENT_GPUS, PLUMB_NVIDIA_PROC);
    find_commit(e->git_commit, sizeof e->git_commit);
}

/* Under the lock. */
static void fact(struct plumb_run *run, enum plumb_live_fact which, const char *text)
{
    if (text[0])
        PLUMB_RELEASE(run->h->fact_off[which], plumb_carve_text(run, text));
}

/* The frame holds an environment: 3 KiB. It is needed once, when a run opens. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
void plumb_run_describe_environment(struct plumb_run *run)
{
    plumb_environment e;
    char names[sizeof e.gpus] = "";
    size_t n = 0;
    read_environment(&e);
    fact(run, PLUMB_FACT_LIBC, e.libc);
    fact(run, PLUMB_FACT_COMPILER, e.compiler);
    fact(run, PLUMB_FACT_NVIDIA_DRIVER, e.nvidia_driver);
    for (uint32_t i = 0; i < e.gpu_count; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? "\n" : "", e.gpus[i]);
    fact(run, PLUMB_FACT_GPUS, names);
    fact(run, PLUMB_FACT_GIT_COMMIT, e.git_commit);
}
#pragma GCC diagnostic pop

static int check(const char *text, size_t size, const char *what, plumb_error *err)
{
    if (text && strlen(text) >= size)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_environment_read: %s is longer than %zu bytes",
                          what, size - 1);
    return PLUMB_OK;
}

/* The last reading; under the lock. */
static plumb_environment found;

void plumb_environment_do_read(void)
{
    plumb_environment e;
    read_environment(&e);
    plumb_lock();
    found = e;
    plumb_unlock();
}

int plumb_environment_read_impl(plumb_environment *out, const char *framework, const char *version,
                                plumb_error *err)
{
    size_t size = out ? out->size : 0;
    if (size < sizeof(size_t))
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_environment_read: environment without a size");
    if (check(framework, sizeof found.framework, "framework", err) < 0 ||
        check(version, sizeof found.framework_version, "version", err) < 0)
        return PLUMB_ERR_ARG;
    if (plumb_may_lock("plumb_environment_read", err) < 0)
        return PLUMB_ERR_STATE;
    if (!plumb_helper_do(PLUMB_JOB_ENVIRONMENT, READ_WAIT_NS))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "plumb_environment_read: files that are read for it do not answer");
    plumb_lock();
    snprintf(found.framework, sizeof found.framework, "%s", framework ? framework : "");
    snprintf(found.framework_version, sizeof found.framework_version, "%s", version ? version : "");
    if ((framework || version) && plumb_rt.run) {
        fact(plumb_rt.run, PLUMB_FACT_FRAMEWORK, found.framework);
        fact(plumb_rt.run, PLUMB_FACT_FRAMEWORK_VERSION, found.framework_version);
    }
    found.size = size;
    memcpy(out, &found, size < sizeof found ? size : sizeof found);
    plumb_unlock();
    return PLUMB_OK;
}
