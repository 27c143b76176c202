/* activation_dump.c: tensors kept whole, a file of safetensors each, in a folder for each step:
 *
 *     <run>/activations/step_7/block.3.attn.out.safetensors     (".call1" and so on before the end)
 *
 * `__metadata__` in it says which record it belongs to, in the words of the record's line.
 *
 * Written by the program's thread, because the memory is the program's, in row-major order, under a
 * temporary name first: what has the right name is whole. The format: 8 bytes with the length of a
 * header, which is JSON, then the values. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/new_file.h"
#include "base/sanitize.h"
#include "base/scratch.h"
#include "core/activation.h"
#include "core/run.h"
#include "tensor/row_major.h"

static const struct {
    const char *name;
    uint8_t code, bits;
} types[] = {
    {"F64", PLUMB_DTYPE_FLOAT, 64},
    {"F32", PLUMB_DTYPE_FLOAT, 32},
    {"F16", PLUMB_DTYPE_FLOAT, 16},
    {"BF16", PLUMB_DTYPE_BFLOAT, 16},
    {"F8_E4M3", PLUMB_DTYPE_FLOAT8_E4M3FN, 8},
    {"F8_E5M2", PLUMB_DTYPE_FLOAT8_E5M2, 8},
    {"I64", PLUMB_DTYPE_INT, 64},
    {"I32", PLUMB_DTYPE_INT, 32},
    {"I16", PLUMB_DTYPE_INT, 16},
    {"I8", PLUMB_DTYPE_INT, 8},
    {"U64", PLUMB_DTYPE_UINT, 64},
    {"U32", PLUMB_DTYPE_UINT, 32},
    {"U16", PLUMB_DTYPE_UINT, 16},
    {"U8", PLUMB_DTYPE_UINT, 8},
    {"BOOL", PLUMB_DTYPE_BOOL, 8},
};

static const char *type_of(struct plumb_dtype t)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].code == t.code && types[i].bits == t.bits && t.lanes == 1)
            return types[i].name;
    return NULL;
}

static void put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text);
}

/* The format has texts alone here. */
static void put_number(struct plumb_json *j, const char *key, int64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)n);
    put_text(j, key, digits);
}

static void put_place(struct plumb_json *j, const struct plumb_act_record *r)
{
    plumb_json_key(j, "__metadata__");
    plumb_json_object(j);
    put_text(j, "module", r->module);
    put_text(j, "tensor", r->label);
    if (r->head.step >= 0)
        put_number(j, "step", r->head.step);
    put_number(j, "call", (int64_t)r->head.call);
    put_number(j, "rank", plumb_rank_told());
    put_number(j, "seq", (int64_t)r->head.seq);
    put_text(j, "phase", r->phase);
    put_text(j, "io", plumb_record_io_name(r->head.io));
    plumb_json_object_end(j);
}

static void make_header(struct plumb_buf *out, const struct plumb_act_record *r,
                        const struct plumb_view *view, const char *type)
{
    struct plumb_json j;
    char name[1200];
    snprintf(name, sizeof name, "%s.%s", r->module, r->label);
    plumb_json_init(&j, out, 0);
    plumb_json_object(&j);
    put_place(&j, r);
    plumb_json_key(&j, name);
    plumb_json_object(&j);
    put_text(&j, "dtype", type);
    plumb_json_key(&j, "shape");
    plumb_json_array(&j);
    for (int32_t i = 0; i < view->ndim; i++)
        plumb_json_i64(&j, view->shape[i]);
    plumb_json_array_end(&j);
    plumb_json_key(&j, "data_offsets");
    plumb_json_array(&j);
    plumb_json_u64(&j, 0);
    plumb_json_u64(&j, view->bytes);
    plumb_json_array_end(&j);
    plumb_json_object_end(&j);
    plumb_json_object_end(&j);
    while (out->len % 8)
        plumb_buf_char(out, ' ');
}

static bool write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        p += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* What a dump needs at hand, in a scratch block. */
struct room {
    char name[1200], safe[PLUMB_SAFE_NAME_MAX + 1], folder[1300], path[1500];
    struct plumb_new_file file;
    unsigned char piece[8192];
};
_Static_assert(sizeof(struct room) <= PLUMB_SCRATCH_BYTES, "a room is a scratch block");

static bool write_values(int fd, const struct plumb_view *view, struct room *room)
{
    struct plumb_rows rows;
    size_t n;
    if (plumb_view_is_compact(view))
        return write_all(fd, view->data, view->bytes);
    plumb_rows_init(&rows, view);
    while ((n = plumb_rows_read(&rows, room->piece, sizeof room->piece)) > 0)
        if (!write_all(fd, room->piece, n))
            return false;
    return true;
}

static bool write_file(struct room *room, const struct plumb_buf *header,
                       const struct plumb_view *view)
{
    struct plumb_new_file *f = &room->file;
    uint64_t length = header->len;
    bool good;
    if (plumb_new_file_begin(f, room->path, 0666) != 0)
        return false;
    good = !header->failed && write_all(f->fd, &length, sizeof length) &&
           write_all(f->fd, header->data, header->len) &&
           (view->count == 0 || write_values(f->fd, view, room));
    return plumb_new_file_end(f, good) == 0 && good;
}

/* The name, with the call behind the first and with another number where there is such a file. */
static bool make_path(struct room *room, const struct plumb_act_record *r)
{
    char *out = room->path, *folder = room->folder;
    uint64_t n = r->head.call;
    snprintf(room->name, sizeof room->name, "%s.%s", r->module, r->label);
    plumb_sanitize(room->safe, room->name);
    if (r->head.step < 0)
        snprintf(folder, sizeof room->folder, "%s/activations/no_step", plumb_act.dir);
    else
        snprintf(folder, sizeof room->folder, "%s/activations/step_%lld", plumb_act.dir,
                 (long long)r->head.step);
    snprintf(out, sizeof room->path, "%s/%s.safetensors", folder, room->safe);
    if (plumb_run_make_parents(out, NULL) < 0)
        return false;
    if (n > 0)
        snprintf(out, sizeof room->path, "%s/%s.call%llu.safetensors", folder, room->safe,
                 (unsigned long long)n);
    while (access(out, F_OK) == 0 && n++ < r->head.call + 100000)
        snprintf(out, sizeof room->path, "%s/%s.call%llu.safetensors", folder, room->safe,
                 (unsigned long long)n);
    return n < r->head.call + 100000;
}

/* Whether the budget has room for it, which is taken. */
static bool take_bytes(uint64_t bytes)
{
    bool room;
    pthread_mutex_lock(&plumb_act.lock);
    room = bytes <= plumb_rt.settings.activations_dump_bytes - plumb_act.dumped_bytes;
    if (room)
        plumb_act.dumped_bytes += bytes;
    pthread_mutex_unlock(&plumb_act.lock);
    return room;
}

/* PLUMB_ACT_DUMP_WHYS: it is kept. */
static enum plumb_act_dump_why keep(const struct plumb_act_record *r, const struct plumb_view *view)
{
    const char *type = type_of(view->dtype);
    struct plumb_buf header = {0};
    struct room *room;
    bool good;
    if (!type || plumb_view_readable(view, NULL) != PLUMB_OK)
        return PLUMB_ACT_DUMP_UNREADABLE;
    if (!plumb_act.dir[0] || plumb_file_limit(view->bytes + 4096) != 0)
        return PLUMB_ACT_DUMP_UNWRITTEN;
    if (!take_bytes(view->bytes))
        return PLUMB_ACT_DUMP_BOUND;
    make_header(&header, r, view, type);
    room = plumb_scratch_take();
    good = room && make_path(room, r) && write_file(room, &header, view);
    plumb_scratch_give(room);
    plumb_buf_fini(&header);
    return good ? PLUMB_ACT_DUMP_WHYS : PLUMB_ACT_DUMP_UNWRITTEN;
}

void plumb_act_dump(const struct plumb_act_record *r, const struct plumb_view *view)
{
    enum plumb_act_dump_why why = keep(r, view);
    if (why == PLUMB_ACT_DUMP_WHYS)
        return;
    pthread_mutex_lock(&plumb_act.lock);
    plumb_act.dumps_left_out[why]++;
    pthread_mutex_unlock(&plumb_act.lock);
}
