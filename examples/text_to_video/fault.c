/* Owns the kinds of faults and what each does to a tensor. */
#include "fault.h"

#include "module.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double size;
} kinds[FAULT_COUNT] = {
    [FAULT_NONE] = {"none", 0},
    [FAULT_SCALE] = {"scale", 0.1},
    [FAULT_OFFSET] = {"offset", 0.1},
    [FAULT_COLUMNS] = {"columns", 0.1},
    [FAULT_ZERO] = {"zero", 0},
    [FAULT_NAN] = {"nan", 0},
    [FAULT_INF] = {"inf", 0},
    [FAULT_TRANSPOSED] = {"transposed", 0},
    [FAULT_NO_RESIDUAL] = {"no-residual", 0},
    [FAULT_SWAPPED_HEADS] = {"swapped-heads", 0},
    [FAULT_SOFTMAX] = {"softmax", 3},
};

const char *fault_kind_name(enum fault_kind kind)
{
    return kinds[kind].name;
}

/* Takes what is before the next colon off *text; false: it is empty or too long. */
static bool take_word(const char **text, char *out, size_t size)
{
    size_t n = strcspn(*text, ":");

    if (n == 0 || n >= size)
        return false;
    memcpy(out, *text, n);
    out[n] = '\0';
    *text += n + ((*text)[n] == ':');
    return true;
}

static bool take_kind(struct fault *f, const char **text)
{
    char word[FAULT_PLACE_BYTES];

    if (!take_word(text, word, sizeof(word)))
        return false;
    for (int i = FAULT_NONE + 1; i < FAULT_COUNT; i++) {
        if (strcmp(kinds[i].name, word) == 0) {
            f->kind = (enum fault_kind)i;
            f->size = kinds[i].size;
            return true;
        }
    }
    return false;
}

static bool take_step(struct fault *f, const char **text)
{
    char word[16];
    char *end;
    long step;

    if (!take_word(text, word, sizeof(word)))
        return false;
    f->step = FAULT_EVERY_STEP;
    if (strcmp(word, "-") == 0)
        return true;
    step = strtol(word, &end, 10);
    f->step = (int)step;
    return end != word && !*end && step >= 0 && step <= INT_MAX;
}

static bool take_size(struct fault *f, const char **text)
{
    char *end;

    f->size = strtod(*text, &end);
    if (end == *text || *end || !isfinite(f->size))
        return false;
    *text = end;
    return true;
}

bool fault_parse(struct fault *out, const char *text)
{
    struct fault f = {.step = FAULT_EVERY_STEP};

    if (!take_kind(&f, &text) || !take_word(&text, f.place, sizeof(f.place)) ||
        (*text && !take_step(&f, &text)) || (*text && !take_size(&f, &text)))
        return false;
    *out = f;
    return true;
}

static bool is_here(const struct nn *nn, const char *leaf)
{
    char here[2 * FAULT_PLACE_BYTES];

    module_name(nn, leaf, here, sizeof(here));
    return (nn->fault->step == FAULT_EVERY_STEP || nn->fault->step == nn->step) &&
           strcmp(here, nn->fault->place) == 0;
}

bool fault_strikes(struct nn *nn, enum fault_kind kind, const char *leaf)
{
    if (!nn->fault || nn->fault->kind != kind || !is_here(nn, leaf))
        return false;
    nn->fault->struck++;
    return true;
}

/* Each element times `factor` plus `offset`, in the first `share`th of the columns. */
static void change(const struct tensor *x, float factor, float offset, int64_t share)
{
    int64_t count = tensor_count(x);
    int64_t columns = x->dims[x->ndims - 1];

    for (int64_t i = 0; i < count; i++)
        if (i % columns < (columns + share - 1) / share)
            tensor_put(x, i, factor * tensor_get(x, i) + offset);
}

static double mean_magnitude(const struct tensor *x)
{
    int64_t count = tensor_count(x);
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += fabs((double)tensor_get(x, i));
    return sum / (double)count;
}

void fault_spoil(struct nn *nn, const char *leaf, const struct tensor *x)
{
    const struct fault *f = nn->fault;

    if (!f || f->kind < FAULT_SCALE || f->kind > FAULT_INF || nn_failed(nn) ||
        !fault_strikes(nn, f->kind, leaf))
        return;
    if (f->kind == FAULT_SCALE)
        change(x, (float)(1 + f->size), 0, 1);
    else if (f->kind == FAULT_OFFSET)
        change(x, 1, (float)(f->size * mean_magnitude(x)), 1);
    else if (f->kind == FAULT_COLUMNS)
        change(x, (float)(1 + f->size), 0, 4);
    else if (f->kind == FAULT_ZERO)
        change(x, 0, 0, 1);
    else
        tensor_put(x, tensor_count(x) / 2, f->kind == FAULT_NAN ? NAN : INFINITY);
}
