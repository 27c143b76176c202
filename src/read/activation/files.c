/* files.c: finds the format of a file and calls its reader.
 *
 * Texts are read in pieces and unpacked on the way, so that pipes work and memory stays small.
 * Arrays are mapped. If another process truncates a file while it is mapped, the reader is killed,
 * as with every mapping. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "read/activation/parts.h"
#include "read/activation/read.h"
#include "read/file/unpack.h"
#include "read/json/scan.h"

enum { HEAD = 1 << 16, PIECE = 1 << 16 };

static int no_memory(const char *name, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
}

/* ---- What a file is -------------------------------------------------------------------------- */

/* Packed or not. */
static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name);
    size_t m = strlen(end);
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0)
        n -= 3;
    return n >= m && strncmp(name + n - m, end, m) == 0;
}

/* Returns the format of a JSON text: that of a dump.json or of a record, by the names of its first
 * members. Members of other names are skipped. */
static enum plumb_activation_format json_kind(const char *head, size_t size)
{
    static const char *const dump[] = {"task", "level", "framework", "dump_data_dir", "data"};
    enum plumb_activation_format kind = PLUMB_ACT_FORMAT_NONE;
    struct plumb_json_scan *s = malloc(sizeof *s);
    if (!s)
        return kind;
    plumb_json_scan_init(s, PLUMB_JSON_NAN);
    plumb_json_scan_text(s, head, size);
    plumb_json_next(s);
    while (kind == PLUMB_ACT_FORMAT_NONE && plumb_json_next(s) > PLUMB_JSON_END && s->depth > 0) {
        if (!s->key)
            continue;
        if (plumb_json_key_is(s, "module") || plumb_json_key_is(s, "tensor"))
            kind = PLUMB_ACT_FORMAT_PLUMB;
        for (size_t i = 0; i < sizeof dump / sizeof *dump; i++)
            if (plumb_json_key_is(s, dump[i]))
                kind = PLUMB_ACT_FORMAT_MSPROBE;
        plumb_json_skip(s);
    }
    plumb_json_scan_fini(s);
    free(s);
    return kind;
}

/* `head` [size] is the beginning of the file, followed by zeros. */
static enum plumb_activation_format kind_of(const char *name, const char *head, size_t size)
{
    size_t blanks = 0;
    while (blanks < size && strchr(" \t\r\n", head[blanks]) && head[blanks])
        blanks++;
    if (size >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        return PLUMB_ACT_FORMAT_NPY;
    if (size > 8 && head[8] == '{' && (head[0] != '{' || memchr(head, '\0', 8)))
        return PLUMB_ACT_FORMAT_SAFETENSORS;
    if (blanks < size && head[blanks] == '{') {
        enum plumb_activation_format kind = json_kind(head, size);
        return kind || !ends_in(name, ".jsonl") ? kind : PLUMB_ACT_FORMAT_PLUMB;
    }
    if (ends_in(name, ".npy"))
        return PLUMB_ACT_FORMAT_NPY;
    if (ends_in(name, ".safetensors"))
        return PLUMB_ACT_FORMAT_SAFETENSORS;
    return ends_in(name, ".jsonl") ? PLUMB_ACT_FORMAT_PLUMB : PLUMB_ACT_FORMAT_NONE;
}

static int unknown_kind(const char *name, size_t size, plumb_error *err)
{
    if (size == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is empty: no activation records", name);
    return plumb_fail(
        err, PLUMB_ERR_FORMAT,
        "'%s' holds no activations: it is not JSONL of records, dump.json of msprobe, "
        ".npy or .safetensors",
        name);
}

/* ---- One file -------------------------------------------------------------------------------- */

struct pieces {
    struct plumb_unpack *file; /* NULL: `head` is all */
    const char *head;          /* read already */
    size_t head_size;
    const char *tail; /* returned after the end of the file */
    size_t tail_size;
};

static int64_t fill(void *arg, char *to, size_t size, plumb_error *err)
{
    struct pieces *from = arg;
    size_t n = from->head_size < size ? from->head_size : size;
    int rc = PLUMB_OK;
    if (n > 0) {
        memcpy(to, from->head, n);
        from->head += n;
        from->head_size -= n;
    } else if (from->file) {
        rc = plumb_unpack_read(from->file, to, size, &n, err);
    }
    if (rc == PLUMB_OK && n == 0 && from->tail_size) {
        n = from->tail_size < size ? from->tail_size : size;
        memcpy(to, from->tail, n);
        from->tail += n;
        from->tail_size -= n;
    }
    return rc < 0 ? rc : (int64_t)n;
}

/* The module of an array is the name of its file. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_array(const struct plumb_activation_source *from, enum plumb_activation_format kind,
                      const void *data, size_t size, plumb_error *err)
{
    return kind == PLUMB_ACT_FORMAT_NPY
               ? plumb_activations_npy(from, base_name(from->name), data, size, err)
               : plumb_activations_safetensors(from, data, size, err);
}

static int read_mapped(const struct plumb_activation_source *from,
                       enum plumb_activation_format kind, plumb_error *err)
{
    int fd = open(from->name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *data = MAP_FAILED;
    int rc;
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot read '%s': %s", from->name, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not a regular file: arrays are mapped",
                        from->name);
        goto out;
    }
    if (st.st_size == 0) {
        rc = unknown_kind(from->name, 0, err);
        goto out;
    }
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        rc = plumb_fail(err, PLUMB_ERR_IO, "cannot map '%s': %s", from->name, strerror(errno));
        goto out;
    }
    madvise(data, (size_t)st.st_size, MADV_SEQUENTIAL);
    rc = read_array(from, kind, data, (size_t)st.st_size, err);
out:
    if (data != MAP_FAILED)
        munmap(data, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* All of a text, as it is or packed. */
static int read_padded(struct plumb_buf *out, const char *path, plumb_error *err)
{
    static const char zeros[PLUMB_JSON_PADDING];
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *file = NULL;
    char *piece = malloc(PIECE);
    size_t got = 1;
    int rc = piece ? plumb_unpack_open(&file, path, &sum, err) : no_memory(path, err);
    while (rc == PLUMB_OK && got > 0 && !out->failed) {
        rc = plumb_unpack_read(file, piece, PIECE, &got, err);
        if (rc == PLUMB_OK)
            plumb_buf_append(out, piece, got);
    }
    plumb_unpack_close(file);
    free(piece);
    if (rc < 0)
        return rc;
    plumb_buf_append(out, zeros, sizeof zeros);
    if (out->failed)
        return no_memory(path, err);
    out->len -= sizeof zeros;
    return PLUMB_OK;
}

/* Reads the file `name` from the folder of `path`, or its packed form name.gz. Not an error if
 * there is neither. */
static int read_neighbour(struct plumb_buf *out, char **full_name, const char *path,
                          const char *name, plumb_error *err)
{
    size_t folder = (size_t)(base_name(path) - path);
    struct stat st;
    if (!(*full_name = malloc(folder + strlen(name) + sizeof ".gz")))
        return no_memory(path, err);
    memcpy(*full_name, path, folder);
    strcpy(*full_name + folder, name);
    if (stat(*full_name, &st) < 0)
        strcat(*full_name, ".gz");
    return stat(*full_name, &st) == 0 ? read_padded(out, *full_name, err) : PLUMB_OK;
}

static int read_dump(const struct plumb_activation_source *from, plumb_error *err)
{
    struct plumb_buf texts[3] = {{0}, {0}, {0}};
    struct plumb_activation_text_of parts[3] = {{0}, {0}, {0}};
    char *paths[3] = {NULL, NULL, NULL};
    int rc;
    if ((rc = read_padded(&texts[0], from->name, err)) < 0 ||
        (rc = read_neighbour(&texts[1], &paths[1], from->name, "construct.json", err)) < 0 ||
        (rc = read_neighbour(&texts[2], &paths[2], from->name, "stack.json", err)) < 0)
        goto out;
    for (int i = 0; i < 3; i++)
        parts[i] = (struct plumb_activation_text_of){texts[i].data, texts[i].len,
                                                     i == 0 ? from->name : paths[i]};
    rc = plumb_activations_msprobe(from, &parts[0], texts[1].data ? &parts[1] : NULL,
                                   texts[2].data ? &parts[2] : NULL, err);
out:
    for (int i = 0; i < 3; i++) {
        plumb_buf_fini(&texts[i]);
        free(paths[i]);
    }
    return rc;
}

/* Up to HEAD bytes from the beginning, or an error. */
static int64_t read_head(struct plumb_unpack *file, char *head, plumb_error *err)
{
    size_t have = 0;
    size_t got = 1;
    while (have < HEAD && got > 0) {
        int rc = plumb_unpack_read(file, head + have, HEAD - have, &got, err);
        if (rc < 0)
            return rc;
        have += got;
    }
    memset(head + have, 0, PLUMB_JSON_PADDING);
    return (int64_t)have;
}

static int note_kind(struct plumb_activations *t, enum plumb_activation_format kind)
{
    const uint32_t ours = 1u << PLUMB_ACT_SEQ | 1u << PLUMB_ACT_CALL | 1u << PLUMB_ACT_IO;
    t->format =
        kind == PLUMB_ACT_FORMAT_PLUMB && !(t->seen & ours) ? PLUMB_ACT_FORMAT_FASTVIDEO : kind;
    return PLUMB_OK;
}

static int read_kind(const struct plumb_activation_source *from, enum plumb_activation_format kind,
                     struct pieces *pieces, plumb_error *err)
{
    switch (kind) {
    case PLUMB_ACT_FORMAT_NONE:
        return unknown_kind(from->name, pieces->head_size, err);
    case PLUMB_ACT_FORMAT_PLUMB:
        return plumb_activations_lines(from, fill, pieces, err);
    case PLUMB_ACT_FORMAT_MSPROBE:
        return read_dump(from, err);
    default:
        if (plumb_unpack_is_packed(pieces->file))
            return plumb_fail(err, PLUMB_ERR_FORMAT,
                              "'%s' is packed: unpack it with gunzip first, arrays are mapped",
                              from->name);
        return read_mapped(from, kind, err);
    }
}

int plumb_activations_file(const struct plumb_activation_source *from, plumb_error *err)
{
    struct plumb_unpack_sum sum = {0, 0};
    struct plumb_unpack *file = NULL;
    struct plumb_buf tail = {0};
    char *head = malloc(HEAD + PLUMB_JSON_PADDING);
    plumb_activations_pending(&tail, from->name);
    int rc = head ? plumb_unpack_open(&file, from->name, &sum, err) : no_memory(from->name, err);
    int64_t size = rc < 0 ? rc : read_head(file, head, err);
    rc = (int)(size < 0 ? size : 0);
    if (rc == PLUMB_OK) {
        enum plumb_activation_format kind = kind_of(from->name, head, (size_t)size);
        struct pieces pieces = {file, head, (size_t)size, tail.data, tail.len};
        rc = read_kind(from, kind, &pieces, err);
        if (rc == PLUMB_OK)
            rc = note_kind(from->table, kind);
    }
    plumb_unpack_close(file);
    plumb_buf_fini(&tail);
    free(head);
    return rc;
}

int plumb_activations_parse(struct plumb_activations *out, const void *data, size_t size,
                            const char *name, plumb_error *err)
{
    struct plumb_activations t;
    struct plumb_activation_source from = {.table = &t, .name = name, .step = -1, .rank = -1};
    char *padded = calloc(1, size + PLUMB_JSON_PADDING);
    int rc;
    if (!padded)
        return no_memory(name, err);
    if (size)
        memcpy(padded, data, size);
    plumb_activations_init(&t);
    size_t head = size < HEAD ? size : HEAD;
    char saved[PLUMB_JSON_PADDING];
    memcpy(saved, padded + head, sizeof saved);
    memset(padded + head, 0, sizeof saved);
    enum plumb_activation_format kind = kind_of(name, padded, head);
    memcpy(padded + head, saved, sizeof saved);
    struct pieces pieces = {NULL, padded, size, NULL, 0};
    struct plumb_activation_text_of dump = {padded, size, name};
    if (kind == PLUMB_ACT_FORMAT_PLUMB)
        rc = plumb_activations_lines(&from, fill, &pieces, err);
    else if (kind == PLUMB_ACT_FORMAT_MSPROBE)
        rc = plumb_activations_msprobe(&from, &dump, NULL, NULL, err);
    else if (kind == PLUMB_ACT_FORMAT_NONE)
        rc = unknown_kind(name, size, err);
    else
        rc = read_array(&from, kind, data, size, err);
    if (rc == PLUMB_OK)
        rc = note_kind(&t, kind);
    rc = plumb_activations_finish(out, &t, name, rc, err);
    free(padded);
    return rc;
}
