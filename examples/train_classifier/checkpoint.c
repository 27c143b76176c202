/* Owns the files of checkpoints: which tensors they hold, how they reach the disk whole, and what a
 * file must be to be loaded.
 *
 * The parameters are one block, layer by layer, and the file's data are that block as it is. A
 * checksum in the metadata distinguishes a damaged file from one that other programs wrote, which
 * has none. */
#include "checkpoint.h"

#include "safetensors.h"

#include <plumb/plumb.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and this program writes numbers as they are in memory"
#endif
_Static_assert(sizeof(real) == sizeof(float), "checkpoints hold float32");

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 1 << 16 };

/* One attempt to save or load. */
struct attempt {
    const char *path;
    char *error;
    size_t error_bytes;
};

static int fail(const struct attempt *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(const struct attempt *a, const char *format, ...)
{
    int length = snprintf(a->error, a->error_bytes, "%.200s: ", a->path);
    va_list args;

    va_start(args, format);
    if (length >= 0 && (size_t)length < a->error_bytes)
        vsnprintf(a->error + length, a->error_bytes - (size_t)length, format, args);
    va_end(args);
    return -1;
}

/* FNV-1a. */
static uint64_t checksum(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* ---- Header ---------------------------------------------------------------------------------- */

static void add_tensor(struct safetensors_header *h, const struct network *net, int layer,
                       const char *what, const real *data, int64_t rows, int64_t columns)
{
    struct safetensors_tensor *t = &h->tensors[h->n_tensors++];

    snprintf(t->name, sizeof(t->name), "layer%d.%s", layer, what);
    t->n_axes = rows ? 2 : 1;
    t->shape[0] = rows ? rows : columns;
    t->shape[1] = rows ? columns : 0;
    t->begin_bytes = (uint64_t)(data - net->parameters) * sizeof(real);
    t->end_bytes = t->begin_bytes + (uint64_t)((rows ? rows : 1) * columns) * sizeof(real);
}

/* The tensors of the network, as they lie in its block. */
static struct safetensors_header header_of(const struct network *net)
{
    struct safetensors_header h = {0};

    for (int i = 0; i < NETWORK_LAYERS; i++) {
        const struct linear *l = &net->layers[i];
        add_tensor(&h, net, i, "weight", l->weight, l->in, l->out);
        add_tensor(&h, net, i, "bias", l->bias, 0, l->out);
    }
    return h;
}

static void add_fact(struct safetensors_header *h, const char *key, uint64_t value)
{
    struct safetensors_fact *fact = &h->facts[h->n_facts++];

    snprintf(fact->key, sizeof(fact->key), "%s", key);
    snprintf(fact->value, sizeof(fact->value), "%" PRIu64, value);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Returns a whole file in memory, to be freed, or NULL. */
static unsigned char *compose(const struct network *net, const struct checkpoint_facts *facts,
                              size_t *size)
{
    struct safetensors_header h = header_of(net);
    size_t data_bytes = net->n_parameters * sizeof(real), json_bytes;
    unsigned char *file = malloc(LENGTH_BYTES + MAX_HEADER_BYTES + data_bytes);
    uint64_t length;

    if (!file)
        return NULL;
    add_fact(&h, "epoch", (uint64_t)facts->epoch);
    add_fact(&h, "seed", facts->seed);
    add_fact(&h, "val_correct", (uint64_t)facts->val_correct);
    add_fact(&h, "val_count", (uint64_t)facts->val_count);
    add_fact(&h, "fnv1a", checksum(net->parameters, data_bytes));
    json_bytes = safetensors_format(&h, (char *)file + LENGTH_BYTES, MAX_HEADER_BYTES);
    length = json_bytes;
    memcpy(file, &length, LENGTH_BYTES);
    memcpy(file + LENGTH_BYTES + json_bytes, net->parameters, data_bytes);
    *size = LENGTH_BYTES + json_bytes + data_bytes;
    return file;
}

static int write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static int flush_to_disk(int fd)
{
    PLUMB_SPAN("flush_to_disk");
    return fsync(fd);
}

/* After a rename, the new name is on disk only when the folder is. */
static int flush_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int rc = fd < 0 ? -1 : flush_to_disk(fd);

    if (fd >= 0)
        close(fd);
    free(folder);
    return rc;
}

static int write_file(const char *path, const unsigned char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = -1, why;

    if (fd < 0)
        return -1;
    if (write_all(fd, bytes, size) == 0 && flush_to_disk(fd) == 0)
        rc = 0;
    why = errno;
    if (close(fd) < 0 && rc == 0)
        return -1;
    errno = why;
    return rc;
}

static int replace_file(const struct attempt *a, const unsigned char *bytes, size_t size)
{
    char part[4096];
    int rc = 0;

    if (snprintf(part, sizeof(part), "%s.part", a->path) >= (int)sizeof(part))
        return fail(a, "the path is too long");
    if (write_file(part, bytes, size) < 0 || rename(part, a->path) < 0) {
        rc = fail(a, "cannot save the checkpoint: %s", strerror(errno));
        unlink(part);
    } else if (flush_folder_of(a->path) < 0) {
        rc = fail(a, "cannot flush the folder of the checkpoint: %s", strerror(errno));
    }
    return rc;
}

int checkpoint_save(const struct network *net, const struct checkpoint_facts *facts,
                    const char *path, char *error, size_t error_bytes)
{
    const struct attempt a = {path, error, error_bytes};
    size_t size = 0;
    unsigned char *file = compose(net, facts, &size);
    int rc = file ? replace_file(&a, file, size) : fail(&a, "out of memory");

    free(file);
    return rc;
}

/* ---- Loading --------------------------------------------------------------------------------- */

struct file {
    unsigned char *bytes;
    size_t size;
};

static int read_all(const struct attempt *a, int fd, struct file *f)
{
    size_t got = 0;

    while (got < f->size) {
        ssize_t n = read(fd, f->bytes + got, f->size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(a, "cannot read the checkpoint: %s",
                        n < 0 ? strerror(errno) : "it became shorter meanwhile");
        got += (size_t)n;
    }
    return 0;
}

/* At most `most` bytes: a wrong file must not fill the memory. f->bytes is to be freed. */
static int read_file(const struct attempt *a, size_t most, struct file *f)
{
    int fd = open(a->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not hold us up */
    struct stat st;
    int rc;

    if (fd < 0)
        return fail(a, "cannot read the checkpoint: %s", strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        rc = fail(a, "not a file");
    } else if ((uint64_t)st.st_size > most) {
        rc = fail(a, "no checkpoint of this network: it has %lld bytes, more than %zu",
                  (long long)st.st_size, most);
    } else {
        f->size = (size_t)st.st_size;
        f->bytes = malloc(f->size + 1);
        rc = f->bytes ? read_all(a, fd, f) : fail(a, "out of memory");
    }
    close(fd);
    return rc;
}

/* Reads the header, and finds the data that follows it. */
static int read_header(const struct attempt *a, const struct file *f, struct safetensors_header *h,
                       const unsigned char **data)
{
    uint64_t json_bytes;
    char why[160];

    if (f->size < LENGTH_BYTES)
        return fail(a, "no safetensors file: it has only %zu bytes", f->size);
    memcpy(&json_bytes, f->bytes, LENGTH_BYTES);
    if (json_bytes > f->size - LENGTH_BYTES)
        return fail(a, "no safetensors file, or it was cut off: its header ends behind its end");
    *data = f->bytes + LENGTH_BYTES + json_bytes;
    if (safetensors_parse(h, (const char *)f->bytes + LENGTH_BYTES, (size_t)json_bytes,
                          f->size - LENGTH_BYTES - json_bytes, why, sizeof(why)) < 0)
        return fail(a, "damaged: %s", why);
    return 0;
}

static int check_tensors(const struct attempt *a, const struct safetensors_header *found,
                         const struct safetensors_header *wanted)
{
    for (int i = 0; i < wanted->n_tensors; i++) {
        const struct safetensors_tensor *w = &wanted->tensors[i];
        const struct safetensors_tensor *t = safetensors_find(found, w->name);
        if (!t)
            return fail(a, "it has no tensor '%s'", w->name);
        if (t->n_axes != w->n_axes || t->shape[0] != w->shape[0] || t->shape[1] != w->shape[1])
            return fail(a,
                        "'%s' is %" PRId64 " x %" PRId64 ", and %" PRId64 " x %" PRId64
                        " in this network: choose --hidden as it was at the training",
                        w->name, t->shape[0], t->shape[1], w->shape[0], w->shape[1]);
    }
    if (found->n_tensors != wanted->n_tensors)
        return fail(a, "it has %d tensors, and this network %d", found->n_tensors,
                    wanted->n_tensors);
    return 0;
}

static int check_data(const struct attempt *a, const struct safetensors_header *h,
                      const unsigned char *data, size_t data_bytes)
{
    const char *sum = safetensors_fact(h, "fnv1a");
    char actual[24];

    snprintf(actual, sizeof(actual), "%" PRIu64, checksum(data, data_bytes));
    if (sum && strcmp(sum, actual) != 0)
        return fail(a, "damaged: its data do not have the checksum of its header");
    for (size_t i = 0; i < data_bytes; i += sizeof(float)) {
        float value;
        memcpy(&value, data + i, sizeof(value));
        if (!isfinite(value))
            return fail(a, "damaged: it holds a weight that is no number");
    }
    return 0;
}

/* Files of other programs lack the facts: 0 then. */
static int read_fact(const struct attempt *a, const struct safetensors_header *h, const char *key,
                     uint64_t most, uint64_t *out)
{
    const char *text = safetensors_fact(h, key);
    char *end = NULL;

    *out = 0;
    if (!text)
        return 0;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || *out > most)
        return fail(a, "damaged: its metadata say '%s' for %s", text, key);
    return 0;
}

static int read_facts(const struct attempt *a, const struct safetensors_header *h,
                      struct checkpoint_facts *facts)
{
    uint64_t epoch, seed, correct, all;

    if (read_fact(a, h, "epoch", INT32_MAX, &epoch) < 0 ||
        read_fact(a, h, "seed", UINT64_MAX, &seed) < 0 ||
        read_fact(a, h, "val_count", INT32_MAX, &all) < 0 ||
        read_fact(a, h, "val_correct", all, &correct) < 0)
        return -1;
    *facts = (struct checkpoint_facts){(int)epoch, seed, (int)correct, (int)all};
    return 0;
}

/* Tensors may lie in another order than ours. */
static void copy_tensors(struct network *net, const struct safetensors_header *found,
                         const unsigned char *data)
{
    const struct safetensors_header ours = header_of(net);

    for (int i = 0; i < ours.n_tensors; i++) {
        const struct safetensors_tensor *to = &ours.tensors[i];
        const struct safetensors_tensor *from = safetensors_find(found, to->name);
        memcpy((unsigned char *)net->parameters + to->begin_bytes, data + from->begin_bytes,
               to->end_bytes - to->begin_bytes);
    }
}

int checkpoint_load(struct network *net, struct checkpoint_facts *facts, const char *path,
                    char *error, size_t error_bytes)
{
    const struct attempt a = {path, error, error_bytes};
    const struct safetensors_header wanted = header_of(net);
    size_t data_bytes = net->n_parameters * sizeof(real);
    struct safetensors_header found;
    const unsigned char *data = NULL;
    struct file file = {0};
    int rc = -1;

    if (read_file(&a, LENGTH_BYTES + MAX_HEADER_BYTES + data_bytes, &file) < 0 ||
        read_header(&a, &file, &found, &data) < 0 || check_tensors(&a, &found, &wanted) < 0 ||
        check_data(&a, &found, data, data_bytes) < 0 || read_facts(&a, &found, facts) < 0)
        goto out;
    copy_tensors(net, &found, data);
    rc = 0;
out:
    free(file.bytes);
    return rc;
}
