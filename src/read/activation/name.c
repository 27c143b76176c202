/* name.c: what recorders call modules, tensors and types, as plumb calls them. */
#include <string.h>

#include "read/activation/parts.h"

static const struct {
    const char *label;
    enum plumb_activation_io io;
} labels[] = {
    {"out", PLUMB_ACT_OUT},     {"output", PLUMB_ACT_OUT},    {"in", PLUMB_ACT_IN},
    {"input", PLUMB_ACT_IN},    {"grad", PLUMB_ACT_GRAD},     {"grad_in", PLUMB_ACT_GRAD},
    {"param", PLUMB_ACT_PARAM}, {"grad_out", PLUMB_ACT_GRAD},
};

/* The label that `name` begins with, alone or before ".", "[": its index, or -1. */
static int label_at(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        size_t n = strlen(labels[i].label);
        if (size >= n && memcmp(name, labels[i].label, n) == 0 &&
            (size == n || name[n] == '.' || name[n] == '['))
            return (int)i;
    }
    return -1;
}

enum plumb_activation_io plumb_activation_io_of(const char *label, size_t size)
{
    int i = label_at(label, size);
    return i < 0 ? PLUMB_ACT_OUT : labels[i].io;
}

/* Returns the index of the last label in `name`: at the beginning, or after a ".". */
static size_t label_of(const char *name, size_t size)
{
    for (size_t i = size; i > 0; i--)
        if ((i == 1 || name[i - 2] == '.') && label_at(name + i - 1, size - i + 1) >= 0)
            return i - 1;
    return size;
}

void plumb_activation_name(struct plumb_activations *t, struct plumb_activation *r,
                           const char *name, size_t size)
{
    char *dotted = plumb_arena_strndup(&t->arena, name, size);
    if (!dotted) {
        t->failed = true;
        return;
    }
    for (size_t i = 0; i < size; i++)
        if (dotted[i] == '/')
            dotted[i] = '.';
    size_t label = label_of(dotted, size);
    size_t module = label > 0 && label < size ? label - 1 : label;
    r->module = plumb_activations_text_id(t, dotted, module);
    r->tensor = label < size ? plumb_activations_text_id(t, dotted + label, size - label)
                             : plumb_activations_str_id(t, "out");
    r->io = (uint8_t)plumb_activation_io_of(dotted + label, size - label);
}

uint32_t plumb_activation_dtype(struct plumb_activations *t, const char *name, size_t size)
{
    static const struct {
        const char *theirs, *ours;
    } known[] = {
        {"half", "float16"}, {"float", "float32"}, {"double", "float64"},
        {"long", "int64"},   {"int", "int32"},     {"short", "int16"},
    };
    const char *dot = memrchr(name, '.', size);
    if (dot) {
        size -= (size_t)(dot + 1 - name);
        name = dot + 1;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].theirs) == size && memcmp(known[i].theirs, name, size) == 0)
            return plumb_activations_str_id(t, known[i].ours);
    return plumb_activations_text_id(t, name, size);
}

void plumb_activation_place(struct plumb_activation *r, const struct plumb_activation_source *from)
{
    if (from->step >= 0 && !(r->has >> PLUMB_ACT_STEP & 1)) {
        r->step = from->step;
        r->has |= 1u << PLUMB_ACT_STEP;
    }
    if (from->rank >= 0 && !(r->has >> PLUMB_ACT_RANK & 1)) {
        r->rank = (int32_t)from->rank;
        r->has |= 1u << PLUMB_ACT_RANK;
    }
}
