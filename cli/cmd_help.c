/* cmd_help.c: plumb help. */
#include <errno.h>
#include <string.h>

#include "cli.h"
#include "help.h"

enum { MAN, COMPLETION, MARKDOWN };

static const struct plumb_cli_option options[] = {
    [MAN] = {"man", NULL, "as a man page (troff), for packaging", false},
    [COMPLETION] = {"completion", "bash|zsh|fish",
                    "the completion of a shell (bash), for packaging", true},
    [MARKDOWN] = {"markdown", NULL, "the names of coming-from as Markdown, for packaging", false},
    {NULL, NULL, NULL, false},
};

static int show_text(int rc, char *text, const plumb_error *err)
{
    if (rc != PLUMB_OK)
        plumb_cli_say(&plumb_cmd_help, "%s", err->message);
    if (rc < 0)
        return PLUMB_EXIT_TROUBLE;
    bool ok = fputs(text, stdout) != EOF;
    if (!ok)
        plumb_cli_stdout_failed(errno);
    plumb_read_free(text);
    return ok ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

static int show_environment(void)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    int rc = plumb_setting_help(&text, &err);
    return show_text(rc, text, &err);
}

/* ---- Topics that are not commands -----------------------------------------------------------
 */

enum { MAX_TOPICS = 128 };

static const char *const pages[] = {"environment", "regions", "coming-from"};
enum { PAGES = sizeof pages / sizeof *pages };

const char *plumb_cli_page(size_t i)
{
    return i < PAGES ? pages[i] : NULL;
}

/* Cuts `text` into lines and collects the name at the start of each line after its heading. */
static size_t cut_names(const char **names, size_t room, char *text)
{
    size_t n = 0;
    char *line = strchr(text, '\n');
    for (char *end; line && line[1] && n < room; line = end) {
        names[n] = ++line;
        end = strchr(line, '\n');
        line[strcspn(line, " \n")] = '\0';
        n++;
    }
    return n;
}

static const char *nearest_topic(const char *topic, char *variables)
{
    const char *names[MAX_TOPICS];
    const char *command = plumb_cli_nearest(topic);
    size_t n = 0;
    if (command)
        names[n++] = command;
    for (size_t i = 0; i < PAGES; i++)
        names[n++] = pages[i];
    n += cut_names(names + n, MAX_TOPICS - n, variables);
    return plumb_word_nearest(topic, names, n);
}

static int no_topic(const char *topic, char *variables)
{
    const char *best = nearest_topic(topic, variables);
    const char *instead = plumb_cli_instead(topic);
    if (instead)
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_help, "no help on '%s': the command is '%s'", topic, instead));
    return plumb_cli_args_status(
        best ? plumb_cli_usage(&plumb_cmd_help, "no help on '%s': did you mean '%s'?", topic, best)
             : plumb_cli_usage(&plumb_cmd_help, "no help on '%s'", topic));
}

/* The line of one variable, below the head of the table. */
static bool put_variable(const char *topic, const char *text)
{
    size_t n = strlen(topic);
    int head = (int)strcspn(text, "\n") + 1;
    for (const char *line = text + head; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, topic, n) == 0 && line[n] == ' ') {
            printf("%.*s%.*s\n", head, text, (int)strcspn(line, "\n"), line);
            return true;
        }
    return false;
}

static int show_variable(const char *topic)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    int rc = plumb_setting_help(&text, &err);
    if (rc < 0)
        return show_text(rc, text, &err);
    int status = put_variable(topic, text) ? PLUMB_EXIT_OK : no_topic(topic, text);
    plumb_read_free(text);
    return status;
}

static int show_regions(void)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    int rc = plumb_region_help(&text, &err);
    return show_text(rc, text, &err);
}

/* `name` NULL: all of them. */
static int show_coming_from(const char *name)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    if (name && plumb_cli_show_tool(name, stdout))
        return PLUMB_EXIT_OK;
    plumb_predecessors *names = plumb_cli_predecessors(&plumb_cmd_help);
    if (!names)
        return PLUMB_EXIT_TROUBLE;
    int rc = plumb_predecessor_help(&text, names, name, &err);
    int status = show_text(rc, text, &err);
    plumb_predecessors_close(names);
    return status;
}

static int show_markdown(void)
{
    char *text = NULL;
    plumb_error err = {0, ""};
    plumb_predecessors *names = plumb_cli_predecessors(&plumb_cmd_help);
    if (!names)
        return PLUMB_EXIT_TROUBLE;
    int rc = plumb_predecessor_page(&text, names, &err);
    int status = show_text(rc, text, &err);
    plumb_predecessors_close(names);
    return status;
}

static int show(const char *topic, bool man)
{
    const struct plumb_cli_command *command = topic ? plumb_cli_find(topic) : NULL;
    if (topic && !command && strcmp(topic, "environment") == 0 && !man)
        return show_environment();
    if (topic && !command && strcmp(topic, "regions") == 0 && !man)
        return show_regions();
    if (topic && !command)
        return show_variable(topic);
    if (man)
        plumb_cli_show_man(command, stdout);
    else
        plumb_cli_show_help(command, stdout);
    return PLUMB_EXIT_OK;
}

static int show_completion(const char *shell)
{
    static const char *const words[] = {"bash", "zsh", "fish"};
    enum { SHELLS = sizeof words / sizeof *words };
    static void (*const show[SHELLS])(FILE *) = {plumb_cli_show_bash, plumb_cli_show_zsh,
                                                 plumb_cli_show_fish};
    for (size_t i = 0; i < SHELLS; i++)
        if (strcmp(words[i], shell ? shell : "bash") == 0) {
            show[i](stdout);
            return PLUMB_EXIT_OK;
        }
    plumb_cli_wants(&plumb_cmd_help, "completion", words, SHELLS, shell);
    return PLUMB_EXIT_TROUBLE;
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    bool man = false;
    int option;
    plumb_cli_args_init(&args, &plumb_cmd_help, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (option == COMPLETION)
            return show_completion(args.value);
        if (option == MARKDOWN)
            return show_markdown();
        man = true;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    int operands = argc - args.operand;
    if (operands >= 1 && operands <= 2 && !man && strcmp(argv[args.operand], "coming-from") == 0)
        return show_coming_from(operands == 2 ? argv[args.operand + 1] : NULL);
    if (operands > 1)
        return plumb_cli_args_status(plumb_cli_usage(&plumb_cmd_help, "one topic at a time"));
    return show(args.operand < argc ? argv[args.operand] : NULL, man);
}

const struct plumb_cli_command plumb_cmd_help = {
    .name = "help",
    .summary = "explain a command, a variable, or a name of another profiler",
    .synopsis = "[TOPIC | coming-from [NAME]]",
    .description =
        "Without a topic, prints the list of commands. TOPIC is a command; a variable\n"
        "that configures recording; 'environment' for all variables with their defaults;\n"
        "or 'regions' for the names that PLUMB_REGIONS can select in every program.\n"
        "\n"
        "'coming-from' translates names of FastVideo, TeleFuser, TorchFX and CUVIS.AI,\n"
        "and says whether plumb has them yet. NAME is one of theirs: a variable (also\n"
        "with a value), a function, an option, a file, or a console line. For a misspelt\n"
        "one the nearest is suggested. Without NAME all of them are listed. NAME may also\n"
        "be a general profiler: perf, nsys, tracy, torch.profiler or caliper, whose\n"
        "capabilities are listed with their counterparts.",
    .examples = "plumb help record\n"
                "plumb help environment\n"
                "plumb help PLUMB_SKIP_FIRST\n"
                "plumb help regions\n"
                "plumb help coming-from TELEFUSER_PROFILE_DEBUG=true\n"
                "plumb help coming-from summary_rank0.json\n"
                "plumb help coming-from tracy\n"
                "plumb help coming-from | grep CV-",
    .status = "0 success; 2 no such topic or name.",
    .stops = true,
    .options = options,
    .run = run,
};
