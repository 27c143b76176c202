/* record_count.c: see record_count.h. */
#include "record_count.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

enum {
    LIBC_MAJOR = 2,
    LIBC_MINOR = 35,
    BYTES_MOST = 16383, /* of the list, as the setting has them */
    ITEMS_MOST = 1024   /* processes report which of so many they saw */
};

/* Before 2.35, glibc does not report functions that are bound at once (-z now) to auditors, and
 * slows down every call through a PLT when there is one. */
static bool libc_is_old(void)
{
    int major = 0, minor = 0;
    sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
    return major < LIBC_MAJOR || (major == LIBC_MAJOR && minor < LIBC_MINOR);
}

const char *plumb_cli_count_obstacle(char *memory, size_t size, const char *library)
{
    char path[4096];
#if !defined(__x86_64__)
    return "calls are counted on x86-64 only: mark them with PLUMB_SPAN() or plumb_dispatch()";
#endif
    if (libc_is_old()) {
        snprintf(memory, size,
                 "glibc %s does not report every function to auditors: 2.35 or later is needed",
                 gnu_get_libc_version());
        return memory;
    }
    if (!library || plumb_cli_beside(path, sizeof path, library, PLUMB_CLI_COUNT_LIBRARY))
        return NULL;
    snprintf(memory, size, "no %.200s: install plumb again", path);
    return memory;
}

/* Returns whether a set of characters ("[a-z]") is not closed. */
static bool has_open_set(const char *pattern, size_t n)
{
    const char *end = pattern + n, *set;
    while ((set = memchr(pattern, '[', (size_t)(end - pattern))) != NULL) {
        set += 1 + (set + 1 < end && (set[1] == '!' || set[1] == '^'));
        /* A bracket that comes first is one of the characters. */
        pattern = set + 1 < end ? memchr(set + 1, ']', (size_t)(end - set - 1)) : NULL;
        if (!pattern)
            return true;
    }
    return false;
}

/* No function or library has such a character in its name. */
static const char *character_fault(const char *item, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)item[i] <= ' ' || item[i] == 127)
            return "names have no spaces";
        if (item[i] == '/')
            return "a library is named without its folder";
        if (item[i] == '@')
            return "names are without versions: all versions of a function are counted";
    }
    return NULL;
}

static const char *item_fault(const char *item, size_t n)
{
    const char *colon = memchr(item, ':', n);
    if (n == 0)
        return "an item is empty";
    if (colon && (colon == item || colon + 1 == item + n))
        return "an item wants LIBRARY:FUNCTION, or a function alone";
    if (colon && memchr(colon + 1, ':', n - (size_t)(colon + 1 - item)))
        return "an item has two colons; functions of C++ are named as nm prints them";
    if (has_open_set(item, n))
        return "a set of characters has no ']'";
    return character_fault(item, n);
}

/* Returns what is wrong with the list; NULL: nothing. */
static const char *fault(const char *list)
{
    const char *item = list, *why = NULL;
    if (strlen(list) > BYTES_MOST)
        return "the list is longer than 16383 bytes: use patterns (*, ?, [a-z])";
    for (size_t i = 0; !why; i++) {
        size_t n = strcspn(item, ",");
        why = i < ITEMS_MOST ? item_fault(item, n) : "there are more than 1024 items: use patterns";
        if (!item[n])
            break;
        item += n + 1;
    }
    return why;
}

static const char *program_obstacle(const struct plumb_cli_target *t)
{
    if (t->foreign)
        return "is built for another processor or word size";
    if (t->known && t->is_static)
        return "is statically linked: its calls pass no dynamic linker that could report them; "
               "count them with marks (PLUMB_SPAN, plumb_dispatch) or link it dynamically";
    if (t->other_loader)
        return "has another dynamic linker than glibc's, which knows no auditors: count its calls "
               "with "
               "marks (PLUMB_SPAN, plumb_dispatch), or build it with glibc";
    if (t->privileged)
        return "changes the user or gains capabilities, so that the loader ignores LD_AUDIT; "
               "record a copy without these rights";
    return NULL;
}

/* ---- Thread-local memory --------------------------------------------------------------------- */

/* With an auditor, glibc lays out the thread-local memory of a program before its libraries are
 * known, and takes theirs from a reserve of 512 bytes (glibc.rtld.optional_static_tls): programs
 * with an allocator that has more, such as jemalloc's, do not start. So the reserve is what the
 * libraries of the program have, which it would have had without an auditor. Programs that it
 * starts have the same environment, and are not known: they have 4 KiB at least. */
enum { RESERVE_LEAST = 4096, RESERVE_FREE = 512 };
#define RESERVE "glibc.rtld.optional_static_tls"

/* Returns the thread-local bytes of an ELF file, 0 if it cannot be read. */
static uint64_t tls_of(const char *path)
{
    Elf64_Ehdr head;
    Elf64_Phdr s;
    uint64_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phentsize == sizeof s)
        for (unsigned i = 0; i < head.e_phnum; i++)
            if (pread(fd, &s, sizeof s, (off_t)(head.e_phoff + i * sizeof s)) ==
                    (ssize_t)sizeof s &&
                s.p_type == PT_TLS)
                bytes += s.p_memsz + s.p_align;
    if (fd >= 0)
        close(fd);
    return bytes;
}

/* Returns the thread-local bytes of the libraries that the program is linked with. */
static uint64_t tls_of_libraries(const struct plumb_cli_target *t)
{
    uint64_t sum = 0;
    char *line = NULL, *path, *end;
    size_t size = 0;
    pid_t pid;
    FILE *lines = t->known ? plumb_cli_libraries(t->binary, &pid) : NULL;
    if (!lines)
        return 0;
    while (getline(&line, &size, lines) > 0)
        if ((path = strchr(line, '/')) != NULL && (end = strstr(path, " (0x")) != NULL) {
            *end = '\0';
            sum += tls_of(path);
        }
    free(line);
    fclose(lines);
    waitpid(pid, NULL, 0);
    return sum;
}

/* A value that the user has set stays. */
static bool add_reserve(const struct plumb_cli_target *t)
{
    const char *before = getenv("GLIBC_TUNABLES");
    uint64_t bytes = tls_of_libraries(t) + RESERVE_FREE;
    char *value = NULL;
    bool ok;
    if (before && strstr(before, RESERVE "="))
        return true;
    if (bytes < RESERVE_LEAST)
        bytes = RESERVE_LEAST;
    ok = asprintf(&value, "%s%s" RESERVE "=%" PRIu64, before ? before : "",
                  before && *before ? ":" : "", bytes) >= 0 &&
         setenv("GLIBC_TUNABLES", value, 1) == 0;
    free(value);
    return ok;
}

/* ---- The auditor ----------------------------------------------------------------------------- */

/* Puts the auditor after those that the user has. The linker forgets what an earlier one replaced
 * if a later one, such as sotruss's, sets the flags of a binding. */
static bool add_auditor(const char *path)
{
    const char *before = getenv("LD_AUDIT");
    char *value = NULL;
    if (!before || !*before)
        return setenv("LD_AUDIT", path, 1) == 0;
    bool ok = asprintf(&value, "%s:%s", before, path) >= 0;
    ok = ok && setenv("LD_AUDIT", value, 1) == 0;
    free(value);
    return ok;
}

bool plumb_cli_count_prepare(const struct plumb_cli_target *t, const char *program,
                             const char *library)
{
    const struct plumb_cli_command *us = &plumb_cmd_record;
    const char *list = getenv("PLUMB_COUNT"), *why;
    char path[4096], memory[4400];
    if ((why = fault(list)) != NULL) {
        plumb_cli_usage(us, "--count: '%.80s%s': %s", list, strlen(list) > 80 ? "..." : "", why);
        return false;
    }
    if ((why = plumb_cli_count_obstacle(memory, sizeof memory, library)) != NULL) {
        plumb_cli_say(us, "--count: %s", why);
        return false;
    }
    if ((why = program_obstacle(t)) != NULL) {
        plumb_cli_say(us, "--count: '%s' %s", program, why);
        return false;
    }
    plumb_cli_beside(path, sizeof path, library, PLUMB_CLI_COUNT_LIBRARY);
    if (strchr(path, ':')) {
        plumb_cli_say(us, "--count: '%s' cannot be loaded: LD_AUDIT takes no path with a colon",
                      path);
        return false;
    }
    if (add_reserve(t) && add_auditor(path))
        return true;
    plumb_cli_say(us, "cannot set LD_AUDIT and GLIBC_TUNABLES: %s", strerror(errno));
    return false;
}

/* Says that an item of the list has matched nothing, in words that fit the item. */
static void say_unseen(const char *item, size_t bytes)
{
    plumb_cli_say(
        &plumb_cmd_record,
        "--count: no call of '%.*s' crossed a dynamic symbol: the library was not loaded, "
        "the function has another name there, or its callers reach it inside the library",
        (int)bytes, item);
}

void plumb_cli_count_tell(const struct plumb_cli_log *log, const char *program)
{
    const char *item = getenv("PLUMB_COUNT");
    if (log->counted == 0) {
        plumb_cli_say(
            &plumb_cmd_record,
            "--count: calls were counted in no process: something on the way clears "
            "LD_AUDIT or the environment (sudo, env -i), or '%s' ended without passing by "
            "its exit handlers",
            program);
        return;
    }
    for (uint64_t i = 0; i < ITEMS_MOST && item && *item; i++) {
        size_t bytes = strcspn(item, ",");
        if (!plumb_cli_log_saw(log, i))
            say_unseen(item, bytes);
        item += bytes + (item[bytes] == ',');
    }
}
