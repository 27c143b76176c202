/* Owns the command line: one table of options, from which parsing and help are made.
 *
 * Why not getopt_long: its table knows names only, and ranges, defaults and help would then live in
 * three other places. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum id {
    EPOCHS,
    PICTURES,
    BATCH,
    HIDDEN,
    SEED,
    LEARNING_RATE,
    THREADS,
    SAVE_EVERY,
    OUT,
    TEST,
    REQUIRE,
    QUICK,
    HELP
};

static const struct {
    const char *name, *value, *help;
} table[] = {
    [EPOCHS] = {"--epochs", "N", "0 to 1000 (12)"},
    [PICTURES] = {"--pictures", "N", "of an epoch, 10 to 1000000 (8000); a quarter to validate"},
    [BATCH] = {"--batch", "N", "pictures to a step, 1 to 4096 (64)"},
    [HIDDEN] = {"--hidden", "N", "width of the first hidden layer, 4 to 1024 (128)"},
    [SEED] = {"--seed", "N", "of weights, pictures and their order (1)"},
    [LEARNING_RATE] = {"--lr", "X", "learning rate, above 0, at most 10 (0.002)"},
    [THREADS] = {"--threads", "N", "that load data, 0 to 16; 0: no thread of their own (1)"},
    [SAVE_EVERY] = {"--save-every", "N", "epochs from checkpoint to checkpoint, 1 to 1000 (3)"},
    [OUT] = {"--out", "DIR", "where checkpoints go (train_classifier.out)"},
    [TEST] = {"--test", "FILE", "train nothing, test this checkpoint"},
    [REQUIRE] = {"--require", "X", "test accuracy below which the status is 1, 0 to 1 (0.95)"},
    [QUICK] = {"--quick", NULL, "small defaults, for tests: 6 epochs of 2000, hidden 32"},
    [HELP] = {"--help", NULL, "print this"},
};

enum { TABLE_LENGTH = sizeof(table) / sizeof(table[0]) };

static void print_help(void)
{
    printf(
        "usage: train_classifier [options]\n\n"
        "Trains a small network to read digits that the program draws by itself, then tests the\n"
        "best checkpoint. Equal options give equal results, whatever --threads.\n\n");
    for (int i = 0; i < TABLE_LENGTH; i++) {
        char left[32];
        snprintf(left, sizeof(left), "%s %s", table[i].name, table[i].value ? table[i].value : "");
        printf("  %-16s %s\n", left, table[i].help);
    }
    printf("\nexample:\n"
           "  train_classifier --epochs 20 --hidden 256 --out run1\n"
           "  train_classifier --hidden 256 --test run1/epoch-018.safetensors\n");
}

static enum options_result wrong(const char *text, const char *argument)
{
    fprintf(stderr, "train_classifier: %s '%.40s' (see --help)\n", text, argument);
    return OPTIONS_WRONG;
}

static bool parse_u64(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0 && *out >= least && *out <= most;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    uint64_t value;

    if (!parse_u64(text, (uint64_t)least, (uint64_t)most, &value))
        return false;
    *out = (int)value;
    return true;
}

static bool parse_double(const char *text, double most, double *out)
{
    char *end = NULL;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0.0 && *out <= most;
}

static bool parse_text(const char *text, const char **out)
{
    *out = text;
    return *text != '\0';
}

static bool parse_value(struct options *o, enum id id, const char *text)
{
    switch (id) {
    case EPOCHS:
        return parse_int(text, 0, 1000, &o->epochs);
    case PICTURES:
        return parse_int(text, 10, 1000000, &o->pictures);
    case BATCH:
        return parse_int(text, 1, 4096, &o->batch);
    case HIDDEN:
        return parse_int(text, 4, 1024, &o->hidden);
    case SEED:
        return parse_u64(text, 0, UINT64_MAX, &o->seed);
    case LEARNING_RATE:
        return parse_double(text, 10.0, &o->learning_rate) && o->learning_rate > 0.0;
    case THREADS:
        return parse_int(text, 0, 16, &o->threads);
    case SAVE_EVERY:
        return parse_int(text, 1, 1000, &o->save_every);
    case OUT:
        return parse_text(text, &o->out_dir);
    case TEST:
        return parse_text(text, &o->test_path);
    case REQUIRE:
        return parse_double(text, 1.0, &o->required);
    case QUICK:
    case HELP:
        break;
    }
    return false;
}

static int find_option(const char *argument)
{
    for (int i = 0; i < TABLE_LENGTH; i++)
        if (strcmp(argument, table[i].name) == 0)
            return i;
    return -1;
}

/* Before the loop that stores values, because an option wins over --quick on either side of it. */
static bool is_quick(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int id = find_option(argv[i]);
        if (id == QUICK)
            return true;
        if (id >= 0 && table[id].value)
            i++;
    }
    return false;
}

static struct options defaults(bool quick)
{
    return (struct options){
        .epochs = quick ? 6 : 12,
        .pictures = quick ? 2000 : 8000,
        .batch = quick ? 32 : 64,
        .hidden = quick ? 32 : 128,
        .seed = 1,
        .learning_rate = quick ? 0.004 : 0.002,
        .threads = 1,
        .save_every = 3,
        .out_dir = "train_classifier.out",
        .required = quick ? 0.9 : 0.95,
    };
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
    *o = defaults(is_quick(argc, argv));
    for (int i = 1; i < argc; i++) {
        int id = find_option(argv[i]);
        if (id < 0)
            return wrong(argv[i][0] == '-' ? "unknown option" : "unexpected argument", argv[i]);
        if (id == HELP) {
            print_help();
            return OPTIONS_DONE;
        }
        if (!table[id].value)
            continue;
        if (i + 1 == argc)
            return wrong("a value is missing after", argv[i]);
        if (!parse_value(o, (enum id)id, argv[++i])) {
            fprintf(stderr, "train_classifier: %s does not take '%.40s': %s\n", table[id].name,
                    argv[i], table[id].help);
            return OPTIONS_WRONG;
        }
    }
    return OPTIONS_RUN;
}
