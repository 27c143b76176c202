/* Owns the file of boxes. Only whole numbers are written, so no locale and no rounding comes in. */
#include "json_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_lines {
    FILE *file;
    const char *path;
    char *part_path;
    int part_exists;
};

struct json_lines *json_lines_open(const char *path, struct problem *problem)
{
    struct json_lines *j = calloc(1, sizeof(*j));
    size_t bytes = strlen(path) + sizeof(".part");

    if (j)
        j->part_path = malloc(bytes);
    if (!j || !j->part_path) {
        problem_set(problem, "%s: out of memory", path);
        goto failed;
    }
    j->path = path;
    snprintf(j->part_path, bytes, "%s.part", path);
    if (!(j->file = fopen(j->part_path, "w"))) {
        problem_set(problem, "%s: cannot be written: %s", path, strerror(errno));
        goto failed;
    }
    j->part_exists = 1;
    return j;
failed:
    json_lines_close(j);
    return NULL;
}

int json_lines_write(struct json_lines *j, int64_t frame, int64_t time_ms, const struct box *boxes,
                     int count, struct problem *problem)
{
    fprintf(j->file, "{\"frame\":%" PRId64 ",\"time_ms\":%" PRId64 ",\"boxes\":[", frame, time_ms);
    for (const struct box *b = boxes; b < boxes + count; b++)
        fprintf(j->file,
                "%s{\"x\":%d,\"y\":%d,\"width\":%d,\"height\":%d,\"cells\":%d,\"difference\":%d}",
                b > boxes ? "," : "", b->x, b->y, b->width, b->height, b->cells, b->difference);
    fputs("]}\n", j->file);
    return ferror(j->file)
               ? problem_set(problem, "%s: cannot be written: %s", j->path, strerror(errno))
               : 0;
}

int json_lines_finish(struct json_lines *j, struct problem *problem)
{
    int status = fclose(j->file);

    j->file = NULL;
    if (status != 0)
        return problem_set(problem, "%s: cannot be written: %s", j->path, strerror(errno));
    if (rename(j->part_path, j->path) != 0)
        return problem_set(problem, "%s: cannot rename the finished file: %s", j->path,
                           strerror(errno));
    j->part_exists = 0;
    return 0;
}

void json_lines_close(struct json_lines *j)
{
    if (!j)
        return;
    if (j->file)
        fclose(j->file);
    if (j->part_exists)
        remove(j->part_path);
    free(j->part_path);
    free(j);
}
