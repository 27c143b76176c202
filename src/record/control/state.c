/* state.c: see state.h. */
#include "record/control/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process/process.h"
#include "base/process/rank.h"
#include "base/process/resident.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include "record/span/snapshot.h"
#include "record/trace/switch.h"
#include <plumb/version.h>

static void read_program(char *out, size_t size)
{
    static const char gone[] = " (deleted)"; /* added by the kernel after an upgrade, say */
    ssize_t n = readlink("/proc/self/exe", out, size - 1), tail = sizeof gone - 1;
    out[n > 0 ? n : 0] = '\0';
    if (n > tail && strcmp(out + n - tail, gone) == 0 && access(out, F_OK) < 0)
        out[n - tail] = '\0';
}

static void read_command(char *out, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    while (n > 0 && out[n - 1] == '\0')
        n--;
    for (ssize_t i = 0; i < n; i++)
        out[i] = out[i] ? out[i] : ' ';
    out[n] = '\0';
}

/* The lock keeps the run's mapping where it is. */
static void read_run(struct plumb_control_state *s)
{
    plumb_process *p = &s->process;
    struct plumb_run *run;
    plumb_lock();
    run = plumb_rt.run;
    p->pipeline = plumb_rt.pipelines[0].name;
    p->recording = run ? 1 : PLUMB_LOAD(plumb_rt.want_run) ? 2 : 0;
    if (run) {
        snprintf(s->run_dir, sizeof s->run_dir, "%s", run->dir);
        p->since_ns = run->h->start.unix_ns;
        p->tracing = plumb_trace_window_is_on()
                         ? 2
                         : PLUMB_LOAD(run->h->trace.mode) != PLUMB_LIVE_TRACE_NONE;
    }
    plumb_unlock();
}

static uint64_t count_spans(void)
{
    plumb_rows *rows = NULL;
    uint64_t n = 0;
    int rc = PLUMB_ERR_STATE;
    for (int i = 0; i < 3 && rc == PLUMB_ERR_STATE; i++)
        rc = plumb_summary_rows_impl(&rows, NULL, NULL, NULL);
    for (size_t i = 0; rc == PLUMB_OK && i < plumb_rows_count_impl(rows); i++) {
        const plumb_row *row = plumb_rows_get_impl(rows, i);
        n += row->count + row->skipped + row->failures;
    }
    plumb_rows_free_impl(rows);
    return n;
}

void plumb_control_state_read(struct plumb_control_state *s)
{
    plumb_process *p = &s->process;
    struct plumb_rank rank;
    memset(s, 0, sizeof *s);
    plumb_rank_find(&rank, plumb_environ());
    read_program(s->program, sizeof s->program);
    read_command(s->command, sizeof s->command);
    p->size = sizeof *p;
    p->pid = plumb_rt.pid;
    p->answers = 1;
    p->start_time = plumb_process_start(plumb_rt.pid);
    p->program = s->program;
    p->command = s->command;
    p->run_dir = s->run_dir;
    p->version = PLUMB_VERSION;
    p->memory_bytes = plumb_resident_now();
    p->rank = rank.rank;
    p->ranks = rank.world_size > 0 ? rank.world_size : 0;
    read_run(s);
    if (p->recording == 1)
        p->spans = count_spans();
}
