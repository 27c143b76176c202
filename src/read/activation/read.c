/* read.c: finds the files that hold the activations of a run, and has them read. Owns the order of
 * files: numbers in names count as numbers, so that "out.10" comes after "out.2". */
#include "read/activation/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "read/activation/parts.h"

enum { STEPS_DEEP = 2 };

static int no_memory(const char *name, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
}

static bool is_packed(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".gz") == 0;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name);
    size_t m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* The same of texts, which may be packed. */
static bool text_ends_in(const char *name, const char *end)
{
    size_t n = strlen(name) - (is_packed(name) ? 3 : 0);
    size_t m = strlen(end);
    return n >= m && strncmp(name + n - m, end, m) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Folders --------------------------------------------------------------------------------- */

struct entries {
    struct plumb_arena arena;
    char **paths;
    size_t count, cap;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Runs of digits by their value, the rest by byte. */
static int natural_order(const void *a, const void *b)
{
    const char *p = *(char *const *)a;
    const char *q = *(char *const *)b;
    for (; *p && *q; p++, q++) {
        if (is_digit(*p) && is_digit(*q)) {
            size_t m = 0;
            size_t n = 0;
            for (; *p == '0' && is_digit(p[1]); p++)
                continue;
            for (; *q == '0' && is_digit(q[1]); q++)
                continue;
            while (is_digit(p[m]))
                m++;
            while (is_digit(q[n]))
                n++;
            if (m != n)
                return m < n ? -1 : 1;
        }
        if (*p != *q)
            return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
    }
    return (*p != 0) - (*q != 0);
}

static int list_folder(struct entries *out, const char *path, plumb_error *err)
{
    struct dirent *entry;
    DIR *dir = opendir(path);
    if (!dir)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    const char *slash = path[0] && path[strlen(path) - 1] == '/' ? "" : "/";
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char **paths =
            plumb_arena_grow(&out->arena, out->paths, &out->cap, out->count + 1, sizeof *paths);
        if (!paths)
            break;
        out->paths = paths;
        paths[out->count++] = plumb_arena_printf(&out->arena, "%s%s%s", path, slash, entry->d_name);
    }
    closedir(dir);
    if (out->arena.failed)
        return no_memory(path, err);
    if (out->count)
        qsort(out->paths, out->count, sizeof *out->paths, natural_order);
    return PLUMB_OK;
}

/* Returns the number that is all of `text`; -1: `text` is not a number. */
static int64_t number_in(const char *text)
{
    int64_t number = 0;
    if (!*text)
        return -1;
    for (; *text; text++)
        if (!is_digit(*text) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            return -1;
    return number;
}

/* "step3", "step_3", "step-3" or "3"; -1: no step. */
static int64_t step_named(const char *name)
{
    if (strncmp(name, "step", 4) == 0) {
        name += 4;
        name += *name == '_' || *name == '-';
    }
    return number_in(name);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int read_folder(const struct plumb_activation_source *from, int deep, plumb_error *err);

/* The step in "step3.safetensors". */
static int64_t step_of_file(const char *name)
{
    char part[64];
    size_t size = strcspn(name, ".");
    if (size < 5 || size >= sizeof part || strncmp(name, "step", 4) != 0)
        return -1;
    memcpy(part, name, size);
    part[size] = '\0';
    return step_named(part);
}

/* Whether `path` is the packed copy of a file in the same folder (gzip -k). Such a copy is
 * skipped. */
static bool is_copy(const struct entries *all, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < all->count && is_packed(path); i++)
        if (strlen(all->paths[i]) == n - 3 && strncmp(all->paths[i], path, n - 3) == 0)
            return true;
    return false;
}

/* Reads the files that `wanted` takes; *found counts them. */
static int read_files(const struct plumb_activation_source *from, const struct entries *all,
                      bool (*wanted)(const char *name), size_t *found, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < all->count && rc == PLUMB_OK; i++) {
        struct plumb_activation_source file = *from;
        file.name = all->paths[i];
        if (!wanted(base_name(file.name)) || is_folder(file.name) || is_copy(all, file.name))
            continue;
        if (file.step < 0)
            file.step = step_of_file(base_name(file.name));
        ++*found;
        rc = plumb_activations_file(&file, err);
    }
    return rc;
}

static bool is_dump(const char *name)
{
    return strcmp(name, "dump.json") == 0 || strcmp(name, "dump.json.gz") == 0;
}

static bool is_own(const char *name)
{
    return strncmp(name, "activations", 11) == 0 && text_ends_in(name, ".jsonl");
}

static bool is_lines(const char *name)
{
    return text_ends_in(name, ".jsonl");
}

static bool is_array(const char *name)
{
    return ends_in(name, ".npy") || ends_in(name, ".safetensors");
}

/* Folders of steps, and of ranks in them or around them. */
static int read_steps(const struct plumb_activation_source *from, const struct entries *all,
                      int deep, size_t *found, plumb_error *err)
{
    int rc = PLUMB_OK;
    for (size_t i = 0; i < all->count && rc == PLUMB_OK; i++) {
        struct plumb_activation_source inside = *from;
        const char *name = base_name(inside.name = all->paths[i]);
        bool rank = strncmp(name, "rank", 4) == 0 && is_digit(name[4]);
        int64_t number = rank ? number_in(name + 4) : step_named(name);
        bool no_step = strcmp(name, "no_step") == 0; /* of tensors that plumb kept */
        if ((number < 0 && !no_step) || !is_folder(inside.name) || (rank && number > INT32_MAX))
            continue;
        if (rank)
            inside.rank = number;
        else
            inside.step = number;
        ++*found;
        rc = read_folder(&inside, deep + 1, err);
    }
    return rc;
}

/* The tensors that a run kept, in its folder "activations" at `inside->name`. */
static int read_kept(const struct plumb_activation_source *inside, size_t first, plumb_error *err)
{
    struct plumb_activations dumps;
    struct plumb_activation_source bare = *inside;
    enum plumb_activation_format format = inside->table->format;
    uint32_t *left = NULL;
    plumb_activations_init(&dumps);
    bare.table = &dumps;
    bare.bare = true;
    int rc = read_folder(&bare, 1, err);
    if (rc == PLUMB_OK && (dumps.failed || !(left = malloc((dumps.count + 1) * sizeof *left))))
        rc = no_memory(inside->name, err);
    int64_t count = rc < 0 ? rc : plumb_activations_attach(inside->table, first, &dumps, left, err);
    rc = (int)(count < 0 ? count : 0);
    /* Layers that PLUMB_ACTIVATIONS_LAYERS did not choose have a tensor but no line. */
    for (int64_t i = 0, last = 0; i < count && rc == PLUMB_OK; i++) {
        struct plumb_activation_source file = *inside;
        uint32_t path = dumps.refs[dumps.ref[left[i]]].file;
        file.name = plumb_activations_text(&dumps, path);
        if (path != last)
            rc = plumb_activations_file(&file, err);
        last = path;
    }
    inside->table->format = format; /* that of the lines */
    free(left);
    plumb_activations_fini(&dumps);
    return rc;
}

/* "activations" in a run; whether there is one. */
static bool find_kept(struct plumb_activation_source *inside,
                      const struct plumb_activation_source *from, const struct entries *all)
{
    *inside = *from;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(base_name(all->paths[i]), "activations") == 0 && is_folder(all->paths[i]))
            inside->name = all->paths[i];
    return inside->name != from->name;
}

static int read_folder(const struct plumb_activation_source *from, int deep, plumb_error *err)
{
    static bool (*const kinds[])(const char *) = {is_dump, is_own, is_lines, is_array};
    struct plumb_activation_source inside;
    struct entries all = {.count = 0};
    size_t first = from->table->count;
    size_t found = 0;
    int rc = list_folder(&all, from->name, err);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && rc == PLUMB_OK && !found; i++) {
        if (from->bare && kinds[i] != is_array)
            continue;
        rc = read_files(from, &all, kinds[i], &found, err);
        if (rc == PLUMB_OK && found && kinds[i] == is_own && find_kept(&inside, from, &all))
            rc = read_kept(&inside, first, err);
    }
    if (rc == PLUMB_OK && !found && deep < STEPS_DEEP)
        rc = read_steps(from, &all, deep, &found, err);
    if (rc == PLUMB_OK && !found && deep == 0 && find_kept(&inside, from, &all)) {
        found = 1;
        rc = read_folder(&inside, 1, err);
    }
    if (rc == PLUMB_OK && !found && !from->bare)
        rc = plumb_fail(err, PLUMB_ERR_NOT_FOUND,
                        "the folder '%s' holds no activations: no activations.jsonl, dump.json, "
                        ".npy, .safetensors, and no folder of a step",
                        from->name);
    plumb_arena_fini(&all.arena);
    return rc;
}

/* ---- The table ------------------------------------------------------------------------------- */

int plumb_activations_finish(struct plumb_activations *out, struct plumb_activations *t,
                             const char *name, int rc, plumb_error *err)
{
    if (rc == PLUMB_OK && t->count == 0 && !t->failed)
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' holds no activation record", name);
    if (rc == PLUMB_OK) {
        plumb_activations_sort(t);
        plumb_activations_number_calls(t);
        t->path = plumb_arena_strdup(&t->arena, name);
        if (t->failed || !t->path)
            rc = no_memory(name, err);
    }
    if (rc < 0) {
        plumb_activations_fini(t);
        return rc;
    }
    *out = *t;
    return PLUMB_OK;
}

/* The step in "x/step3", "x/step3.safetensors" and "x/step3/dump.json"; -1: none. */
static int64_t step_of_path(const char *path)
{
    char part[64];
    const char *end = path + strlen(path);
    for (int i = 0; i < 2 && end > path; i++) {
        while (end > path && end[-1] == '/')
            end--;
        const char *begin = end;
        while (begin > path && begin[-1] != '/')
            begin--;
        size_t size = (size_t)(end - begin);
        if (size < sizeof part) {
            memcpy(part, begin, size);
            part[size] = '\0';
            if (step_of_file(part) >= 0)
                return step_of_file(part);
        }
        end = begin;
    }
    return -1;
}

int plumb_activations_read(struct plumb_activations *out, const char *path, plumb_error *err)
{
    struct plumb_activations t;
    struct plumb_activation_source from = {
        .table = &t, .name = path, .step = step_of_path(path), .rank = -1};
    plumb_activations_init(&t);
    int rc = is_folder(path) ? read_folder(&from, 0, err) : plumb_activations_file(&from, err);
    return plumb_activations_finish(out, &t, path, rc, err);
}
