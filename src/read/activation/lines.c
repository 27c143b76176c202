/* lines.c: reads JSONL of activation records, plumb's and FastVideo's. The two differ in the fields
 * that a record has in addition to its statistics, and in the spelling of NaN. Any order of fields
 * is read.
 *
 * The text is read in pieces, and no piece is kept: a table of a million records takes a third of
 * the size of its file. Three things repeat so often that they are compared before they are parsed:
 * names of fields (the scan does it), the spelling of a module's shape, and short texts like a
 * dtype. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/activation/parts.h"
#include "read/json/scan.h"

enum {
    PIECE = 1 << 20,
    LONGEST_LINE = 64 << 20,
    SHAPES = 256,
    SHAPE_BYTES = 56,
    MAX_DIMS = 64,
    MAX_LIST = 64,
    SHORT = 24
};

/* Fields other than statistics; their numbers follow those of enum plumb_activation_field. */
enum {
    FIELD_MODULE = 32,
    FIELD_TENSOR,
    FIELD_PHASE,
    FIELD_DTYPE,
    FIELD_ERROR,
    FIELD_FILE,
    FIELD_LINE,
    FIELD_PARENT,
    FIELD_SAMPLE,
    FIELD_HISTOGRAM,
    FIELD_OTHER = 62,
    FIELD_UNKNOWN = 63 /* the slot was not looked up yet */
};

struct spelled_shape {
    char text[SHAPE_BYTES];
    uint32_t size, id;
};

struct lines {
    struct plumb_activations *t;
    struct plumb_json_scan scan;
    const char *name;
    const struct plumb_activation_source *from;
    plumb_error *err;
    int rc;
    struct plumb_activation r;
    uint64_t fields; /* that this record had */
    uint64_t slots;  /* likewise, with those that mean nothing to us */
    uint8_t field_of[PLUMB_JSON_SLOTS];
    uint32_t last_text[PLUMB_JSON_SLOTS]; /* by slot */
    struct spelled_shape shapes[SHAPES];  /* by module */
    char *buffer;
    size_t capacity;
};

/* ---- Faults ---------------------------------------------------------------------------------- */

static void fault(struct lines *in, const char *field, const char *what)
{
    uint64_t line;
    uint64_t column;
    if (in->rc < 0)
        return;
    plumb_json_scan_place(&in->scan, &line, &column);
    in->rc = plumb_fail(in->err, PLUMB_ERR_FORMAT, "'%s' line %llu: '%.40s' %s", in->name,
                        (unsigned long long)line, field, what);
}

static void fault_here(struct lines *in, const char *what)
{
    char name[48];
    size_t n = in->scan.key_size < sizeof name - 1 ? in->scan.key_size : sizeof name - 1;
    memcpy(name, in->scan.key, n);
    name[n] = '\0';
    fault(in, name, what);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int field_named(const char *name, size_t size)
{
    static const struct {
        const char *name;
        int field;
    } known[] = {
        {"module", FIELD_MODULE},       {"tensor", FIELD_TENSOR}, {"phase", FIELD_PHASE},
        {"dtype", FIELD_DTYPE},         {"error", FIELD_ERROR},   {"file", FIELD_FILE},
        {"line", FIELD_LINE},           {"parent", FIELD_PARENT}, {"sample", FIELD_SAMPLE},
        {"histogram", FIELD_HISTOGRAM},
    };
    int field = plumb_activation_field_of(name, size);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == size && memcmp(known[i].name, name, size) == 0)
            return known[i].field;
    return field < 0 ? FIELD_OTHER : field;
}

/* A call would take longer than the comparison. */
static bool same_short(const char *known, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (known[i] != text[i])
            return false;
    return true;
}

static uint32_t text_id(struct lines *in)
{
    const struct plumb_json_scan *s = &in->scan;
    if (s->slot != PLUMB_JSON_NO_SLOT) {
        uint32_t last = in->last_text[s->slot];
        if (last && in->t->texts[last].size == s->size && s->size < SHORT &&
            same_short(in->t->texts[last].text, s->text, s->size))
            return last;
    }
    uint32_t id = plumb_activations_text_id(in->t, s->text, s->size);
    if (!in->t->failed && in->t->texts[id].size != s->size)
        fault_here(in, "holds a NUL character");
    if (s->slot != PLUMB_JSON_NO_SLOT)
        in->last_text[s->slot] = id;
    return id;
}

static void read_text(struct lines *in, uint32_t *out)
{
    if (in->scan.token == PLUMB_JSON_STRING)
        *out = text_id(in);
    else if (in->scan.token != PLUMB_JSON_NULL)
        fault_here(in, "is not a string");
}

static void read_dtype(struct lines *in)
{
    const struct plumb_json_scan *s = &in->scan;
    if (s->token == PLUMB_JSON_STRING && s->size > 6 && memcmp(s->text, "torch.", 6) == 0)
        in->r.dtype = plumb_activation_dtype(in->t, s->text, s->size);
    else
        read_text(in, &in->r.dtype);
}

/* The values that JSON has no number for, as plumb and others spell them. */
static bool is_word(const struct plumb_json_scan *s, double *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {
        {"NaN", NAN},
        {"nan", NAN},
        {"Infinity", INFINITY},
        {"inf", INFINITY},
        {"-Infinity", -INFINITY},
        {"-inf", -INFINITY},
    };
    for (size_t i = 0; s->token == PLUMB_JSON_STRING && i < sizeof words / sizeof *words; i++) {
        if (plumb_json_text_is(s, words[i].word)) {
            *value = words[i].value;
            return true;
        }
    }
    return false;
}

/* A statistic that could not be computed is a text that says why; other statistics go on. */
static void read_no_number(struct lines *in, bool real, double *value, bool *known)
{
    struct plumb_json_scan *s = &in->scan;
    *known = false;
    if (s->token == PLUMB_JSON_NULL)
        return;
    if (s->token == PLUMB_JSON_STRING && s->size > 0 && s->text[0] == '<')
        in->r.error = text_id(in);
    else if (!real || !(*known = is_word(s, value)))
        fault_here(in, "is not a number");
}

static void read_real(struct lines *in, int field)
{
    double value = in->scan.number.real;
    bool known = true;
    if (in->scan.token != PLUMB_JSON_NUMBER)
        read_no_number(in, true, &value, &known);
    if (known)
        plumb_activation_set(&in->r, (enum plumb_activation_field)field, value);
}

/* A hash is a number, or 16 hexadecimal digits: many readers of JSON keep 53 bits. */
static bool read_hex(const struct plumb_json_scan *s, uint64_t *value)
{
    size_t i = s->size > 2 && s->text[0] == '0' && (s->text[1] | 0x20) == 'x' ? 2 : 0;
    *value = 0;
    if (s->token != PLUMB_JSON_STRING || s->size == i || s->size - i > 16)
        return false;
    for (; i < s->size; i++) {
        char c = s->text[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return false;
        *value = *value << 4 | (unsigned)d;
    }
    return true;
}

/* A whole number from `min` to `max`; false: there is none, or it was a fault. */
static bool read_whole(struct lines *in, int64_t min, uint64_t max, uint64_t *value)
{
    const struct plumb_json_number *n = &in->scan.number;
    bool known;
    if (in->scan.token != PLUMB_JSON_NUMBER) {
        read_no_number(in, false, NULL, &known);
        return false;
    }
    bool negative = n->kind == PLUMB_JSON_NUMBER_INT && (int64_t)n->whole < 0;
    if (n->kind > PLUMB_JSON_NUMBER_UINT || (negative ? (int64_t)n->whole < min : n->whole > max)) {
        fault_here(in, "is not a whole number, or out of range");
        return false;
    }
    *value = n->whole;
    return true;
}

static void read_count(struct lines *in, int field)
{
    uint64_t value;
    bool hash = field == PLUMB_ACT_HASH || field == PLUMB_ACT_HASH_ANY;
    if ((hash && read_hex(&in->scan, &value)) || read_whole(in, 0, UINT64_MAX, &value))
        plumb_activation_set_whole(&in->r, (enum plumb_activation_field)field, value);
}

static void read_sizes(struct lines *in, struct spelled_shape *spelled)
{
    struct plumb_json_scan *s = &in->scan;
    const char *begin = plumb_json_here(s);
    int64_t sizes[MAX_DIMS];
    size_t n = 0;
    while (plumb_json_next(s) == PLUMB_JSON_NUMBER) {
        if (n == MAX_DIMS || s->number.kind != PLUMB_JSON_NUMBER_INT ||
            (int64_t)s->number.whole < 0) {
            fault(in, "shape", "is not a list of at most 64 sizes");
            return;
        }
        sizes[n++] = (int64_t)s->number.whole;
    }
    if (s->token != PLUMB_JSON_ARRAY_END) {
        if (s->token != PLUMB_JSON_ERROR)
            fault(in, "shape", "is not a list of at most 64 sizes");
        return;
    }
    in->r.shape = plumb_activations_shape_id(in->t, sizes, n);
    size_t size = (size_t)(plumb_json_here(s) - begin);
    if (size <= SHAPE_BYTES) {
        memcpy(spelled->text, begin, size);
        spelled->size = (uint32_t)size;
        spelled->id = in->r.shape;
    }
}

static void read_shape(struct lines *in)
{
    struct spelled_shape *spelled = &in->shapes[(in->r.module ^ in->r.tensor << 4) % SHAPES];
    bool known;
    if (in->scan.token != PLUMB_JSON_ARRAY) {
        read_no_number(in, false, NULL, &known);
        return;
    }
    in->r.has |= 1u << PLUMB_ACT_SHAPE;
    if (spelled->size && plumb_json_pass_same(&in->scan, spelled->text, spelled->size))
        in->r.shape = spelled->id;
    else
        read_sizes(in, spelled);
}

/* Numbers, or the words for what JSON has none for. */
static void read_list(struct lines *in, const char *field, uint32_t *out)
{
    static const char what[] = "is not a list of at most 64 numbers";
    struct plumb_json_scan *s = &in->scan;
    double numbers[MAX_LIST];
    size_t n = 0;
    if (s->token != PLUMB_JSON_ARRAY) {
        if (s->token == PLUMB_JSON_STRING && s->size > 0 && s->text[0] == '<')
            in->r.error = text_id(in);
        else if (s->token != PLUMB_JSON_NULL)
            fault(in, field, what);
        return;
    }
    while (plumb_json_next(s) == PLUMB_JSON_NUMBER || s->token == PLUMB_JSON_STRING) {
        double value = s->number.real;
        if (n == MAX_LIST || (s->token != PLUMB_JSON_NUMBER && !is_word(s, &value))) {
            fault(in, field, what);
            return;
        }
        numbers[n++] = value;
    }
    if (s->token == PLUMB_JSON_ARRAY_END)
        *out = plumb_activations_list_add(in->t, numbers, n);
    else if (s->token != PLUMB_JSON_ERROR)
        fault(in, field, what);
}

static void read_io(struct lines *in)
{
    const struct plumb_json_scan *s = &in->scan;
    if (s->token == PLUMB_JSON_NULL)
        return;
    in->r.has |= 1u << PLUMB_ACT_IO;
    if (s->token == PLUMB_JSON_STRING && s->size == 3 && memcmp(s->text, "out", 3) == 0)
        return;
    for (int io = PLUMB_ACT_OUT; io <= PLUMB_ACT_PARAM; io++) {
        if (plumb_json_text_is(s, plumb_activation_io_name((enum plumb_activation_io)io))) {
            in->r.io = (uint8_t)io;
            return;
        }
    }
    fault_here(in, "is not one of \"out\", \"in\", \"grad\" and \"param\"");
}

static void read_place(struct lines *in, int field)
{
    uint64_t value;
    bool read = field == PLUMB_ACT_STEP   ? read_whole(in, INT64_MIN, INT64_MAX, &value)
                : field == PLUMB_ACT_CALL ? read_whole(in, 0, UINT32_MAX, &value)
                : field == PLUMB_ACT_RANK ? read_whole(in, INT32_MIN, INT32_MAX, &value)
                                          : read_whole(in, 0, UINT64_MAX, &value);
    if (!read)
        return;
    in->r.has |= 1u << field;
    if (field == PLUMB_ACT_STEP)
        in->r.step = (int64_t)value;
    else if (field == PLUMB_ACT_CALL)
        in->r.call = (uint32_t)value;
    else if (field == PLUMB_ACT_RANK)
        in->r.rank = (int32_t)(int64_t)value;
    else
        in->r.seq = value;
}

static void read_field(struct lines *in, int field)
{
    uint64_t line;
    switch (field) {
    case FIELD_MODULE:
        read_text(in, &in->r.module);
        break;
    case FIELD_TENSOR:
        read_text(in, &in->r.tensor);
        break;
    case FIELD_PHASE:
        read_text(in, &in->r.phase);
        break;
    case FIELD_DTYPE:
        read_dtype(in);
        break;
    case FIELD_ERROR:
        read_text(in, &in->r.error);
        break;
    case FIELD_FILE:
        read_text(in, &in->r.file);
        break;
    case FIELD_PARENT:
        read_text(in, &in->r.parent);
        break;
    case FIELD_LINE:
        if (read_whole(in, 0, UINT32_MAX, &line))
            in->r.line = (uint32_t)line;
        break;
    case FIELD_SAMPLE:
        read_list(in, "sample", &in->r.sample);
        break;
    case FIELD_HISTOGRAM:
        read_list(in, "histogram", &in->r.histogram);
        break;
    case PLUMB_ACT_SHAPE:
        read_shape(in);
        break;
    case PLUMB_ACT_IO:
        read_io(in);
        break;
    case FIELD_OTHER:
        plumb_json_skip(&in->scan);
        break;
    default:
        if (field < PLUMB_ACT_REALS)
            read_real(in, field);
        else if (field < PLUMB_ACT_STATISTICS)
            read_count(in, field);
        else
            read_place(in, field);
    }
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The field of the member that the scan stands at. */
static int field_here(struct lines *in)
{
    const struct plumb_json_scan *s = &in->scan;
    uint64_t slot_bit = 0;
    int field;
    if (s->slot == PLUMB_JSON_NO_SLOT) {
        field = field_named(s->key, s->key_size);
    } else {
        if (in->field_of[s->slot] == FIELD_UNKNOWN)
            in->field_of[s->slot] = (uint8_t)field_named(s->key, s->key_size);
        field = in->field_of[s->slot];
        slot_bit = UINT64_C(1) << s->slot;
    }
    uint64_t field_bit = field == FIELD_OTHER ? 0 : UINT64_C(1) << field;
    if ((in->fields & field_bit) | (in->slots & slot_bit))
        fault_here(in, "comes twice in one record");
    in->fields |= field_bit;
    in->slots |= slot_bit;
    return field;
}

static void finish_record(struct lines *in)
{
    struct plumb_activation *r = &in->r;
    if (!(in->fields >> FIELD_MODULE & 1) || !(in->fields >> FIELD_TENSOR & 1)) {
        fault(in, in->fields >> FIELD_MODULE & 1 ? "tensor" : "module", "is missing");
        return;
    }
    if (!(r->has >> PLUMB_ACT_IO & 1))
        r->io = (uint8_t)plumb_activation_io_of(plumb_activations_text(in->t, r->tensor),
                                                in->t->texts[r->tensor].size);
    plumb_activation_place(r, in->from);
    plumb_activations_add(in->t, r);
}

static void read_record(struct lines *in)
{
    struct plumb_json_scan *s = &in->scan;
    if (s->token != PLUMB_JSON_OBJECT) {
        fault(in, "the value", "is not an object: each line is one record");
        return;
    }
    memset(&in->r, 0, sizeof in->r);
    in->fields = in->slots = 0;
    while (plumb_json_next(s) > PLUMB_JSON_END && s->token != PLUMB_JSON_OBJECT_END &&
           in->rc == PLUMB_OK)
        read_field(in, field_here(in));
    if (s->token == PLUMB_JSON_OBJECT_END && in->rc == PLUMB_OK)
        finish_record(in);
}

/* Reads the lines of one piece. */
static int read_lines(struct lines *in, const char *text, size_t size)
{
    plumb_json_scan_text(&in->scan, text, size);
    while (in->rc == PLUMB_OK && plumb_json_next(&in->scan) > PLUMB_JSON_END)
        read_record(in);
    if (in->rc == PLUMB_OK && in->scan.token == PLUMB_JSON_ERROR)
        in->rc = plumb_json_scan_fail(&in->scan, in->name, in->err);
    return in->rc;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Room for `held` bytes, another piece and the zeros. */
static int make_room(struct lines *in, size_t held)
{
    size_t want = held + PIECE + PLUMB_JSON_PADDING;
    if (want <= in->capacity)
        return PLUMB_OK;
    if (held >= LONGEST_LINE)
        return plumb_fail(in->err, PLUMB_ERR_FORMAT,
                          "'%s' line %llu is longer than %d MiB: no activation record", in->name,
                          (unsigned long long)in->scan.line + 1, LONGEST_LINE >> 20);
    char *moved = realloc(in->buffer, want * 2);
    if (!moved)
        return plumb_fail(in->err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", in->name);
    in->buffer = moved;
    in->capacity = want * 2;
    return PLUMB_OK;
}

/* Reads the whole lines of the first `held` bytes and moves the rest to the front. */
static int read_piece(struct lines *in, size_t *held, size_t new_bytes)
{
    char saved[PLUMB_JSON_PADDING];
    const char *newline = memrchr(in->buffer + *held - new_bytes, '\n', new_bytes);
    if (!newline)
        return PLUMB_OK;
    char *end = in->buffer + (newline + 1 - in->buffer);
    memcpy(saved, end, sizeof saved);
    memset(end, 0, sizeof saved);
    int rc = read_lines(in, in->buffer, (size_t)(end - in->buffer));
    memcpy(end, saved, sizeof saved);
    *held -= (size_t)(end - in->buffer);
    memmove(in->buffer, end, *held);
    return rc;
}

static int read_all(struct lines *in, plumb_activation_fill fill, void *arg)
{
    size_t held = 0;
    int rc;
    for (;;) {
        if ((rc = make_room(in, held)) < 0)
            return rc;
        int64_t n = fill(arg, in->buffer + held, PIECE, in->err);
        if (n < 0)
            return (int)n;
        held += (size_t)n;
        if (n == 0) {
            memset(in->buffer + held, 0, PLUMB_JSON_PADDING);
            return read_lines(in, in->buffer, held);
        }
        if ((rc = read_piece(in, &held, (size_t)n)) < 0)
            return rc;
    }
}

int plumb_activations_lines(const struct plumb_activation_source *from, plumb_activation_fill fill,
                            void *arg, plumb_error *err)
{
    struct lines *in = calloc(1, sizeof *in);
    if (!in)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", from->name);
    in->t = from->table;
    in->name = from->name;
    in->from = from;
    in->err = err;
    memset(in->field_of, FIELD_UNKNOWN, sizeof in->field_of);
    plumb_json_scan_init(&in->scan, PLUMB_JSON_LINES | PLUMB_JSON_NAN);
    /* Text 0 must exist before the length of any text is asked for. */
    plumb_activations_text_id(in->t, "", 0);
    int rc = in->t->failed ? PLUMB_OK : read_all(in, fill, arg);
    plumb_json_scan_fini(&in->scan);
    free(in->buffer);
    free(in);
    return rc;
}
