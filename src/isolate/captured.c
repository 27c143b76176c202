/* captured.c: the inputs of a stage from the file that PLUMB_CAPTURE made (docs/recording.md):
 * tensors as any .safetensors file has them, and in `__metadata__` what each input is, in order,
 * and hashes of the outputs.
 *
 * The file may be anything: what it says is checked before memory is taken for it. Its values are
 * read, not mapped: a file that is cut off later must not end the process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/sanitize.h"
#include "isolate/inputs_parts.h"
#include "read/activation/safetensors_header.h"
#include "read/json/fields.h"
#include "read/json/tree.h"
#include "tensor/row_major.h"

enum { DEPTH = 32, PIECE = 256 * 1024 };

struct capture {
    struct plumb_inputs_maker *m;
    struct plumb_safetensors file;
    struct plumb_json_tree inputs, outputs;
    const char *path;
    uint64_t bytes;
    int fd;
};

static int damaged(const struct capture *c, const char *why)
{
    return plumb_fail(c->m->err, PLUMB_ERR_FORMAT, "'%s' is not a capture of plumb: %s", c->path,
                      why);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Reads `n` bytes from `offset`; 0, or an errno (EIO: the file ends before). */
static int read_all(int fd, void *to, size_t n, uint64_t offset)
{
    unsigned char *at = to;
    while (n > 0) {
        ssize_t got = pread(fd, at, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO;
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* 1: there is no such file. */
static int open_file(struct capture *c)
{
    struct stat st;
    int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 1;
    if (fd < 0)
        return plumb_fail(c->m->err, PLUMB_ERR_IO, "cannot read '%s': %s", c->path,
                          strerror(errno));
    c->fd = fd;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return damaged(c, "it is not a regular file");
    c->bytes = (uint64_t)st.st_size;
    return PLUMB_OK;
}

static int read_header(struct capture *c)
{
    unsigned char first[8] = {0};
    plumb_error *err = c->m->err;
    uint64_t bytes;
    unsigned char *head;
    int fd = c->fd, rc, code;
    if (c->bytes >= sizeof first && (code = read_all(fd, first, sizeof first, 0)))
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", c->path, strerror(code));
    if ((rc = plumb_safetensors_head_bytes(&bytes, first, c->bytes, c->path, err)) < 0)
        return rc;
    if (!(head = malloc((size_t)bytes)))
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", c->path);
    if ((code = read_all(fd, head, (size_t)bytes, 0)))
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", c->path, strerror(code));
    else
        rc = plumb_safetensors_read(&c->file, head, c->bytes, c->path, err);
    free(head);
    return rc;
}

static bool says(const struct capture *c, const char *key, const char *text)
{
    const struct plumb_safetensors_note *note = plumb_safetensors_note(&c->file, key);
    return note && strcmp(note->text, text) == 0;
}

/* A step; `*out` as it was: the file has none. */
static int read_step(const struct capture *c, int64_t *out, const char *key)
{
    const struct plumb_safetensors_note *step = plumb_safetensors_note(&c->file, key);
    char *end;
    if (!step)
        return PLUMB_OK;
    errno = 0;
    *out = strtoll(step->text, &end, 10);
    if (errno || *end || end == step->text || *out < 0)
        return damaged(c, "its step is not a number");
    return PLUMB_OK;
}

/* Reads the notes in `__metadata__`. */
static int read_notes(struct capture *c)
{
    const struct plumb_safetensors_note *inputs = plumb_safetensors_note(&c->file, "inputs");
    const struct plumb_safetensors_note *outputs = plumb_safetensors_note(&c->file, "outputs");
    const struct plumb_safetensors_note *stage = plumb_safetensors_note(&c->file, "stage");
    struct plumb_fields f = {.arena = &c->m->out->arena, .name = c->path};
    int rc;
    if (!says(c, "format", "plumb-capture") || !inputs || !stage)
        return damaged(c, "its __metadata__ has no inputs");
    if (!says(c, "schema", "1"))
        return damaged(c, "it was made by a newer plumb");
    if (strcmp(plumb_field_own(&f, stage->text), c->m->stage->name) != 0)
        return plumb_fail(c->m->err, PLUMB_ERR_FORMAT,
                          "'%s' holds the inputs of stage '%.100s', not of '%.100s'", c->path,
                          stage->text, c->m->stage->name);
    if ((rc = read_step(c, &c->m->out->step, "step")) < 0 ||
        (rc = read_step(c, &c->m->out->call_step, "call_step")) < 0)
        return rc;
    if (outputs && plumb_json_tree_read(&c->outputs, outputs->text, outputs->text_size, 0, c->path,
                                        c->m->err) < 0)
        return PLUMB_ERR_FORMAT;
    return plumb_json_tree_read(&c->inputs, inputs->text, inputs->text_size, 0, c->path, c->m->err);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static int read_values(const struct capture *c, const struct plumb_inputs_tensor *t)
{
    plumb_error *err = c->m->err;
    struct plumb_row_major rows;
    unsigned char *piece;
    uint64_t left = t->view.bytes, offset = t->offset;
    int code = 0;
    if (plumb_view_is_compact(&t->view)) {
        code = read_all(c->fd, (void *)(uintptr_t)t->view.data, (size_t)left, offset);
        left = 0;
    }
    piece = left > 0 ? malloc(PIECE) : NULL;
    if (left > 0 && !piece)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", c->path);
    plumb_row_major_init(&rows, &t->view);
    while (left > 0 && !code) {
        size_t n = PIECE / rows.element_bytes * rows.element_bytes;
        n = left < n ? (size_t)left : n;
        code = read_all(c->fd, piece, n, offset);
        if (!code)
            plumb_row_major_write(&rows, piece, n);
        left -= n;
        offset += n;
    }
    free(piece);
    if (code)
        return plumb_fail(err, PLUMB_ERR_IO, "cannot read the values of '%s' in '%s': %s", t->path,
                          c->path, strerror(code));
    return PLUMB_OK;
}

/* Whole numbers, or NULL and `*n` as it was: there are none. */
static int64_t *numbers(struct capture *c, const struct plumb_json_value *list, size_t *n)
{
    size_t count = plumb_json_count(list);
    int64_t *out;
    if (!plumb_json_is(list, PLUMB_JSON_IS_ARRAY) || count > PLUMB_VIEW_MAX_DIMS ||
        !(out = plumb_arena_alloc(&c->m->out->arena, (count + 1) * sizeof *out)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!plumb_json_is(plumb_json_at(list, i), PLUMB_JSON_IS_INT))
            return NULL;
        out[i] = plumb_json_whole(plumb_json_at(list, i));
    }
    *n = count;
    return out;
}

static int read_form(struct capture *c, const struct plumb_json_value *from, const char *path,
                     struct plumb_signature_tensor *out)
{
    const struct plumb_json_value *strides = plumb_json_get(from, "strides");
    size_t n = 0;
    out->dtype = plumb_json_text(plumb_json_get(from, "dtype"));
    out->device = plumb_json_text(plumb_json_get(from, "device"));
    out->shape = numbers(c, plumb_json_get(from, "shape"), &out->ndim);
    if (!plumb_json_is(strides, PLUMB_JSON_IS_NULL) && strides) {
        out->strides = numbers(c, strides, &n);
        if (!out->strides || n != out->ndim)
            out->shape = NULL;
    }
    if (!out->dtype || !out->device || !out->shape)
        return plumb_inputs_fault(c->m, path, PLUMB_ERR_FORMAT,
                                  "its capture lacks type, device or shape");
    return PLUMB_OK;
}

static int read_tensor(struct capture *c, const struct plumb_json_value *from, const char *path,
                       plumb_value *out)
{
    const char *name = plumb_json_text(plumb_json_get(from, "tensor"));
    const struct plumb_safetensors_entry *entry =
        name ? plumb_safetensors_find(&c->file, name) : NULL;
    struct plumb_signature_tensor form = {.requires_grad = -1};
    struct plumb_inputs_tensor *t;
    uint64_t bytes = 0;
    int rc = read_form(c, from, path, &form);
    if (rc == PLUMB_OK && !entry)
        rc = plumb_inputs_fault(c->m, path, PLUMB_ERR_FORMAT, "its capture has no values");
    if (rc == PLUMB_OK)
        bytes = entry->a.bytes;
    if (rc < 0 || (rc = plumb_inputs_tensor(c->m, path, &form, &bytes, &t)) < 0)
        return rc;
    t->captured = true;
    t->offset = entry->a.offset;
    c->m->out->captured_count++;
    if ((rc = read_values(c, t)) == PLUMB_OK)
        *out = plumb_value_tensor((const plumb_tensor *)&t->tensor);
    return rc;
}

/* ---- What was left out ----------------------------------------------------------------------- */

/* The recorded value at `path`, whose first part is the name of an input. */
static const struct plumb_signature_value *find(const struct plumb_signature_value *v,
                                                const char *rest)
{
    char *end;
    size_t i, n;
    if (!*rest)
        return v;
    if (*rest == '[' && v->kind == PLUMB_SIGNATURE_LIST) {
        i = strtoull(rest + 1, &end, 10);
        return *end == ']' && i < v->is.list.count ? find(&v->is.list.at[i], end + 1) : NULL;
    }
    for (i = 0; *rest == '.' && v->kind == PLUMB_SIGNATURE_FIELDS && i < v->is.fields.count; i++) {
        const struct plumb_signature_item *item = &v->is.fields.at[i];
        n = strlen(item->name);
        if (strncmp(rest + 1, item->name, n) == 0 && strchr(".[", rest[1 + n])) {
            const struct plumb_signature_value *found = find(&item->value, rest + 1 + n);
            if (found)
                return found;
        }
    }
    return NULL;
}

static const struct plumb_signature_value *recorded(const struct capture *c, const char *path)
{
    const struct plumb_signature_items *items = &c->m->stage->last.inputs;
    for (size_t i = 0; i < items->count; i++) {
        size_t n = strlen(items->at[i].name);
        const struct plumb_signature_value *found =
            strncmp(items->at[i].name, path, n) == 0 ? find(&items->at[i].value, path + n) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static int read_missing(struct capture *c, const struct plumb_json_value *from, const char *path,
                        plumb_value *out)
{
    const struct plumb_signature_value *value = recorded(c, path);
    const char *why = plumb_json_text(plumb_json_get(from, "why"));
    char text[300];
    c->m->out->exact = false;
    if (c->m->options->mode == PLUMB_INPUTS_AUTO && value)
        return plumb_inputs_recorded(c->m, path, value, out);
    snprintf(text, sizeof text, "it was not captured: %.250s", why ? why : "no reason given");
    return plumb_inputs_fault(c->m, path, PLUMB_ERR_NOT_FOUND, text);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The string `key`, or the bytes of `key`_hex; NULL: neither is there, or no memory. */
static const char *string_at(struct capture *c, const struct plumb_json_value *from,
                             const char *key)
{
    struct plumb_arena *arena = &c->m->out->arena;
    const char *text = plumb_json_text(plumb_json_get(from, key));
    char hex_key[24], *bytes;
    size_t n;
    if (text)
        return plumb_arena_strdup(arena, text);
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    if (!(text = plumb_json_text(plumb_json_get(from, hex_key))))
        return NULL;
    n = strlen(text);
    if (n % 2 || !(bytes = plumb_arena_alloc(arena, n / 2 + 1)))
        return NULL;
    for (size_t i = 0; i < n; i += 2) {
        int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0 || high + low == 0)
            return NULL;
        bytes[i / 2] = (char)(16 * high + low);
    }
    return bytes;
}

/* 64 bits: 16 hexadecimal digits. */
static bool read_bits(const char *text, uint64_t *out)
{
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

static int read_value(struct capture *c, const struct plumb_json_value *from, const char *path,
                      int depth, plumb_value *out);

static int read_items(struct capture *c, const struct plumb_json_value *from, const char *path,
                      int depth, bool named, plumb_value *out)
{
    const struct plumb_json_value *list = plumb_json_get(from, "items");
    size_t n = plumb_json_count(list);
    plumb_value *values = plumb_arena_alloc(&c->m->out->arena, (n + 1) * sizeof *values);
    plumb_field *fields = plumb_arena_alloc(&c->m->out->arena, (n + 1) * sizeof *fields);
    if (!values || !fields)
        return plumb_inputs_fault(c->m, path, PLUMB_ERR_MEMORY, "out of memory");
    if (!plumb_json_is(list, PLUMB_JSON_IS_ARRAY) || depth == DEPTH)
        return plumb_inputs_fault(c->m, path, PLUMB_ERR_FORMAT, "its capture has no items");
    for (size_t i = 0; i < n; i++) {
        const struct plumb_json_value *item = plumb_json_at(list, i);
        const char *name = string_at(c, item, "name");
        int rc;
        if (named && !name)
            return plumb_inputs_fault(c->m, path, PLUMB_ERR_FORMAT, "a field has no name");
        rc = read_value(c, item, plumb_inputs_path(c->m, path, i, named ? name : NULL), depth + 1,
                        &values[i]);
        if (rc < 0)
            return rc;
        fields[i] = (plumb_field){name, values[i]};
    }
    *out = named ? plumb_value_fields(fields, n) : plumb_value_list(values, n);
    return PLUMB_OK;
}

static int read_value(struct capture *c, const struct plumb_json_value *from, const char *path,
                      int depth, plumb_value *out)
{
    const char *kind = plumb_json_text(plumb_json_get(from, "kind"));
    const struct plumb_json_value *v = plumb_json_get(from, "value");
    const char *text = string_at(c, from, "value");
    uint64_t bits;
    double real;
    if (!path)
        return plumb_inputs_fault(c->m, "", PLUMB_ERR_MEMORY, "out of memory");
    if (!kind)
        kind = "";
    if (strcmp(kind, "tensor") == 0)
        return read_tensor(c, from, path, out);
    if (strcmp(kind, "missing") == 0)
        return read_missing(c, from, path, out);
    if (strcmp(kind, "list") == 0 || strcmp(kind, "fields") == 0)
        return read_items(c, from, path, depth, kind[0] == 'f', out);
    if (strcmp(kind, "null") == 0)
        *out = plumb_value_null();
    else if (strcmp(kind, "bool") == 0 &&
             (plumb_json_is(v, PLUMB_JSON_IS_TRUE) || plumb_json_is(v, PLUMB_JSON_IS_FALSE)))
        *out = plumb_value_bool(plumb_json_is(v, PLUMB_JSON_IS_TRUE));
    else if (strcmp(kind, "int") == 0 && plumb_json_is(v, PLUMB_JSON_IS_INT))
        *out = plumb_value_i64(plumb_json_whole(v));
    else if (strcmp(kind, "real") == 0 &&
             read_bits(plumb_json_text(plumb_json_get(from, "bits")), &bits))
        *out = plumb_value_f64(*(double *)memcpy(&real, &bits, sizeof real));
    else if (strcmp(kind, "text") == 0 && text)
        *out = plumb_value_str(text);
    else
        return plumb_inputs_fault(c->m, path, PLUMB_ERR_FORMAT,
                                  "its capture has a value of an unknown kind");
    return PLUMB_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int read_inputs(struct capture *c)
{
    const struct plumb_json_value *list = c->inputs.root;
    struct plumb_inputs *out = c->m->out;
    size_t n = plumb_json_count(list);
    int rc = PLUMB_OK;
    if (!plumb_json_is(list, PLUMB_JSON_IS_ARRAY))
        return damaged(c, "its inputs are not a list");
    if (!(out->at = plumb_arena_alloc(&out->arena, (n + 1) * sizeof *out->at)))
        return plumb_fail(c->m->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", c->path);
    for (size_t i = 0; i < n && rc == PLUMB_OK; i++) {
        const struct plumb_json_value *item = plumb_json_at(list, i);
        const char *name = string_at(c, item, "name");
        if (!name)
            return damaged(c, "an input has no name");
        out->at[out->count++].name = name;
        rc = read_value(c, item, name, 0, &out->at[i].value);
    }
    return rc;
}

/* The hashes of the outputs; a `hash` of null is of one that could not be read. */
static int read_outputs(struct capture *c)
{
    const struct plumb_json_value *list = c->outputs.root;
    size_t n = plumb_json_count(list);
    struct plumb_value_hashes *out;
    if (!list)
        return PLUMB_OK;
    if (!plumb_json_is(list, PLUMB_JSON_IS_ARRAY) || n > PLUMB_VALUE_HASHES)
        return damaged(c, "its outputs are not a list");
    if (!(out = plumb_arena_alloc(&c->m->out->arena, sizeof *out)))
        return plumb_fail(c->m->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", c->path);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const struct plumb_json_value *item = plumb_json_at(list, i);
        const char *name = string_at(c, item, "name");
        struct plumb_named_hash *o = &out->at[out->count++];
        o->known = !plumb_json_is(plumb_json_get(item, "hash"), PLUMB_JSON_IS_NULL);
        if (!name ||
            (o->known && !read_bits(plumb_json_text(plumb_json_get(item, "hash")), &o->hash)))
            return damaged(c, "an output has no name or no hash");
        snprintf(o->name, sizeof o->name, "%s", name);
    }
    c->m->out->outputs = out;
    return PLUMB_OK;
}

static const char *path_of(const struct plumb_inputs_maker *m)
{
    char safe[PLUMB_SAFE_NAME_MAX + 1];
    if (!m->options->dir)
        return NULL;
    if (m->stage->capture)
        return plumb_arena_printf(&m->out->arena, "%s/%s", m->options->dir,
                                  m->stage->capture->file);
    /* The signature does not have it when the call failed. */
    plumb_sanitize(safe, m->stage->name);
    return plumb_arena_printf(&m->out->arena, "%s/%s" PLUMB_CAPTURE_SUFFIX, m->options->dir, safe);
}

int plumb_inputs_captured(struct plumb_inputs_maker *m)
{
    struct capture c = {.m = m, .path = path_of(m), .fd = -1};
    int rc;
    if (!c.path)
        return 1;
    rc = open_file(&c);
    if (rc == PLUMB_OK && (rc = read_header(&c)) == PLUMB_OK) {
        m->out->file = c.path;
        m->out->exact = true;
        rc = read_notes(&c);
        if (rc == PLUMB_OK)
            rc = read_inputs(&c);
        if (rc == PLUMB_OK)
            rc = read_outputs(&c);
        plumb_safetensors_fini(&c.file);
    }
    if (c.fd >= 0)
        close(c.fd);
    plumb_json_tree_fini(&c.inputs);
    plumb_json_tree_fini(&c.outputs);
    return rc;
}
