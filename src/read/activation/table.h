/* table.h: the outputs of one run's layers as a table: a record for each tensor of each call of a
 * module, in the order of execution, whatever file they were read from.
 *
 *     struct plumb_activations t;
 *     plumb_activations_init(&t);
 *     struct plumb_activation r = plumb_activation_of(&t, "block.3.attn", "out", 0);
 *     plumb_activation_set(&r, PLUMB_ACT_ABS_MEAN, 0.8353);
 *     r.shape = plumb_activations_shape_id(&t, (int64_t[]){2, 4096}, 2);
 *     plumb_activations_add(&t, &r);
 *     if (t.failed) ...                                     (out of memory: asked once, at the end)
 *     plumb_activations_fini(&t);
 *
 * Names, types and shapes are kept once and stand in records as numbers (0: none), so that equal
 * numbers of one table are equal texts. Each field is a column of its own, which exists once a
 * record has the field (or, for a field that `has` does not cover, a value other than 0). A record
 * with two statistics takes some 70 bytes, one with everything 189; lists take 8 for each of their
 * numbers. Hot loops read columns in place (NULL: no record has the field, or all have 0); other
 * code calls plumb_activations_get().
 *
 * One thread at a time while it is filled; then any number of readers. */
#ifndef PLUMB_READ_ACTIVATION_TABLE_H
#define PLUMB_READ_ACTIVATION_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Statistics and the other fields of a record, in the order of docs/numerics.md. */
enum plumb_activation_field {
    /* Real numbers: `stat[]`. NaN and the infinities are values like any other, because other
     * recorders let one NaN swallow the figure. */
    PLUMB_ACT_ABS_MEAN = 0,
    PLUMB_ACT_SUM = 1,
    PLUMB_ACT_MIN = 2,
    PLUMB_ACT_MAX = 3,
    PLUMB_ACT_MEAN = 4,
    PLUMB_ACT_STD = 5, /* of a sample: n - 1 below */
    PLUMB_ACT_RMS = 6,
    PLUMB_ACT_L2 = 7,
    PLUMB_ACT_REALS = 8, /* how many of them there are */
    /* Whole numbers: `number[]` from PLUMB_ACT_NAN on. */
    PLUMB_ACT_NAN = 8, /* values that are NaN; the next two likewise */
    PLUMB_ACT_POS_INF = 9,
    PLUMB_ACT_NEG_INF = 10,
    PLUMB_ACT_ZEROS = 11,
    PLUMB_ACT_HASH = 12,       /* of the contents, in order */
    PLUMB_ACT_HASH_ANY = 13,   /* of the contents, in any order */
    PLUMB_ACT_STATISTICS = 14, /* how many fields are statistics or hashes */
    PLUMB_ACT_STEP = 16,
    PLUMB_ACT_CALL = 17,
    PLUMB_ACT_RANK = 18,
    PLUMB_ACT_SEQ = 19,
    PLUMB_ACT_SHAPE = 20, /* known, with 0 dimensions too */
    PLUMB_ACT_IO = 21     /* read from the file; without it `io` follows from the label */
};
enum { PLUMB_ACT_WHOLES = PLUMB_ACT_STATISTICS - PLUMB_ACT_REALS };

/* The ranges of plumb's histogram: [0] zeros, [1] magnitudes below 2^-32, [i] those from
 * 16^(i - 10) on, [19] from 2^36 on. */
enum { PLUMB_ACT_BINS = 20 };

enum plumb_activation_io {
    PLUMB_ACT_OUT = 0,
    PLUMB_ACT_IN = 1,
    PLUMB_ACT_GRAD = 2,
    PLUMB_ACT_PARAM = 3 /* weights of the module, as they were at the call */
};

enum plumb_activation_format {
    PLUMB_ACT_FORMAT_NONE = 0, /* built by hand */
    PLUMB_ACT_FORMAT_PLUMB = 1,
    PLUMB_ACT_FORMAT_FASTVIDEO = 2,
    PLUMB_ACT_FORMAT_MSPROBE = 3,
    PLUMB_ACT_FORMAT_NPY = 4,
    PLUMB_ACT_FORMAT_SAFETENSORS = 5
};

/* Where the values of a tensor lie: compact in memory order of `shape`, or of the shape reversed
 * (`fortran`). */
struct plumb_activation_ref {
    uint32_t file;  /* text: a path that can be opened from here */
    uint32_t dtype; /* text: as tensor/dtype.h spells it */
    uint32_t shape;
    uint8_t fortran;
    uint8_t reserved[3];
    uint64_t offset; /* of the first byte in the file */
    uint64_t bytes;
};

/* One record. Numbers that name a text, a shape or a ref are those of its table; 0: none. */
struct plumb_activation {
    uint32_t has;    /* 1u << enum plumb_activation_field, added up */
    uint32_t module; /* the dotted path, without the engine's own prefixes: "blocks.3.attn" */
    uint32_t tensor; /* "out", "out[1]", "out.key", "in[0]", "param.weight", ... */
    uint32_t parent; /* module that called this one, where the recorder wrote a tree */
    uint32_t phase;
    uint32_t dtype; /* as tensor/dtype.h spells it: no "torch." */
    uint32_t shape;
    uint32_t file; /* the line of source that ran it, where the recorder wrote stacks */
    uint32_t line;
    uint32_t error;     /* why a statistic is missing */
    uint32_t ref;       /* plumb_activations.refs, from 1 */
    uint32_t sample;    /* lists: values at equal distances, the first and the last among them */
    uint32_t histogram; /* and how many lie in each range of magnitudes (PLUMB_ACT_BINS of plumb) */
    uint32_t call;      /* of this module in this step, from 0 */
    int32_t rank;
    uint8_t io; /* enum plumb_activation_io */
    int64_t step;
    uint64_t seq;
    double stat[PLUMB_ACT_REALS];
    uint64_t number[PLUMB_ACT_WHOLES]; /* field PLUMB_ACT_REALS + i */
};

struct plumb_activation_shape {
    uint32_t at; /* in plumb_activations.sizes */
    uint32_t ndim;
};

struct plumb_activation_text {
    const char *text; /* NUL-terminated, and without NUL inside */
    uint32_t size;
    uint32_t hash;
};

struct plumb_activations {
    size_t count; /* records */
    /* Columns, [count] each, or NULL. The first three are always there once there are records. */
    uint32_t *has, *module, *tensor;
    uint32_t *parent, *phase, *dtype, *shape, *file, *line, *error, *ref, *call;
    uint32_t *sample, *histogram;
    int32_t *rank;
    uint8_t *io;
    int64_t *step;
    uint64_t *seq;
    double *stat[PLUMB_ACT_REALS];
    uint64_t *number[PLUMB_ACT_WHOLES];

    struct plumb_activation_text *texts; /* [text_count]; 0 is "" */
    uint32_t text_count;
    struct plumb_activation_shape *shapes; /* [shape_count]; 0 is that of no dimensions */
    uint32_t shape_count;
    int64_t *sizes;
    uint32_t size_count;
    struct plumb_activation_ref *refs; /* [ref_count]; 0: none */
    uint32_t ref_count;
    double *items; /* of lists: how many, then they; [item_count] */
    uint32_t item_count;

    const char *path; /* that was read, or "" */
    enum plumb_activation_format format;
    uint32_t seen; /* `has` of all records, or-ed together */
    bool failed;   /* out of memory: what was added since is not in it */

    /* Private to table.c. */
    size_t capacity;
    uint32_t text_cap, shape_cap, size_cap, ref_cap, item_cap, text_slots, shape_slots;
    uint32_t *text_index, *shape_index;
    struct plumb_arena arena; /* of texts; readers may put theirs into it */
};

/* ---- Filling --------------------------------------------------------------------------------- */

void plumb_activations_init(struct plumb_activations *t);
void plumb_activations_fini(struct plumb_activations *t);

/* The number of a text, which is copied at its first sight; 0 for an empty one, and when there is
 * no memory (`failed`). A NUL inside ends it. */
uint32_t plumb_activations_text_id(struct plumb_activations *t, const char *text, size_t size);
uint32_t plumb_activations_str_id(struct plumb_activations *t, const char *text); /* NULL: 0 */
uint32_t plumb_activations_shape_id(struct plumb_activations *t, const int64_t *sizes, size_t ndim);
uint32_t plumb_activations_ref_add(struct plumb_activations *t,
                                   const struct plumb_activation_ref *ref);
/* Says where the values of record `i` lie. */
void plumb_activations_ref_set(struct plumb_activations *t, size_t i, uint32_t ref);

/* A record of output without statistics, for tests and readers. `step` < 0: no step is known. */
struct plumb_activation plumb_activation_of(struct plumb_activations *t, const char *module,
                                            const char *tensor, int64_t step);
/* Both also say that the record has it. */
static inline void plumb_activation_set(struct plumb_activation *r,
                                        enum plumb_activation_field real, double value)
{
    r->stat[real] = value;
    r->has |= 1u << real;
}
static inline void plumb_activation_set_whole(struct plumb_activation *r,
                                              enum plumb_activation_field whole, uint64_t value)
{
    r->number[whole - PLUMB_ACT_REALS] = value;
    r->has |= 1u << whole;
}

/* Appends a record. Fields that `has` does not name are 0 in the table. */
void plumb_activations_add(struct plumb_activations *t, const struct plumb_activation *r);

/* A list of `n` numbers, of which a record may have two; 0 of none. */
uint32_t plumb_activations_list_add(struct plumb_activations *t, const double *numbers, size_t n);

/* Makes `out` (initialised) a table without records that has the numbers of `t` for texts, shapes
 * and refs, so that records of `t` can be added to it. Out of memory sets `failed`. */
void plumb_activations_like(struct plumb_activations *out, const struct plumb_activations *t);

/* Brings records into the order of execution: by `seq` within what has one. Stable. Readers do it
 * once at the end. */
void plumb_activations_sort(struct plumb_activations *t);

/* Numbers the calls of each (rank, step, phase, module, tensor) from 0 where the recorder did not:
 * afterwards these, with `call`, name a record. Readers do it once at the end. */
void plumb_activations_number_calls(struct plumb_activations *t);

/* ---- Reading --------------------------------------------------------------------------------- */

/* Record `i`, gathered from the columns. */
void plumb_activations_get(const struct plumb_activations *t, size_t i,
                           struct plumb_activation *out);

static inline const char *plumb_activations_text(const struct plumb_activations *t, uint32_t id)
{
    return id < t->text_count ? t->texts[id].text : "";
}
static inline bool plumb_activations_has(const struct plumb_activations *t, size_t i,
                                         enum plumb_activation_field field)
{
    return t->has[i] >> field & 1;
}
/* Returns a real statistic of record `i`; NaN when it has none. plumb_activations_has()
 * distinguishes that from a statistic that is NaN. */
static inline double plumb_activations_stat(const struct plumb_activations *t, size_t i,
                                            enum plumb_activation_field real)
{
    if (!plumb_activations_has(t, i, real))
        return (double)NAN;
    return t->stat[real] ? t->stat[real][i] : 0;
}
static inline uint64_t plumb_activations_whole(const struct plumb_activations *t, size_t i,
                                               enum plumb_activation_field whole)
{
    const uint64_t *column = t->number[whole - PLUMB_ACT_REALS];
    return column && plumb_activations_has(t, i, whole) ? column[i] : 0;
}
/* The sizes of a shape; *ndim of them. */
static inline const int64_t *plumb_activations_shape(const struct plumb_activations *t, uint32_t id,
                                                     size_t *ndim)
{
    *ndim = id < t->shape_count ? t->shapes[id].ndim : 0;
    return id < t->shape_count ? t->sizes + t->shapes[id].at : NULL;
}
/* The numbers of a list; *n of them. `column` is that of the field, or NULL. */
static inline const double *plumb_activations_list(const struct plumb_activations *t,
                                                   const uint32_t *column, size_t i, size_t *n)
{
    uint32_t list = column ? column[i] : 0;
    *n = list > 0 && list < t->item_count ? (size_t)t->items[list - 1] : 0;
    return *n ? t->items + list : NULL;
}
/* Elements of a shape; 1 without dimensions, UINT64_MAX where the product is larger. */
uint64_t plumb_activations_elements(const struct plumb_activations *t, uint32_t shape);

/* Bytes that the records, texts and shapes take. */
size_t plumb_activations_bytes(const struct plumb_activations *t);

/* "abs_mean", "hash", ...: the name of a statistic in JSON and on the command line; NULL: none.
 * The number of a name, with the spellings of other recorders ("Norm" is l2), or -1. */
const char *plumb_activation_field_name(enum plumb_activation_field field);
int plumb_activation_field_of(const char *name, size_t size);

const char *plumb_activation_io_name(enum plumb_activation_io io);        /* "out", "in", ... */
const char *plumb_activation_format_name(enum plumb_activation_format f); /* for people */

#endif
