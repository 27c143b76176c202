/* facts.c: the facts that describe a run: program, machine, environment. Read once, when the run
 * opens; facts that cannot be read stay empty. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/process/environment_copy.h"
#include "base/process/rank.h"
#include "record/run/run.h"
#include "record/runtime/carve.h"
#include "record/runtime/mapping.h"
#include "record/runtime/runtime.h"
#include <plumb/version.h>

static void first_line(char *out, size_t size, const char *path, const char *key)
{
    char line[512];
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        break;
    }
    if (f)
        fclose(f);
}

static void command_line(char *out, size_t size)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    while (n && out[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        out[i] = out[i] ? out[i] : ' ';
    out[n] = '\0';
}

static void fact(struct plumb_run *run, enum plumb_live_fact which, const char *text)
{
    if (text)
        run->h->fact_off[which] = plumb_carve_text(run, text);
}

static void list_add(struct plumb_run *run, uint64_t *head, const char *text)
{
    uint64_t text_off = plumb_carve_text(run, text);
    uint64_t off = text_off ? plumb_carve(run, sizeof(struct plumb_live_note)) : 0;
    if (!off)
        return;
    PLUMB_AT(run, struct plumb_live_note, off)->text_off = text_off;
    PLUMB_AT(run, struct plumb_live_note, off)->next_off = *head;
    *head = off;
}

/* The frame holds texts about the process: 5 KiB. It is needed once, when a run opens. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
void plumb_run_describe(struct plumb_run *run, const char *host, const struct plumb_rank *rank)
{
    char text[4096], stamp[64];
    struct utsname u;
    ssize_t n = readlink("/proc/self/exe", text, sizeof text - 1);
    struct tm tm;
    time_t now = time(NULL);
    text[n > 0 ? n : 0] = '\0';
    fact(run, PLUMB_FACT_PROGRAM, text);
    command_line(text, sizeof text);
    fact(run, PLUMB_FACT_COMMAND, text);
    first_line(text, sizeof text, "/proc/cpuinfo", "model name");
    fact(run, PLUMB_FACT_CPU, text);
    if (uname(&u) == 0)
        snprintf(text, sizeof text, "%s %s %s", u.sysname, u.release, u.machine);
    fact(run, PLUMB_FACT_KERNEL, text);
    fact(run, PLUMB_FACT_HOST, host);
    fact(run, PLUMB_FACT_VERSION, PLUMB_VERSION);
    fact(run, PLUMB_FACT_PIPELINE, plumb_rt.pipelines[0].name);
    fact(run, PLUMB_FACT_RANK_SOURCE, rank->source);
    localtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "req_%Y%m%d_%H%M%S", &tm);
    snprintf(text, sizeof text, "%.48s_%06u", stamp,
             (unsigned)(run->h->start.unix_ns / 1000 % 1000000));
    fact(run, PLUMB_FACT_REQUEST, text);
    for (char *const *e = plumb_environ(); e && *e; e++) {
        if (strncmp(*e, "PLUMB", 5) == 0 && ((*e)[5] == '_' || (*e)[5] == '='))
            list_add(run, &run->h->environment_off, *e);
    }
}
#pragma GCC diagnostic pop

/* The previous copy stays for threads that are reading it. */
void plumb_environ_look(bool direct)
{
    struct plumb_environment_copy *now = plumb_environment_copy(direct);
    if (!now)
        return;
    plumb_environment_free(plumb_rt.environment_before);
    plumb_rt.environment_before = plumb_rt.environment;
    PLUMB_RELEASE(plumb_rt.environment, now);
}

char *const *plumb_environ(void)
{
    return plumb_environment_of(PLUMB_ACQUIRE(plumb_rt.environment));
}
