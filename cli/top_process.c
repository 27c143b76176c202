/* top_process.c: which process or run plumb top watches. One that takes part in control (plumb ps)
 * is found by the name of its program too; if it records nothing, the user is told what to do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "top.h"
#include <plumb/control.h>

enum { STATUS_MS = 500 };

static void line_of(char *out, size_t room, const plumb_process *p)
{
    const char *slash = strrchr(p->program, '/');
    char program[128], pipeline[64], rank[24] = "";
    plumb_top_fit(program, sizeof program, slash ? slash + 1 : p->program, 30, PLUMB_TOP_PAD);
    plumb_top_fit(pipeline, sizeof pipeline, p->pipeline ? p->pipeline : "", 20, 0);
    if (p->rank >= 0)
        snprintf(rank, sizeof rank, "rank %d  ", p->rank);
    snprintf(out, room, "%8" PRIu32 "  %s  %s%s", p->pid, program, rank, pipeline);
}

/* Lets the user choose, or says which there are. Returns the number of the process; -1: none. */
static int choose(const plumb_process *const *found, size_t n, bool screen)
{
    char(*text)[256] = calloc(n, sizeof *text);
    const char **lines = calloc(n, sizeof *lines);
    int chosen = -1;
    for (size_t i = 0; text && lines && i < n; i++) {
        line_of(text[i], sizeof text[i], found[i]);
        lines[i] = text[i];
    }
    if (text && lines && screen)
        chosen = plumb_top_choose("     PID  Program                         Pipeline", lines, n);
    else if (text && lines) {
        plumb_cli_say(&plumb_cmd_top, "several processes record: name one");
        for (size_t i = 0; i < n; i++)
            plumb_cli_say(&plumb_cmd_top, "%s", lines[i]);
    }
    free(text);
    free((void *)lines);
    return chosen;
}

static void say_idle(const plumb_process *p)
{
    if (p->recording > 1)
        plumb_cli_say(&plumb_cmd_top,
                      "process %" PRIu32 " records from its next span on, and has passed none yet",
                      p->pid);
    else
        plumb_cli_say(&plumb_cmd_top,
                      "process %" PRIu32 " records nothing now: 'plumb attach %" PRIu32
                      " -o DIR' records it, and plumb top shows it in the meantime",
                      p->pid, p->pid);
}

/* Opens the run of `what`, NULL for the newest one that is recorded. */
static int open_run(struct plumb_top_watch *w, const char *what)
{
    plumb_error err = {0, ""};
    if (plumb_top_open(w, what, &err) == 0)
        return 0;
    plumb_top_leave();
    plumb_cli_say(&plumb_cmd_top, "%s", err.message);
    return 1;
}

static int open_pid(struct plumb_top_watch *w, uint32_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, pid);
    return open_run(w, text);
}

/* Opens the run of this name, otherwise the process that takes part in control under it. */
static int open_named(struct plumb_top_watch *w, const char *what)
{
    plumb_control *c = NULL;
    const plumb_process *p = NULL;
    plumb_error err = {0, ""}, why = {0, ""};
    int status = 1;
    if (plumb_top_open(w, what, &err) == 0)
        return 0;
    if (err.code == PLUMB_ERR_NOT_FOUND &&
        plumb_control_connect(&c, what, STATUS_MS, &why) == PLUMB_OK &&
        plumb_control_status(&p, c, &why) == PLUMB_OK) {
        if (p->recording == 1)
            status = open_pid(w, p->pid);
        else
            say_idle(p);
    } else if (why.code == PLUMB_ERR_STATE) {
        plumb_cli_say(&plumb_cmd_top, "%s", why.message); /* several have the name */
    } else {
        plumb_cli_say(&plumb_cmd_top, "%s", err.message);
    }
    plumb_control_disconnect(c);
    return status;
}

/* Opens a process of the list that records, or else the newest run. */
static int open_listed(struct plumb_top_watch *w, const plumb_process_list *list,
                       const plumb_process **found, bool screen)
{
    const plumb_process *idle = NULL;
    size_t n = 0;
    int chosen = 0;
    for (size_t i = 0; i < plumb_process_list_count(list); i++) {
        const plumb_process *p = plumb_process_list_get(list, i);
        if (p->answers && p->recording == 1)
            found[n++] = p;
        else if (p->answers)
            idle = p;
    }
    if (n > 1 && (chosen = choose(found, n, screen)) < 0)
        return screen ? -1 : 1;
    if (n)
        return open_pid(w, found[chosen]->pid);
    if (!idle)
        return open_run(w, NULL);
    if (plumb_top_open(w, NULL, NULL) == 0)
        return 0;
    if (plumb_process_list_count(list) == 1)
        say_idle(idle);
    else
        plumb_cli_say(&plumb_cmd_top, "no process records anything now: 'plumb ps' lists those "
                                      "that 'plumb attach PID -o DIR' can record");
    return 1;
}

int plumb_top_find(struct plumb_top_watch *w, const char *what, bool screen)
{
    plumb_process_list *list = NULL;
    const plumb_process **found = NULL;
    int status;
    if (what)
        return open_named(w, what);
    if (plumb_process_list_open(&list, NULL) == PLUMB_OK)
        found = calloc(plumb_process_list_count(list) + 1, sizeof *found);
    status = found ? open_listed(w, list, found, screen) : open_run(w, NULL);
    free((void *)found);
    plumb_process_list_close(list);
    return status;
}
