/* cmd_diverge.c: plumb diverge. Its exit status follows diff(1): 1 says that the runs diverged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAP, ONLY, EXPECT, RTOL, ATOL, TOP, ALL, FORMAT, OUTPUT };

static const struct plumb_cli_option options[] = {
    [MAP] = {"map", "RULE|FILE",
             "what A's layers are called in B: 's/OLD/NEW/' or a file of pairs; repeatable", false},
    [ONLY] = {"only", "mapped|named|all", "compare what --map or one name matches, or all (all)",
              false},
    [EXPECT] = {"expect", "same|close", "demand equality to the last bit, or within tolerances",
                false},
    [RTOL] = {"rtol", "X", "relative tolerance for all types", false},
    [ATOL] = {"atol", "X", "absolute tolerance for all types", false},
    [TOP] = {"top", "N", "number of rows around the culprit (20)", false},
    [ALL] = {"all", NULL, "all rows of the table", false},
    [FORMAT] = {"format", "text|json|csv|md|svg", "form of the output (text)", false},
    [OUTPUT] = {"output", "FILE", "write to FILE instead of standard output", false},
    {NULL, NULL, NULL, false},
};

struct request {
    plumb_divergence_options diverge;
    plumb_divergence_view view;
    const char *output;
    const char **maps;
};

static bool take_format(struct request *r, const char *text)
{
    static const char *const words[] = {"text", "json", "csv", "md", "svg"};
    enum { WORDS = sizeof words / sizeof *words };
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i], text) == 0) {
            r->view.format = words[i];
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_diverge, "format", words, WORDS, text);
}

/* Returns the index of a word in a list of `n`. Less than 0: it is not there, and a message said
 * so. */
static int take_word(const char *option, const char *text, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    (void)plumb_cli_wants(&plumb_cmd_diverge, option, words, (size_t)n, text);
    return -1;
}

static bool take_only(struct request *r, const char *text)
{
    static const char *const words[] = {"all", "named", "mapped"};
    int only = take_word("only", text, words, 3);
    r->diverge.only = (uint32_t)only;
    return only >= 0;
}

static bool take_expect(struct request *r, const char *text)
{
    static const char *const words[] = {"same", "close"};
    int expect = take_word("expect", text, words, 2);
    r->diverge.expect = expect == 0 ? PLUMB_DIVERGENCE_EXPECT_SAME : PLUMB_DIVERGENCE_EXPECT_CLOSE;
    return expect >= 0;
}

/* People write them as 1e-4. 0 asks for equality; in the options it would be the default. */
static bool take_tolerance(const char *option, const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0) {
        plumb_cli_usage(&plumb_cmd_diverge,
                        "--%s wants a number of 0 or more, as 0.001 or 1e-3, not '%s'", option,
                        text);
        return false;
    }
    *out = value == 0 ? -1 : value;
    return true;
}

static bool take(struct request *r, int option, const char *value)
{
    switch (option) {
    case MAP:
        r->maps[r->diverge.map_count++] = value;
        return true;
    case ONLY:
        return take_only(r, value);
    case EXPECT:
        return take_expect(r, value);
    case RTOL:
        return take_tolerance("rtol", value, &r->diverge.relative);
    case ATOL:
        return take_tolerance("atol", value, &r->diverge.absolute);
    case TOP:
        return plumb_cli_number(&plumb_cmd_diverge, "top", value, &r->view.top);
    case ALL:
        r->view.all = 1;
        return true;
    case FORMAT:
        return take_format(r, value);
    default:
        r->output = value;
        return true;
    }
}

static bool is_input(const char *const *sides, const char *output)
{
    for (int i = 0; i < 2; i++)
        if (plumb_cli_is_run(sides[i], output)) {
            plumb_cli_say(&plumb_cmd_diverge,
                          "'%s' is one of the runs compared: give --output another name", output);
            return true;
        }
    return false;
}

static int work(const struct request *r, const char *const *sides)
{
    plumb_divergence *d = NULL;
    plumb_error err = {0, ""};
    char *text = NULL;
    plumb_divergence_result result = {.size = sizeof result};
    int status = PLUMB_EXIT_TROUBLE;
    if (r->output && is_input(sides, r->output))
        return status;
    if (plumb_divergence_open(&d, sides[0], sides[1], &r->diverge, &err) < 0 ||
        plumb_divergence_render(&text, d, &r->view, &err) < 0) {
        plumb_cli_say(&plumb_cmd_diverge, "%s", err.message);
        goto out;
    }
    if (!plumb_cli_output(&plumb_cmd_diverge, r->output, text))
        goto out;
    plumb_divergence_summary(&result, d);
    status = result.diverged ? PLUMB_EXIT_FOUND : PLUMB_EXIT_OK;
out:
    plumb_read_free(text);
    plumb_divergence_close(d);
    return status;
}

static int read_and_work(struct request *r, int argc, char **argv)
{
    struct plumb_cli_args args;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_diverge, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0)
        if (!take(r, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (argc - args.operand != 2)
        return plumb_cli_args_status(plumb_cli_usage(&plumb_cmd_diverge,
                                                     "wants two runs, the reference first, not %d",
                                                     argc - args.operand));
    const char *sides[] = {argv[args.operand], argv[args.operand + 1]};
    r->diverge.maps = r->maps;
    return work(r, sides);
}

static int run(int argc, char **argv)
{
    struct request r = {.diverge = plumb_divergence_options_default(),
                        .view = plumb_divergence_view_default(),
                        .maps = calloc((size_t)argc + 1, sizeof(char *))};
    int status = PLUMB_EXIT_TROUBLE;
    if (r.maps)
        status = read_and_work(&r, argc, argv);
    else
        plumb_cli_say(&plumb_cmd_diverge, "out of memory");
    free((void *)r.maps);
    return status;
}

const struct plumb_cli_command plumb_cmd_diverge = {
    .name = "diverge",
    .summary = "compare activations: which layer went wrong first",
    .synopsis = "[OPTION]... A B",
    .description =
        "Compares the activations of run A, the reference, with those of run B. Reports\n"
        "the first record that differs although its inputs agree, and the last records\n"
        "before it that agree. Also prints where equality to the last bit ends, what to\n"
        "record next, both sides as a table, and the records that only one side has.\n"
        "\n"
        "A and B are run directories with activations, folders of runs (the newest run of\n"
        "each is read), JSONL files of plumb or FastVideo, a dump.json of msprobe or its\n"
        "folder (texts may be packed by gzip), .npy and .safetensors files, folders of\n"
        "them, or folders with one of these for each step.\n"
        "Layers need not have the same names: records that neither a name nor --map\n"
        "matches are matched by order, shape and statistics. Records without a partner\n"
        "are listed.\n"
        "\n"
        "Two runs of one engine, which begin equal to the last bit, must be equal to the\n"
        "last bit throughout. Other runs must agree within tolerances that depend on the\n"
        "element types. --expect overrides this; --rtol and --atol set the tolerances.",
    .examples = "plumb diverge reference.jsonl port.jsonl\n"
                "plumb diverge --map 's/^transformer_blocks/blocks/' A B  # other names\n"
                "plumb diverge --map names.txt --only mapped A B          # only what it names\n"
                "plumb diverge --expect close A B                        # last bits may differ\n"
                "plumb diverge --rtol 0 --atol 0 A B                      # equal in every bit?\n"
                "plumb diverge --format svg -o drift.svg A B              # a picture",
    .status = "0 no divergence; 1 the runs diverged; 2 trouble: wrong usage, a file that\n"
              "cannot be read, runs that have nothing in common.",
    .options = options,
    .run = run,
};
