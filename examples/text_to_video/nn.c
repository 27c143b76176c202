/* Owns the oneDNN engine and the arena that all weights and activations live in.
 *
 * Invariants: chunks up to `current` are in use, those after it are empty and are used again later;
 * a tensor never moves. One thread only.
 *
 * Why an arena and not malloc: activations are many megabytes, and malloc would give each back to
 * the kernel and fault it in again in every layer of every step. */
#include "nn.h"

#include <plumb/plumb.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT_BYTES = 64, CHUNK_BYTES = 16 << 20 };

struct nn_chunk {
    struct nn_chunk *next;
    size_t size_bytes;
    size_t used_bytes;
    unsigned char *data;
};

/* Returns whether oneDNN multiplies matrices of bfloat16 on this processor, which needs AVX-512 at
 * least. Where it does, it has the other operations too. */
static bool has_bf16(const struct nn *nn)
{
    const dnnl_dims_t dims = {16, 16};
    dnnl_memory_desc_t matrix;
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t desc = NULL;
    bool has = dnnl_memory_desc_init_by_tag(&matrix, 2, dims, dnnl_bf16, dnnl_ab) == dnnl_success &&
               dnnl_matmul_desc_init(&op, &matrix, &matrix, NULL, &matrix) == dnnl_success &&
               dnnl_primitive_desc_create(&desc, &op, NULL, nn->engine, NULL) == dnnl_success;

    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return has;
}

int nn_init(struct nn *nn, enum element precision)
{
    memset(nn, 0, sizeof(*nn));
    nn->step = -1;
    nn->activations = precision;
    nn->weights = precision == ELEMENT_BF16 ? ELEMENT_BF16 : ELEMENT_F32;
    if (dnnl_engine_create(&nn->engine, dnnl_cpu, 0) != dnnl_success)
        nn_fail(nn, "oneDNN cannot create a CPU engine");
    else if (dnnl_stream_create(&nn->stream, nn->engine, dnnl_stream_default_flags) != dnnl_success)
        nn_fail(nn, "oneDNN cannot create a stream");
    else
        nn->rounds = precision == ELEMENT_F16 || (precision == ELEMENT_BF16 && !has_bf16(nn));
    return nn_failed(nn) ? -1 : 0;
}

void nn_fini(struct nn *nn)
{
    nn_release(nn, (struct nn_mark){NULL, 0, 0});
    free(nn->tensors);
    free(nn->parameters);
    while (nn->chunks) {
        struct nn_chunk *next = nn->chunks->next;
        plumb_mem_release("cpu", "tensors", nn->chunks->data, nn->chunks->size_bytes);
        free(nn->chunks->data);
        free(nn->chunks);
        nn->chunks = next;
    }
    if (nn->stream)
        dnnl_stream_destroy(nn->stream);
    if (nn->engine)
        dnnl_engine_destroy(nn->engine);
    memset(nn, 0, sizeof(*nn));
}

bool nn_failed(const struct nn *nn)
{
    return nn->error[0] != '\0';
}

void nn_fail(struct nn *nn, const char *format, ...)
{
    va_list args;

    if (nn_failed(nn))
        return;
    va_start(args, format);
    vsnprintf(nn->error, sizeof(nn->error), format, args);
    va_end(args);
}

void nn_check_finite(struct nn *nn, const struct tensor *t, const char *what)
{
    int64_t count = tensor_count(t);

    if (nn_failed(nn))
        return;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(tensor_get(t, i))) {
            nn_fail(nn, "%s: element %lld of %lld is not finite", what, (long long)i,
                    (long long)count);
            return;
        }
    }
}

/* Inserts a new chunk directly after `current`, so that the empty chunks after it stay
 * reachable. */
static struct nn_chunk *add_chunk(struct nn *nn, size_t least_bytes)
{
    size_t size_bytes = least_bytes > CHUNK_BYTES ? least_bytes : CHUNK_BYTES;
    struct nn_chunk *chunk = calloc(1, sizeof(*chunk));
    unsigned char *data = aligned_alloc(ALIGNMENT_BYTES, size_bytes);

    if (!chunk || !data) {
        nn_fail(nn, "out of memory: %zu MiB more were needed", size_bytes >> 20);
        free(chunk);
        free(data);
        return NULL;
    }
    plumb_mem_reserve("cpu", "tensors", data, size_bytes);
    chunk->size_bytes = size_bytes;
    chunk->data = data;
    chunk->next = nn->current ? nn->current->next : nn->chunks;
    if (nn->current)
        nn->current->next = chunk;
    else
        nn->chunks = chunk;
    return chunk;
}

/* Makes the list long enough for one tensor more. */
static bool can_remember(struct nn *nn)
{
    size_t room = nn->tensor_room ? 2 * nn->tensor_room : 256;
    void **tensors;

    if (nn->tensor_count < nn->tensor_room)
        return true;
    tensors = realloc(nn->tensors, room * sizeof(*tensors));
    if (!tensors) {
        nn_fail(nn, "out of memory: no room for %zu tensors", room);
        return false;
    }
    nn->tensors = tensors;
    nn->tensor_room = room;
    return true;
}

static void *allocate(struct nn *nn, size_t least_bytes)
{
    size_t bytes = (least_bytes + ALIGNMENT_BYTES - 1) & ~(size_t)(ALIGNMENT_BYTES - 1);
    struct nn_chunk *chunk = nn->current;
    unsigned char *data;

    if (nn_failed(nn) || !can_remember(nn))
        return NULL;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < bytes) {
        struct nn_chunk *next = chunk ? chunk->next : nn->chunks;
        chunk = next && next->size_bytes >= bytes ? next : add_chunk(nn, bytes);
        if (!chunk)
            return NULL;
        chunk->used_bytes = 0;
        nn->current = chunk;
    }
    data = chunk->data + chunk->used_bytes;
    chunk->used_bytes += bytes;
    nn->tensors[nn->tensor_count++] = data;
    plumb_mem_alloc("cpu", "tensors", data, bytes);
    return data;
}

static void set_row_major(struct tensor *t, int ndims, const int64_t *dims)
{
    int64_t stride = 1;

    t->ndims = ndims;
    for (int i = ndims - 1; i >= 0; i--) {
        t->dims[i] = dims[i];
        t->strides[i] = stride;
        stride *= dims[i];
    }
}

struct tensor nn_tensor_of(struct nn *nn, enum element type, int ndims, const int64_t *dims)
{
    struct tensor t = {.type = type};

    set_row_major(&t, ndims, dims);
    t.data = allocate(nn, (size_t)tensor_count(&t) * element_bytes(type));
    return t;
}

struct tensor nn_tensor(struct nn *nn, int ndims, const int64_t *dims)
{
    return nn_tensor_of(nn, nn->activations, ndims, dims);
}

struct tensor nn_matrix(struct nn *nn, int64_t rows, int64_t columns)
{
    return nn_tensor(nn, 2, (const int64_t[]){rows, columns});
}

void nn_name(struct nn *nn, const char *model, const char *part, const struct tensor *t)
{
    size_t room = nn->parameter_room ? 2 * nn->parameter_room : 128;
    struct nn_parameter *p;

    if (nn_failed(nn))
        return;
    if (nn->parameter_count == nn->parameter_room) {
        p = realloc(nn->parameters, room * sizeof(*p));
        if (!p) {
            nn_fail(nn, "out of memory: no room for %zu names", room);
            return;
        }
        nn->parameters = p;
        nn->parameter_room = room;
    }
    p = &nn->parameters[nn->parameter_count++];
    p->tensor = *t;
    snprintf(p->name, sizeof(p->name), "%s.%s", model, part);
}

struct nn_mark nn_mark(const struct nn *nn)
{
    return (struct nn_mark){nn->current, nn->current ? nn->current->used_bytes : 0,
                            nn->tensor_count};
}

void nn_release(struct nn *nn, struct nn_mark mark)
{
    while (nn->tensor_count > mark.tensors)
        plumb_mem_free("cpu", "tensors", nn->tensors[--nn->tensor_count], 0);
    nn->current = mark.chunk;
    if (mark.chunk)
        mark.chunk->used_bytes = mark.used_bytes;
}

int64_t tensor_count(const struct tensor *t)
{
    int64_t count = 1;

    for (int i = 0; i < t->ndims; i++)
        count *= t->dims[i];
    return count;
}

/* `data` from element `first` on. */
static void *data_from(const struct tensor *t, int64_t first)
{
    unsigned char *data = t->data;

    return data ? data + first * (int64_t)element_bytes(t->type) : NULL;
}

struct tensor tensor_part(const struct tensor *row, int64_t first, int64_t n)
{
    struct tensor t = {.type = row->type};

    set_row_major(&t, 1, &n);
    t.data = data_from(row, first);
    return t;
}

struct tensor tensor_heads(const struct tensor *matrix, int64_t first, int64_t heads, int64_t width)
{
    return (struct tensor){
        .ndims = 3,
        .dims = {heads, matrix->dims[0], width},
        .strides = {width, matrix->strides[0], 1},
        .data = data_from(matrix, first),
        .type = matrix->type,
    };
}

struct tensor tensor_transposed(const struct tensor *t)
{
    struct tensor u = *t;
    int last = t->ndims - 1;

    u.dims[last] = t->dims[last - 1];
    u.dims[last - 1] = t->dims[last];
    u.strides[last] = t->strides[last - 1];
    u.strides[last - 1] = t->strides[last];
    return u;
}

DLTensor tensor_dlpack(struct tensor *t)
{
    static const DLDataType types[] = {
        [ELEMENT_F32] = {.code = kDLFloat, .bits = 32, .lanes = 1},
        [ELEMENT_BF16] = {.code = kDLBfloat, .bits = 16, .lanes = 1},
        [ELEMENT_F16] = {.code = kDLFloat, .bits = 16, .lanes = 1},
    };

    return (DLTensor){.data = t->data,
                      .device = {.device_type = kDLCPU},
                      .ndim = t->ndims,
                      .dtype = types[t->type],
                      .shape = t->dims,
                      .strides = t->strides};
}
