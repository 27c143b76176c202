#include "effect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ECHO_SECONDS_MAX = 10, NUMBERS = 2 };

static const struct {
    const char *name;
    int numbers;
    const char *form;
} table[] = {
    {"lowpass", 2, "lowpass:ORDER:HZ, order 1 to 10, below half the sample rate"},
    {"highpass", 2, "highpass:ORDER:HZ, order 1 to 10, below half the sample rate"},
    {"gain", 1, "gain:DB, -120 to 60"},
    {"echo", 2, "echo:SECONDS:MIX, at most 10 s, mix -1 to 1"},
};

enum { LOWPASS, HIGHPASS, GAIN, ECHO, TABLE_LENGTH };

/* Reads ":NUMBER" `count` times up to the end of the text. */
static bool parse_numbers(const char *text, double numbers[NUMBERS], int count)
{
    for (int i = 0; i < count; i++) {
        char *end;
        if (*text != ':')
            return false;
        numbers[i] = strtod(text + 1, &end);
        if (end == text + 1 || !isfinite(numbers[i]))
            return false;
        text = end;
    }
    return !*text;
}

static bool make(struct effect *e, int kind, const double n[NUMBERS], double rate)
{
    memset(e, 0, sizeof(*e));
    switch (kind) {
    case GAIN:
        e->kind = EFFECT_GAIN;
        e->gain = pow(10.0, n[0] / 20.0);
        return n[0] >= -120.0 && n[0] <= 60.0;
    case ECHO:
        e->kind = EFFECT_ECHO;
        if (!(n[0] > 0.0 && n[0] <= ECHO_SECONDS_MAX && fabs(n[1]) <= 1.0))
            return false;
        e->delay = (size_t)ceil(n[0] * rate);
        e->mix = n[1];
        return true;
    default:
        e->kind = EFFECT_FILTER;
        if (n[0] != floor(n[0]) || fabs(n[0]) > BUTTERWORTH_ORDER_MAX)
            return false;
        e->count = butterworth_design(e->sections,
                                      kind == LOWPASS ? BUTTERWORTH_LOWPASS : BUTTERWORTH_HIGHPASS,
                                      (int)n[0], n[1], rate);
        return e->count > 0;
    }
}

static bool parse_one(struct effect *e, const char *text, double rate,
                      char error[EFFECT_ERROR_BYTES])
{
    size_t length = strcspn(text, ":");
    double numbers[NUMBERS] = {0};

    for (int i = 0; i < TABLE_LENGTH; i++) {
        if (strlen(table[i].name) != length || strncmp(table[i].name, text, length) != 0)
            continue;
        if (parse_numbers(text + length, numbers, table[i].numbers) && make(e, i, numbers, rate))
            return true;
        snprintf(error, EFFECT_ERROR_BYTES, "effect '%.40s': %s", text, table[i].form);
        return false;
    }
    snprintf(error, EFFECT_ERROR_BYTES,
             "effect '%.40s' is not known; there are lowpass, highpass, gain and echo", text);
    return false;
}

int effects_parse(struct effect effects[EFFECTS_MAX], const char *text, double rate,
                  char error[EFFECT_ERROR_BYTES])
{
    int count = 0;

    while (*text) {
        size_t length = strcspn(text, ",");
        char one[64];
        if (count == EFFECTS_MAX) {
            snprintf(error, EFFECT_ERROR_BYTES, "more than %d effects", EFFECTS_MAX);
            return -1;
        }
        snprintf(one, sizeof(one), "%.*s", (int)(length < sizeof(one) ? length : sizeof(one)),
                 text);
        if (!parse_one(&effects[count], one, rate, error))
            return -1;
        count++;
        text += length;
        text += *text == ',';
    }
    return count;
}

int effects_of_depth(struct effect effects[EFFECTS_MAX], int depth, double rate)
{
    if (depth < 1 || depth > EFFECTS_MAX)
        return -1;
    for (int i = 0; i < depth; i++) {
        double part = (i + 1.0) / (depth + 1.0);
        double n[NUMBERS] = {2.0, (i % 2 ? 0.45 - 0.2 * part : 0.002 * part) * rate};
        if (!make(&effects[i], i % 2 ? LOWPASS : HIGHPASS, n, rate))
            return -1;
    }
    return depth;
}
