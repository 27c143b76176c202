/* table.c: the table of activation records. Owns its columns; the texts, shapes, refs and
 * lists that records name by number are kept.c's.
 *
 * Columns are arrays of their own, grown together and made at the first record that needs them,
 * because most recorders write two statistics out of fourteen. They double by realloc(), which
 * moves pages of large blocks without touching them: what was not written is not resident. */
#include "read/activation/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { FIRST_RECORDS = 64, FIRST_SLOTS = 64 };

/* ---- Columns --------------------------------------------------------------------------------- */

struct column {
    size_t at;   /* of its pointer in the table */
    size_t from; /* of its field in a record */
    size_t size;
    uint32_t needed; /* by a record that has one of these fields, zero or not */
};

#define COLUMN(field, needed)                                                                      \
    {                                                                                              \
        offsetof(struct plumb_activations, field), offsetof(struct plumb_activation, field),       \
            sizeof(((struct plumb_activation *)0)->field), needed                                  \
    }
#define STAT(i) COLUMN(stat[i], 1u << (i))
#define NUMBER(i) COLUMN(number[i], 1u << (PLUMB_ACT_REALS + (i)))
static const struct column columns[] = {
    COLUMN(has, UINT32_MAX),
    COLUMN(module, UINT32_MAX),
    COLUMN(tensor, UINT32_MAX),
    COLUMN(parent, 0),
    COLUMN(phase, 0),
    COLUMN(dtype, 0),
    COLUMN(shape, 1u << PLUMB_ACT_SHAPE),
    COLUMN(file, 0),
    COLUMN(line, 0),
    COLUMN(error, 0),
    COLUMN(ref, 0),
    COLUMN(sample, 0),
    COLUMN(histogram, 0),
    COLUMN(call, 1u << PLUMB_ACT_CALL),
    COLUMN(rank, 1u << PLUMB_ACT_RANK),
    COLUMN(io, 1u << PLUMB_ACT_IO),
    COLUMN(step, 1u << PLUMB_ACT_STEP),
    COLUMN(seq, 1u << PLUMB_ACT_SEQ),
    STAT(0),
    STAT(1),
    STAT(2),
    STAT(3),
    STAT(4),
    STAT(5),
    STAT(6),
    STAT(7),
    NUMBER(0),
    NUMBER(1),
    NUMBER(2),
    NUMBER(3),
    NUMBER(4),
    NUMBER(5),
};
#undef COLUMN
#undef STAT
#undef NUMBER
enum { COLUMNS = sizeof columns / sizeof *columns, WIDEST = 8 };

static void *column_at(const struct plumb_activations *t, const struct column *c)
{
    void *data;
    memcpy(&data, (const char *)t + c->at, sizeof data);
    return data;
}

static void column_set(struct plumb_activations *t, const struct column *c, void *data)
{
    memcpy((char *)t + c->at, &data, sizeof data);
}

static void grow(struct plumb_activations *t)
{
    size_t capacity = t->capacity ? t->capacity * 2 : FIRST_RECORDS;
    if (capacity > SIZE_MAX / 2 / WIDEST) {
        t->failed = true;
        return;
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        void *data = column_at(t, &columns[i]);
        if (!data)
            continue;
        if (!(data = realloc(data, capacity * columns[i].size))) {
            t->failed = true;
            return;
        }
        column_set(t, &columns[i], data);
    }
    t->capacity = capacity;
}

static bool says_something(const void *value, size_t size)
{
    static const unsigned char zeros[WIDEST];
    return memcmp(value, zeros, size) != 0;
}

/* Makes a column of zeros. */
static char *column_make(struct plumb_activations *t, const struct column *c)
{
    char *data = calloc(t->capacity, c->size);
    if (data)
        column_set(t, c, data);
    t->failed |= !data;
    return data;
}

void plumb_activations_add(struct plumb_activations *t, const struct plumb_activation *r)
{
    if (!t->failed && t->count == t->capacity)
        grow(t);
    if (t->failed)
        return;
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        const char *value = (const char *)r + c->from;
        char *data = column_at(t, c);
        if (!data) {
            bool all_have = c->needed == UINT32_MAX;
            if (!all_have && !(r->has & c->needed) && !says_something(value, c->size))
                continue;
            if (!(data = column_make(t, c)))
                return;
        }
        if (c->size == 8)
            memcpy(data + t->count * 8, value, 8);
        else if (c->size == 4)
            memcpy(data + t->count * 4, value, 4);
        else
            data[t->count] = *value;
    }
    t->seen |= r->has;
    t->count++;
}

void plumb_activations_get(const struct plumb_activations *t, size_t i,
                           struct plumb_activation *out)
{
    memset(out, 0, sizeof *out);
    for (size_t c = 0; c < COLUMNS; c++) {
        const char *data = column_at(t, &columns[c]);
        if (data)
            memcpy((char *)out + columns[c].from, data + i * columns[c].size, columns[c].size);
    }
}

struct plumb_activation plumb_activation_of(struct plumb_activations *t, const char *module,
                                            const char *tensor, int64_t step)
{
    struct plumb_activation r = {0};
    r.module = plumb_activations_str_id(t, module);
    r.tensor = plumb_activations_str_id(t, tensor);
    if (step >= 0) {
        r.step = step;
        r.has = 1u << PLUMB_ACT_STEP;
    }
    return r;
}

void plumb_activations_init(struct plumb_activations *t)
{
    memset(t, 0, sizeof *t);
    t->path = "";
}

void plumb_activations_fini(struct plumb_activations *t)
{
    for (size_t i = 0; i < COLUMNS; i++)
        free(column_at(t, &columns[i]));
    free(t->texts);
    free(t->shapes);
    free(t->sizes);
    free(t->refs);
    free(t->items);
    free(t->text_index);
    free(t->shape_index);
    plumb_arena_fini(&t->arena);
    plumb_activations_init(t);
}

size_t plumb_activations_bytes(const struct plumb_activations *t)
{
    size_t record = 0;
    size_t text = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (column_at(t, &columns[i]))
            record += columns[i].size;
    for (uint32_t i = 0; i < t->text_count; i++)
        text += t->texts[i].size + 1;
    return record * t->count + text + t->text_count * sizeof *t->texts +
           t->shape_count * sizeof *t->shapes + t->size_count * sizeof *t->sizes +
           t->ref_count * sizeof *t->refs + t->item_count * sizeof *t->items +
           (t->text_slots + (size_t)t->shape_slots) * 4;
}

void plumb_activations_ref_set(struct plumb_activations *t, size_t i, uint32_t ref)
{
    for (size_t c = 0; c < COLUMNS && !t->ref && !t->failed; c++)
        if (columns[c].at == offsetof(struct plumb_activations, ref))
            column_make(t, &columns[c]);
    if (t->ref)
        t->ref[i] = ref;
}

/* ---- Order and calls ------------------------------------------------------------------------- */

struct place {
    int64_t rank;
    uint64_t seq;
    size_t at;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int64_t rank_of(const struct plumb_activations *t, size_t i)
{
    return t->rank ? t->rank[i] : 0;
}

/* Column by column through one buffer: a table of its size again would be too much. */
static void reorder(struct plumb_activations *t, const struct place *places)
{
    char *ordered = malloc(t->count * WIDEST);
    if (!ordered) {
        t->failed = true;
        return;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t size = columns[c].size;
        char *data = column_at(t, &columns[c]);
        if (!data)
            continue;
        for (size_t i = 0; i < t->count; i++)
            memcpy(ordered + i * size, data + places[i].at * size, size);
        memcpy(data, ordered, t->count * size);
    }
    free(ordered);
}

static bool same_tensor(const struct plumb_activations *t, size_t a, size_t b)
{
    return t->module[a] == t->module[b] && t->tensor[a] == t->tensor[b] &&
           (!t->io || t->io[a] == t->io[b]);
}

/* A number that comes again for the same tensor is that of another run in the same file. */
static bool is_one_run(const struct plumb_activations *t, const struct place *places)
{
    for (size_t i = 1; i < t->count; i++)
        if (places[i].rank == places[i - 1].rank && places[i].seq == places[i - 1].seq &&
            same_tensor(t, places[i].at, places[i - 1].at))
            return false;
    return true;
}

void plumb_activations_sort(struct plumb_activations *t)
{
    bool ordered = true;
    for (size_t i = 0; i < t->count; i++) {
        if (!plumb_activations_has(t, i, PLUMB_ACT_SEQ))
            return;
        ordered = ordered &&
                  (i == 0 || rank_of(t, i) > rank_of(t, i - 1) ||
                   (rank_of(t, i) == rank_of(t, i - 1) && (!t->seq || t->seq[i] >= t->seq[i - 1])));
    }
    if (ordered)
        return;
    struct place *places = malloc(t->count * sizeof *places);
    if (!places) {
        t->failed = true;
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        places[i] = (struct place){rank_of(t, i), t->seq ? t->seq[i] : 0, i};
    qsort(places, t->count, sizeof *places, by_place);
    if (is_one_run(t, places))
        reorder(t, places);
    free(places);
}

static uint32_t key_hash(const struct plumb_activations *t, size_t i)
{
    const uint64_t key[3] = {t->module[i] | (uint64_t)t->tensor[i] << 32,
                             t->step ? (uint64_t)t->step[i] : 0,
                             (t->phase ? t->phase[i] : 0) ^ (uint64_t)rank_of(t, i) << 40 ^
                                 (uint64_t)(t->io ? t->io[i] : 0) << 32};
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (int k = 0; k < 3; k++) {
        h = (h ^ key[k]) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

static bool same_key(const struct plumb_activations *t, size_t a, size_t b)
{
    uint32_t step = 1u << PLUMB_ACT_STEP;
    return same_tensor(t, a, b) && (t->has[a] & step) == (t->has[b] & step) &&
           (!t->step || t->step[a] == t->step[b]) && (!t->phase || t->phase[a] == t->phase[b]) &&
           rank_of(t, a) == rank_of(t, b);
}

/* The slots hold the newest record of each key, from 1; its number is known, and the next one's is
 * one more. */
void plumb_activations_number_calls(struct plumb_activations *t)
{
    const uint32_t call = 1u << PLUMB_ACT_CALL;
    size_t slots = FIRST_SLOTS;
    size_t missing = 0;
    for (size_t i = 0; i < t->count; i++)
        missing += !(t->has[i] & call);
    if (missing == 0)
        return;
    while (slots < t->count * 2)
        slots *= 2;
    size_t *newest = calloc(slots, sizeof *newest);
    if (!t->call)
        t->call = calloc(t->capacity, sizeof *t->call);
    if (!newest || !t->call) {
        t->failed = true;
        free(newest);
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t at = key_hash(t, i) & (slots - 1);
        while (newest[at] && !same_key(t, newest[at] - 1, i))
            at = (at + 1) & (slots - 1);
        if (!(t->has[i] & call)) {
            t->call[i] = newest[at] ? t->call[newest[at] - 1] + 1 : 0;
            t->has[i] |= call;
        }
        newest[at] = i + 1;
    }
    t->seen |= call;
    free(newest);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The first name of a field is plumb's; the others are those of other recorders. */
static const struct {
    const char *name;
    enum plumb_activation_field field;
} names[] = {
    {"abs_mean", PLUMB_ACT_ABS_MEAN}, {"sum", PLUMB_ACT_SUM},
    {"min", PLUMB_ACT_MIN},           {"max", PLUMB_ACT_MAX},
    {"mean", PLUMB_ACT_MEAN},         {"std", PLUMB_ACT_STD},
    {"rms", PLUMB_ACT_RMS},           {"l2", PLUMB_ACT_L2},
    {"nan", PLUMB_ACT_NAN},           {"inf", PLUMB_ACT_POS_INF},
    {"neg_inf", PLUMB_ACT_NEG_INF},   {"zeros", PLUMB_ACT_ZEROS},
    {"hash", PLUMB_ACT_HASH},         {"hash_any", PLUMB_ACT_HASH_ANY},
    {"step", PLUMB_ACT_STEP},         {"call", PLUMB_ACT_CALL},
    {"rank", PLUMB_ACT_RANK},         {"seq", PLUMB_ACT_SEQ},
    {"shape", PLUMB_ACT_SHAPE},       {"io", PLUMB_ACT_IO},
    {"Min", PLUMB_ACT_MIN},           {"Max", PLUMB_ACT_MAX},
    {"Mean", PLUMB_ACT_MEAN},         {"Norm", PLUMB_ACT_L2},
    {"pos_inf", PLUMB_ACT_POS_INF},
};

const char *plumb_activation_field_name(enum plumb_activation_field field)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].field == field)
            return names[i].name;
    return NULL;
}

int plumb_activation_field_of(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == size && memcmp(names[i].name, name, size) == 0)
            return names[i].field;
    return -1;
}

const char *plumb_activation_io_name(enum plumb_activation_io io)
{
    static const char *const io_names[] = {"out", "in", "grad", "param"};
    return (size_t)io < sizeof io_names / sizeof *io_names ? io_names[io] : "?";
}

const char *plumb_activation_format_name(enum plumb_activation_format f)
{
    static const char *const format_names[] = {"records",      "plumb JSONL",  "FastVideo JSONL",
                                               "msprobe dump", "NumPy arrays", "safetensors"};
    return (size_t)f < sizeof format_names / sizeof *format_names ? format_names[f] : "?";
}
