/* signature.h: the model of `timing_io_signature.json`: the inputs and outputs of each stage, by
 * shape and type. Its fields are those of docs/signature-json.md.
 *
 * libplumb fills it, the writer below makes the file, src/read/run reads it back. Owned as a whole:
 * every text and array lives in `arena` and dies with plumb_signature_fini(). Not shared between
 * threads. */
#ifndef PLUMB_MODEL_SIGNATURE_H
#define PLUMB_MODEL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum {
    PLUMB_SIGNATURE_SCHEMA = 1,
    PLUMB_SIGNATURE_DEPTH = 16 /* lists and mappings within each other */
};
#define PLUMB_SIGNATURE_FORMAT "plumb-signature"
#define PLUMB_SIGNATURE_FILE "timing_io_signature.json"
/* After the name of the stage as a file name: the inputs that PLUMB_CAPTURE kept of one call. */
#define PLUMB_CAPTURE_SUFFIX ".inputs.safetensors"

/* Of the finite values; those of src/tensor/value_stats.h. */
struct plumb_signature_stats {
    uint64_t n;                 /* values of any kind */
    uint64_t nan, inf, neg_inf; /* `inf` counts both signs */
    double min, max, mean, std; /* NaN: there is none */
};

struct plumb_signature_tensor {
    int64_t *shape; /* [ndim] */
    size_t ndim;
    const char *dtype, *device;
    int32_t requires_grad; /* 0, 1; -1: not known */
    int64_t *strides;      /* [ndim], in elements; NULL: compact, row-major, or not known */
    int64_t bytes;         /* of the elements; -1: not known */
    struct plumb_signature_stats *stats; /* NULL: not taken */
    const char *stats_error;             /* why they could not be; NULL: they were, or not asked */
};

enum plumb_signature_kind {
    PLUMB_SIGNATURE_NULL = 0,
    PLUMB_SIGNATURE_BOOL,
    PLUMB_SIGNATURE_INT,
    PLUMB_SIGNATURE_REAL,
    PLUMB_SIGNATURE_TEXT, /* a string, or the name of the type of something that is not shown */
    PLUMB_SIGNATURE_TENSOR,
    PLUMB_SIGNATURE_LIST,
    PLUMB_SIGNATURE_FIELDS /* a mapping of names to values */
};

struct plumb_signature_item;
struct plumb_signature_items { /* names differ */
    struct plumb_signature_item *at;
    size_t count;
};

struct plumb_signature_value {
    enum plumb_signature_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *text;
        struct plumb_signature_tensor *tensor;
        struct {
            struct plumb_signature_value *at;
            size_t count;
        } list;
        struct plumb_signature_items fields;
    } is;
};

struct plumb_signature_item {
    const char *name; /* "latents", "cond.text", "frames[3]": as the program gives it */
    struct plumb_signature_value value;
};

/* The values of a call, or of several calls of the same signature. */
struct plumb_signature_call {
    uint64_t count;         /* calls; of an entry of `distinct` */
    uint64_t dropped;       /* values of the last of them that did not fit */
    const char *request_id; /* that the last of them was for; NULL: none */
    struct plumb_signature_items inputs, outputs, metadata;
};

/* The inputs of one call with their values, in a file of their own. */
struct plumb_signature_capture {
    const char *file; /* its name, in the folder of the signature */
    int64_t step;     /* the one that was asked for; -1: none */
    uint64_t bytes;   /* of the values */
    uint64_t missing; /* inputs, or parts of them, that could not be kept */
};

struct plumb_signature_stage {
    const char *name;
    struct plumb_signature_capture *capture; /* NULL: there is none */
    uint64_t calls;
    struct plumb_signature_call last;      /* of the last call that succeeded */
    struct plumb_signature_call *distinct; /* first-seen order */
    size_t distinct_count;
    uint64_t other_calls; /* whose signatures were beyond the bound */
};

/* The values of the calls for one request. */
struct plumb_signature_request {
    const char *id;
    struct plumb_signature_stage *stages; /* names differ */
    size_t stage_count;
    uint64_t other_calls; /* whose signatures were beyond the bound */
};

struct plumb_signature {
    struct plumb_arena arena;
    bool foreign; /* read from a file that plumb did not write */
    uint32_t schema;
    const char *request_id;
    const char *timestamp; /* as it stands in the file */
    const char *plumb_version;
    uint32_t pid;
    int32_t rank;                         /* -1: not known */
    uint64_t lost_calls;                  /* that are nowhere here, for lack of memory */
    struct plumb_signature_stage *stages; /* of all calls; names differ */
    size_t stage_count;
    struct plumb_signature_request *requests; /* that are kept, in the order of their begins */
    size_t request_count;
};

void plumb_signature_init(struct plumb_signature *s);
void plumb_signature_fini(struct plumb_signature *s);

/* Appends timing_io_signature.json to `out`: strict JSON, indent 2. PLUMB_ERR_MEMORY. */
int plumb_signature_write(const struct plumb_signature *s, struct plumb_buf *out, plumb_error *err);

#endif
