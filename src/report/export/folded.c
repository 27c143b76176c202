/* folded.c: stacks with their self time, one a line: "a;b;c 123", in nanoseconds.
 *
 * The first part is the track's name without its number, so that the threads of a pool are one. A
 * device's queue has a root of its own: queues of two devices often share a name, and their work
 * must not be added up. Spans of one path are added up: a path is a node of a tree, found by its
 * parent's number and its name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "report/export/export.h"
#include "report/export/rows.h"
#include "summary/cells.h"

struct path {
    uint32_t parent, name; /* name: of a root, that of a track (root_of()) */
    uint64_t self_ns;
};

struct folded {
    const struct plumb_table *t;
    struct plumb_export_rows rows;
    struct plumb_map numbers; /* parent and name -> number + 1 */
    struct path *paths;
    uint32_t count, cap;
    bool failed;
};

static uint32_t path_of(struct folded *f, uint32_t parent, uint32_t name)
{
    uint64_t key = ((uint64_t)parent + 1) << 32 | (name + 1);
    uint64_t known = plumb_map_get(&f->numbers, key);
    if (known)
        return (uint32_t)known - 1;
    if (f->count == f->cap) {
        uint32_t cap = f->cap ? 2 * f->cap : 256;
        struct path *more = realloc(f->paths, cap * sizeof *more);
        if (!more) {
            f->failed = true;
            return 0;
        }
        f->paths = more;
        f->cap = cap;
    }
    f->paths[f->count] = (struct path){parent, name, 0};
    f->failed |= plumb_map_put(&f->numbers, key, f->count + 1) < 0;
    return f->count++;
}

/* A queue, and a track without a name, has a root of its own, numbered after the texts. */
static uint32_t root_of(struct folded *f, uint32_t track)
{
    const struct plumb_table_track *l = &f->t->tracks[track];
    bool queue =
        l->kind == PLUMB_TRACK_DEVICE || plumb_table_group(f->t, track) != PLUMB_TABLE_NONE;
    return path_of(f, UINT32_MAX - 1, l->name && !queue ? l->name : f->t->strings.count + track);
}

/* Finds the path of each slice. A slice's time counts for its own path, not for that of the slice
 * around it. */
static void add_up(struct folded *f, uint32_t *path_of_slice)
{
    const struct plumb_table_slices *s = &f->t->slices;
    for (uint32_t i = 0; i < s->count && !f->failed; i++) {
        uint32_t around = s->parent[i];
        uint32_t parent =
            around == PLUMB_TABLE_NONE ? root_of(f, s->track[i]) : path_of_slice[around];
        path_of_slice[i] = path_of(f, parent, s->name[i]);
        if (f->failed)
            return;
        f->paths[path_of_slice[i]].self_ns += s->dur_ns[i];
        if (around != PLUMB_TABLE_NONE)
            f->paths[path_of_slice[around]].self_ns -= s->dur_ns[i];
    }
}

/* ';' is what parts the names. */
static void put_name(struct plumb_buf *line, const char *name)
{
    size_t from = line->len;
    plumb_put_left(line, *name ? name : "(no name)", 0);
    for (size_t i = from; i < line->len; i++)
        if (line->data[i] == ';')
            line->data[i] = ',';
}

static void put_path(const struct folded *f, struct plumb_buf *line, uint32_t path)
{
    const struct path *p = &f->paths[path];
    if (p->parent != UINT32_MAX - 1) {
        put_path(f, line, p->parent);
        plumb_buf_char(line, ';');
    }
    if (p->name < f->t->strings.count) {
        put_name(line, plumb_table_text(f->t, p->name));
        return;
    }
    struct plumb_buf track = {0};
    plumb_export_row_name(&track, &f->rows, p->name - f->t->strings.count);
    put_name(line, track.data ? track.data : "");
    line->failed |= track.failed;
    plumb_buf_fini(&track);
}

int plumb_export_folded(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                        plumb_error *err)
{
    struct folded f = {.t = t};
    struct plumb_buf line = {0};
    uint32_t *path_of_slice = calloc((size_t)t->slices.count + 1, sizeof *path_of_slice);
    int rc = plumb_export_rows_init(&f.rows, t, true, err);
    (void)name;
    f.failed = rc < 0 || !path_of_slice;
    if (!f.failed)
        add_up(&f, path_of_slice);
    for (uint32_t i = 0; !f.failed && i < f.count && !out->failed; i++) {
        if (f.paths[i].self_ns == 0)
            continue;
        put_path(&f, &line, i);
        plumb_buf_printf(&line, " %" PRIu64 "\n", f.paths[i].self_ns);
        plumb_export_take(out, &line);
        plumb_export_tell(&out->progress, i, f.count);
    }
    if (f.failed || line.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the stacks of a trace");
    plumb_buf_fini(&line);
    plumb_map_fini(&f.numbers);
    plumb_export_rows_fini(&f.rows);
    free(f.paths);
    free(path_of_slice);
    return rc;
}
