/* process.c: see process.h. A killed process is listed for some time, as if nothing had happened,
 * until the kernel has torn it down. Two signs distinguish it from a living one: SIGKILL stays
 * pending for the process as a whole until the end, and a fatal signal sets a bit in the flags of
 * the first thread. */
#include "base/process/process.h"
#include "base/futex.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WAIT_MS = 50, FLAG_EXITING = 0x4, FLAG_SIGNALED = 0x400, BIT_SIGKILL = 1 << 8 };

/* Returns field `number`, from 3 on, of the text of /proc/<pid>/stat; "" if the text is cut short.
 * The name in parentheses may contain anything, so fields are counted from its end. */
static const char *stat_field(const char *text, int number)
{
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < number; field++)
        p = strchr(p + 1, ' ');
    return p ? p + 1 : "";
}

/* Returns a set of signals from the text of /proc/<pid>/status; empty if it is not in the text. */
static uint64_t status_signals(const char *text, const char *name)
{
    const char *p = strstr(text, name);
    return p ? strtoull(p + strlen(name), NULL, 16) : 0;
}

enum plumb_life plumb_process_parse(const char *stat, const char *status, uint64_t start)
{
    char state = *stat_field(stat, 3);
    uint64_t flags = strtoull(stat_field(stat, 9), NULL, 10);
    bool last = strtoull(stat_field(stat, 20), NULL, 10) <= 1;
    uint64_t pending =
        status_signals(status, "\nSigPnd:\t") | status_signals(status, "\nShdPnd:\t");
    if (!start || strtoull(stat_field(stat, 22), NULL, 10) != start)
        return PLUMB_PROCESS_GONE;
    /* A first thread that ended before the others looks like an ended process. */
    if ((state == 'Z' || state == 'X') && last)
        return PLUMB_PROCESS_GONE;
    if (pending & BIT_SIGKILL || flags & FLAG_SIGNALED || (flags & FLAG_EXITING && last))
        return PLUMB_PROCESS_ENDING;
    return PLUMB_PROCESS_LIVES;
}

/* "" when there is none. */
static void read_text(char *out, size_t size, uint32_t pid, const char *name)
{
    char path[64];
    size_t n;
    FILE *f;
    out[0] = '\0';
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    f = fopen(path, "re");
    if (!f)
        return;
    n = fread(out, 1, size - 1, f);
    fclose(f);
    out[n] = '\0';
}

uint64_t plumb_process_start(uint32_t pid)
{
    char text[1024];
    uint64_t start;
    read_text(text, sizeof text, pid, "stat");
    start = strtoull(stat_field(text, 22), NULL, 10);
    return plumb_process_parse(text, "", start) == PLUMB_PROCESS_GONE ? 0 : start;
}

uint32_t plumb_process_namespace(uint32_t pid, const char *kind)
{
    struct stat st;
    char path[64];
    if (pid)
        snprintf(path, sizeof path, "/proc/%u/ns/%s", pid, kind);
    else
        snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    return stat(path, &st) == 0 ? (uint32_t)st.st_ino : 0;
}

/* The frame holds two files of /proc: 9 KiB. Commands call this function; a process that records
 * does not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
enum plumb_life plumb_process_state(uint32_t pid, uint64_t start)
{
    char stat[1024], status[8192];
    read_text(status, sizeof status, pid, "status");
    /* Read last: it identifies the process, which may have ended since the first read. */
    read_text(stat, sizeof stat, pid, "stat");
    return plumb_process_parse(stat, status, start);
}
#pragma GCC diagnostic pop

bool plumb_process_is_over(uint32_t pid, uint64_t start)
{
    enum plumb_life state = plumb_process_state(pid, start);
    for (int i = 0; i < WAIT_MS && state == PLUMB_PROCESS_ENDING; i++) {
        plumb_nap(1000000);
        state = plumb_process_state(pid, start);
    }
    return state != PLUMB_PROCESS_LIVES;
}
