/* ab_sweep.c: what plumb ab repeats its two commands for: the sizes of a sweep, element types. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ab.h"

static bool wrong(const struct plumb_ab *ab, const char *what, const char *text)
{
    plumb_cli_usage(ab->command, "%s, not '%s'", what, text);
    return false;
}

static bool add_size(struct plumb_ab *ab, uint64_t size)
{
    if (ab->size_count == PLUMB_AB_SIZES || size == 0 ||
        (ab->size_count > 0 && size <= ab->sizes[ab->size_count - 1]))
        return false;
    ab->sizes[ab->size_count++] = size;
    return true;
}

enum { STEPS = 17 };

/* The factor of one step, whose product over all steps is `whole`: found by halving an interval,
 * because the command links no mathematics. */
static double step_factor(double whole)
{
    double low = 1, high = whole;
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2, product = 1;
        for (int k = 0; k < STEPS; k++)
            product *= middle;
        if (product < whole)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Eighteen sizes, evenly spaced on a logarithmic scale, as the sweeps of TorchFX have. */
static bool add_range(struct plumb_ab *ab, uint64_t from, uint64_t to)
{
    double size = (double)from;
    if (from == 0 || to <= from)
        return false;
    double factor = step_factor((double)to / (double)from);
    for (int i = 0; i <= STEPS; i++, size *= factor) {
        uint64_t whole = i == STEPS ? to : (uint64_t)(size + 0.5);
        if (ab->size_count == 0 || whole > ab->sizes[ab->size_count - 1])
            add_size(ab, whole);
    }
    return true;
}

bool plumb_ab_take_sweep(struct plumb_ab *ab, const char *text)
{
    static const char form[] = "--sweep takes NAME=N,N,... in rising order, or NAME=FROM..TO";
    const char *p = strchr(text, '=');
    char *end;
    if (!p || p == text || (size_t)(p - text) >= sizeof ab->size_name)
        return wrong(ab, form, text);
    snprintf(ab->size_name, sizeof ab->size_name, "%.*s", (int)(p - text), text);
    ab->size_count = 0;
    do {
        if (!isdigit((unsigned char)p[1]))
            return wrong(ab, form, text);
        errno = 0;
        uint64_t from = strtoull(p + 1, &end, 10);
        if (strncmp(end, "..", 2) == 0 && isdigit((unsigned char)end[2])) {
            uint64_t to = strtoull(end + 2, &end, 10);
            return (*end == '\0' && errno == 0 && add_range(ab, from, to)) || wrong(ab, form, text);
        }
        if (errno != 0 || !add_size(ab, from))
            return wrong(ab, form, text);
        p = end;
    } while (*p == ',');
    return *p == '\0' || wrong(ab, form, text);
}

bool plumb_ab_take_types(struct plumb_ab *ab, char *text)
{
    char *rest = NULL;
    ab->type_count = 0;
    for (char *type = strtok_r(text, ",", &rest); type; type = strtok_r(NULL, ",", &rest)) {
        if (ab->type_count == PLUMB_AB_TYPES)
            return wrong(ab, "--types takes at most 8 names", type);
        for (size_t i = 0; i < ab->type_count; i++)
            if (strcmp(ab->types[i], type) == 0)
                return wrong(ab, "--types takes each name once", type);
        ab->types[ab->type_count++] = type;
    }
    return ab->type_count > 0 || wrong(ab, "--types takes names, as f64,f32", text);
}

static bool have_word(const struct plumb_ab *ab, const char *word)
{
    for (int side = 0; side < 2; side++)
        for (char *const *p = ab->argv[side]; *p; p++)
            if (strstr(*p, word))
                return true;
    return false;
}

bool plumb_ab_check_words(const struct plumb_ab *ab)
{
    char word[sizeof ab->size_name + 2];
    snprintf(word, sizeof word, "{%s}", ab->size_name);
    const char *missing = ab->size_count > 0 && !have_word(ab, word)       ? word
                          : ab->type_count > 0 && !have_word(ab, "{type}") ? "{type}"
                                                                           : NULL;
    if (missing)
        plumb_cli_usage(ab->command, "no command has %s, so it would be the same for each",
                        missing);
    return !missing;
}

bool plumb_ab_make_pairs(struct plumb_ab *ab)
{
    bool sides = !ab->argv[1][0]; /* the types are the sides */
    size_t types = sides || ab->type_count == 0 ? 1 : ab->type_count;
    size_t sizes = ab->size_count ? ab->size_count : 1;
    ab->pairs = calloc(types * sizes, sizeof *ab->pairs);
    if (!ab->pairs) {
        plumb_cli_say(ab->command, "out of memory");
        return false;
    }
    for (size_t t = 0; t < types; t++)
        for (size_t s = 0; s < sizes; s++) {
            struct plumb_ab_pair *pair = &ab->pairs[ab->pair_count++];
            pair->a = sides ? ab->types[0] : "A";
            pair->b = sides ? ab->types[1] : "B";
            pair->type = sides || ab->type_count == 0 ? "" : ab->types[t];
            pair->size = ab->size_count ? ab->sizes[s] : 0;
        }
    return true;
}
