/* safetensors_header.c: see safetensors_header.h. */
#include "read/activation/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/json/scan.h"
#include "tensor/safetensors.h"

enum { MAX_DIMS = PLUMB_VIEW_MAX_DIMS, MAX_HEADER = 100 << 20 };

static int refuse(const char *name, plumb_error *err, const char *why)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is damaged: %s", name, why);
}

struct tensors {
    struct plumb_safetensors *out;
    struct plumb_json_scan *scan;
    const char *file;
    plumb_error *err;
    int rc;
};

static void tensor_fault(struct tensors *in, const struct plumb_safetensors_entry *tensor,
                         const char *why)
{
    if (in->rc < 0)
        return;
    if (in->scan && in->scan->token == PLUMB_JSON_ERROR)
        in->rc = plumb_json_scan_fail(in->scan, in->file, in->err);
    else
        in->rc = plumb_fail(in->err, PLUMB_ERR_FORMAT, "'%s' is damaged: tensor '%.80s' %s",
                            in->file, tensor->name, why);
}

static void read_type(struct tensors *in, struct plumb_safetensors_entry *tensor)
{
    const struct plumb_json_scan *s = in->scan;
    if (s->token != PLUMB_JSON_STRING ||
        !plumb_safetensors_type(&tensor->a.dtype, s->text, s->size))
        tensor_fault(in, tensor, "has an element type that plumb does not read");
}

/* Numbers of a list, at most `most`; how many. */
static size_t read_numbers(struct tensors *in, const struct plumb_safetensors_entry *tensor,
                           int64_t *out, size_t most)
{
    struct plumb_json_scan *s = in->scan;
    size_t n = 0;
    if (s->token != PLUMB_JSON_ARRAY) {
        tensor_fault(in, tensor, "has something else where a list of sizes is expected");
        return 0;
    }
    while (plumb_json_next(s) == PLUMB_JSON_NUMBER && n < most &&
           s->number.kind == PLUMB_JSON_NUMBER_INT && (int64_t)s->number.whole >= 0)
        out[n++] = (int64_t)s->number.whole;
    if (s->token != PLUMB_JSON_ARRAY_END)
        tensor_fault(in, tensor, "has a list that holds no sizes, or too many");
    return n;
}

static void read_tensor(struct tensors *in, struct plumb_safetensors_entry *tensor,
                        uint64_t data_offset)
{
    struct plumb_json_scan *s = in->scan;
    int64_t range[2] = {0, 0};
    unsigned seen = 0;
    uint64_t bytes;
    while (in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END &&
           s->token != PLUMB_JSON_OBJECT_END) {
        unsigned field = 0;
        if (plumb_json_key_is(s, "dtype")) {
            field = 1;
            read_type(in, tensor);
        } else if (plumb_json_key_is(s, "shape")) {
            field = 2;
            tensor->a.ndim = read_numbers(in, tensor, tensor->a.shape, MAX_DIMS);
        } else if (plumb_json_key_is(s, "data_offsets")) {
            field = 4;
            if (read_numbers(in, tensor, range, 2) != 2)
                tensor_fault(in, tensor, "has 'data_offsets' that are not two numbers");
        } else {
            plumb_json_skip(s);
        }
        if (seen & field)
            tensor_fault(in, tensor, "has a field that comes twice");
        seen |= field;
    }
    if (s->token != PLUMB_JSON_OBJECT_END || seen != 7) {
        tensor_fault(in, tensor, "lacks dtype, shape or data_offsets");
        return;
    }
    if (range[0] > range[1] || !plumb_activation_array_bytes(&tensor->a, &bytes) ||
        bytes != (uint64_t)(range[1] - range[0]))
        tensor_fault(in, tensor, "has 'data_offsets' that do not fit its shape");
    tensor->a.bytes = (uint64_t)(range[1] - range[0]);
    tensor->a.offset = data_offset + (uint64_t)range[0];
}

/* Anything but a text is for others. */
static void read_notes(struct tensors *in)
{
    struct plumb_json_scan *s = in->scan;
    struct plumb_safetensors *out = in->out;
    if (s->token != PLUMB_JSON_OBJECT) {
        plumb_json_skip(s);
        return;
    }
    while (plumb_json_next(s) > PLUMB_JSON_END && s->token != PLUMB_JSON_OBJECT_END) {
        struct plumb_safetensors_note *notes;
        if (s->token == PLUMB_JSON_STRING &&
            (notes = plumb_arena_grow(&out->arena, out->notes, &out->note_cap, out->note_count + 1,
                                      sizeof *notes))) {
            out->notes = notes;
            notes[out->note_count++] = (struct plumb_safetensors_note){
                .key = plumb_arena_strndup(&out->arena, s->key, s->key_size),
                .text = plumb_arena_strndup(&out->arena, s->text, s->size),
                .text_size = s->size};
        }
        plumb_json_skip(s);
    }
}

static struct plumb_safetensors_entry *add_entry(struct plumb_safetensors *out)
{
    struct plumb_arena *arena = &out->arena;
    struct plumb_safetensors_entry **at =
        plumb_arena_grow(arena, out->at, &out->cap, out->count + 1, sizeof *at);
    struct plumb_safetensors_entry *entry = at ? plumb_arena_alloc(arena, sizeof *entry) : NULL;
    if (!entry)
        return NULL;
    out->at = at;
    at[out->count++] = entry;
    return entry;
}

static void read_tensors(struct tensors *in, uint64_t data_offset)
{
    struct plumb_json_scan *s = in->scan;
    struct plumb_arena *arena = &in->out->arena;
    if (plumb_json_next(s) != PLUMB_JSON_OBJECT && s->token != PLUMB_JSON_ERROR)
        in->rc = refuse(in->file, in->err, "its header is not an object");
    while (in->rc == PLUMB_OK && plumb_json_next(s) > PLUMB_JSON_END && s->key) {
        if (plumb_json_key_is(s, "__metadata__")) {
            read_notes(in);
            continue;
        }
        struct plumb_safetensors_entry *tensor = add_entry(in->out);
        if (!tensor)
            break;
        tensor->name = plumb_arena_strndup(arena, s->key, s->key_size);
        tensor->name_size = s->key_size;
        if (tensor->name && memchr(s->key, '\0', s->key_size))
            tensor_fault(in, tensor, "has a NUL character in its name");
        else if (tensor->name && s->token != PLUMB_JSON_OBJECT)
            tensor_fault(in, tensor, "is not an object in the header");
        else if (tensor->name)
            read_tensor(in, tensor, data_offset);
    }
    if (in->rc == PLUMB_OK && s->token == PLUMB_JSON_OBJECT_END)
        plumb_json_next(s);
    if (in->rc == PLUMB_OK && s->token == PLUMB_JSON_ERROR)
        in->rc = plumb_json_scan_fail(s, in->file, in->err);
    if (in->rc == PLUMB_OK && arena->failed)
        in->rc =
            plumb_fail(in->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", in->file);
}

static int by_name(const void *a, const void *b)
{
    const struct plumb_safetensors_entry *x = *(struct plumb_safetensors_entry *const *)a;
    const struct plumb_safetensors_entry *y = *(struct plumb_safetensors_entry *const *)b;
    return strcmp(x->name, y->name);
}

static int by_offset(const void *a, const void *b)
{
    const struct plumb_safetensors_entry *x = *(struct plumb_safetensors_entry *const *)a;
    const struct plumb_safetensors_entry *y = *(struct plumb_safetensors_entry *const *)b;
    if (x->a.offset != y->a.offset)
        return x->a.offset < y->a.offset ? -1 : 1;
    if (x->a.bytes != y->a.bytes)
        return x->a.bytes < y->a.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One name a tensor; and together they are the data, without holes or overlaps. Leaves them in the
 * order of their data, which is the order they were written in. */
static int check_tensors(struct tensors *in, uint64_t data_offset, uint64_t size)
{
    struct plumb_safetensors_entry **all = in->out->at;
    size_t count = in->out->count;
    uint64_t at = data_offset;
    if (count)
        qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(all[i]->name, all[i - 1]->name) == 0)
            tensor_fault(in, all[i], "comes twice");
    if (count)
        qsort(all, count, sizeof *all, by_offset);
    for (size_t i = 0; i < count && in->rc == PLUMB_OK; i++) {
        const struct plumb_activation_array *a = &all[i]->a;
        if (a->offset < at)
            tensor_fault(in, all[i], "overlaps with another");
        else if (a->offset > at)
            tensor_fault(in, all[i], "leaves a hole before its data");
        else if (a->bytes > size - at)
            tensor_fault(in, all[i], "ends after the file: it was cut off");
        at = a->offset + a->bytes;
    }
    if (in->rc == PLUMB_OK && at != size)
        in->rc = refuse(in->file, in->err, "something follows its last tensor");
    return in->rc;
}

int plumb_safetensors_head_bytes(uint64_t *out, const unsigned char first[8], uint64_t file_bytes,
                                 const char *name, plumb_error *err)
{
    uint64_t header = 0;
    if (file_bytes < 8)
        return refuse(name, err, "it is shorter than the length of its header");
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)first[i] << 8 * i;
    if (header > file_bytes - 8)
        return refuse(name, err, "its header is longer than the file");
    if (header > MAX_HEADER)
        return refuse(name, err, "its header is longer than 100 MiB");
    *out = 8 + header;
    return PLUMB_OK;
}

int plumb_safetensors_read(struct plumb_safetensors *out, const unsigned char *head,
                           uint64_t file_bytes, const char *name, plumb_error *err)
{
    struct tensors in = {.out = out, .file = name, .err = err};
    uint64_t bytes;
    *out = (struct plumb_safetensors){.count = 0};
    if ((in.rc = plumb_safetensors_head_bytes(&bytes, head, file_bytes, name, err)) < 0)
        return in.rc;
    char *text = calloc(1, bytes - 8 + PLUMB_JSON_PADDING);
    in.scan = malloc(sizeof *in.scan);
    if (text && in.scan) {
        memcpy(text, head + 8, bytes - 8);
        plumb_json_scan_init(in.scan, 0);
        plumb_json_scan_text(in.scan, text, bytes - 8);
        read_tensors(&in, bytes);
        plumb_json_scan_fini(in.scan);
    } else {
        in.rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
    }
    free(in.scan);
    free(text);
    in.scan = NULL;
    if (in.rc == PLUMB_OK)
        check_tensors(&in, bytes, file_bytes);
    if (in.rc < 0)
        plumb_safetensors_fini(out);
    return in.rc;
}

void plumb_safetensors_fini(struct plumb_safetensors *s)
{
    plumb_arena_fini(&s->arena);
    *s = (struct plumb_safetensors){.count = 0};
}

const struct plumb_safetensors_note *plumb_safetensors_note(const struct plumb_safetensors *s,
                                                            const char *key)
{
    for (size_t i = 0; i < s->note_count; i++)
        if (strcmp(s->notes[i].key, key) == 0)
            return &s->notes[i];
    return NULL;
}

const struct plumb_safetensors_entry *plumb_safetensors_find(const struct plumb_safetensors *s,
                                                             const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->at[i]->name, name) == 0)
            return s->at[i];
    return NULL;
}
