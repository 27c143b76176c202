/* nvidia.c: see nvidia.h. No state. */
#include "base/process/nvidia.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* nvidiactl is there wherever the driver is loaded, with a GPU or without. */
static bool is_gpu(const char *name)
{
    static const char *const others[] = {"nvhost-gpu", "nvgpu", "dxg"};
    if (strncmp(name, "nvidia", 6) == 0)
        return name[6] && name[6 + strspn(name + 6, "0123456789")] == '\0';
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

bool plumb_nvidia_is_there(const char *dev, const char *visible)
{
    int saved = errno;
    bool found = false;
    DIR *dir = NULL;
    if (!visible || (*visible && strncmp(visible, "-1", 2) != 0))
        dir = opendir(dev);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        struct stat st;
        found = is_gpu(e->d_name) && fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
                !S_ISREG(st.st_mode); /* nvgpu is a folder */
    }
    if (dir)
        closedir(dir);
    errno = saved;
    return found;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  ...": the first word of digits with a
 * dot among them. */
void plumb_nvidia_driver(char *out, size_t size, const char *proc)
{
    int saved = errno;
    char path[256], line[512], *rest = NULL;
    FILE *f;
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/version", proc);
    f = fopen(path, "re");
    if (f && fgets(line, sizeof line, f)) {
        for (char *word = strtok_r(line, " \t\n", &rest); word && !out[0];
             word = strtok_r(NULL, " \t\n", &rest))
            if (strchr(word, '.') && word[strspn(word, "0123456789.")] == '\0')
                snprintf(out, size, "%s", word);
    }
    if (f)
        fclose(f);
    errno = saved;
}

/* A fact about the GPU at `place` of the bus, as "Model: \t NVIDIA H200". */
static bool read_fact(char *out, size_t size, const char *key, const char *proc, const char *place)
{
    char path[512], line[256];
    size_t n = strlen(key);
    FILE *f;
    bool found = false;
    snprintf(path, sizeof path, "%s/gpus/%s/information", proc, place);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%.*s", (int)size - 1, line + n + strspn(line + n, " \t"));
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Copies the least name of a folder that is greater than `after`. False: no such name. */
static bool next_place(char *out, size_t size, const char *folder, const char *after)
{
    DIR *dir = opendir(folder);
    out[0] = '\0';
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] != '.' && strlen(e->d_name) < size && strcmp(e->d_name, after) > 0 &&
            (!out[0] || strcmp(e->d_name, out) < 0))
            strcpy(out, e->d_name);
    }
    if (dir)
        closedir(dir);
    return out[0] != '\0';
}

uint32_t plumb_nvidia_names(char (*out)[PLUMB_NVIDIA_NAME], uint32_t most, const char *proc)
{
    int saved = errno;
    char folder[256], place[64], after[64] = "";
    uint32_t n = 0;
    snprintf(folder, sizeof folder, "%s/gpus", proc);
    while (n < most && next_place(place, sizeof place, folder, after)) {
        n += read_fact(out[n], PLUMB_NVIDIA_NAME, "Model:", proc, place);
        strcpy(after, place);
    }
    errno = saved;
    return n;
}

/* The UUID of the GPU at place `number` of the bus, or of the first whose UUID begins with
 * `begin`. */
static void find_uuid(char out[PLUMB_NVIDIA_UUID], uint32_t number, const char *begin, size_t n,
                      const char *proc)
{
    char folder[256], place[64], after[64] = "", uuid[PLUMB_NVIDIA_UUID];
    snprintf(folder, sizeof folder, "%s/gpus", proc);
    for (uint32_t i = 0; !out[0] && next_place(place, sizeof place, folder, after); i++) {
        if (read_fact(uuid, sizeof uuid, "GPU UUID:", proc, place) &&
            (begin ? strncmp(uuid, begin, n) == 0 : i == number))
            strcpy(out, uuid);
        strcpy(after, place);
    }
}

void plumb_nvidia_uuid(char out[PLUMB_NVIDIA_UUID], uint32_t index, const char *visible,
                       const char *proc)
{
    int saved = errno;
    const char *entry = visible;
    char *end;
    unsigned long number;
    out[0] = '\0';
    for (uint32_t i = 0; entry && i < index; i++)
        entry = strchr(entry, ',') ? strchr(entry, ',') + 1 : "";
    if (!entry) {
        find_uuid(out, index, NULL, 0, proc);
    } else if (strncmp(entry, "MIG-", 4) == 0) {
        /* A part of a GPU: the driver's files do not have its UUID, which is written in full. */
        snprintf(out, PLUMB_NVIDIA_UUID, "%.*s", (int)strcspn(entry, ", "), entry);
    } else if (strncmp(entry, "GPU-", 4) == 0) {
        find_uuid(out, 0, entry, strcspn(entry, ", "), proc);
    } else {
        number = strtoul(entry, &end, 10);
        if (end > entry && number <= UINT32_MAX)
            find_uuid(out, (uint32_t)number, NULL, 0, proc);
    }
    errno = saved;
}
