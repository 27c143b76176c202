/* options.c: command lines, read with getopt_long() from the tables of options. One command line a
 * process: getopt's state is global. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAX_OPTIONS = 64, HELP = 2000, FIRST_OPTION = 3000, FIRST_SETTING = 4000 };

void plumb_cli_args_init(struct plumb_cli_args *args, const struct plumb_cli_command *command,
                         int argc, char **argv)
{
    *args = (struct plumb_cli_args){.command = command, .argc = argc, .argv = argv};
    opterr = 0;
    optind = 1;
}

static const char *argument_of(const plumb_setting_info *info)
{
    switch (info->kind) {
    case PLUMB_KIND_BOOL:
        return "on|off";
    case PLUMB_KIND_CHOICE:
        return info->choices;
    case PLUMB_KIND_NUMBER:
        return "N";
    case PLUMB_KIND_SIZE:
        return "SIZE";
    default:
        return strstr(info->variable, "DIR") ? "DIR" : "NAME";
    }
}

bool plumb_cli_setting(size_t i, struct plumb_cli_option *out, plumb_setting_info *memory)
{
    if (!plumb_setting_get(memory, i))
        return false;
    bool none = memory->hidden || !memory->option[0];
    *out = (struct plumb_cli_option){none ? "" : memory->option + strlen("--"), argument_of(memory),
                                     memory->help, memory->kind == PLUMB_KIND_BOOL};
    return true;
}

static struct option long_option(const struct plumb_cli_option *o, int value)
{
    int has = !o->argument ? no_argument : o->optional ? optional_argument : required_argument;
    return (struct option){o->name, has, NULL, value};
}

/* ---- What was wrong -------------------------------------------------------------------------- */

/* Names in `options` that begin with the `n` bytes of `name`, as getopt_long() counts them. */
static void list_names(char *out, size_t size, const struct option *options, const char *name,
                       size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    for (; options->name && used < size; options++)
        if (strncmp(options->name, name, n) == 0)
            used += (size_t)snprintf(out + used, size - used, "%s--%s", used ? ", " : "",
                                     options->name);
}

static bool has_name(const struct option *options, const char *name, size_t n)
{
    for (; options->name; options++)
        if (strncmp(options->name, name, n) == 0 && options->name[n] == '\0')
            return true;
    return false;
}

/* Whether the `n` bytes of `text` are one of the words that the command's --format takes: other
 * tools have options of such names. */
static bool is_a_format(const struct plumb_cli_command *command, const char *text, size_t n)
{
    for (const struct plumb_cli_option *o = command->options; o && o->name; o++)
        for (const char *word = o->argument; word && strcmp(o->name, "format") == 0;) {
            size_t length = strcspn(word, "|");
            if (length == n && strncmp(word, text, n) == 0)
                return true;
            word = word[length] ? word + length + 1 : NULL;
        }
    return false;
}

/* Returns whether the option is an old spelling, which is accepted and never suggested first. */
static bool is_old(const struct plumb_cli_command *command, const char *name)
{
    for (const struct plumb_cli_option *o = command->options; o && o->name; o++)
        if (!o->help && strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Explains why `word` is not an option: it is misspelt, is ambiguous, or has a value that the
 * option does not take. */
static int explain_unknown(const struct plumb_cli_args *args, const struct option *options,
                           const char *word)
{
    const char *names[MAX_OPTIONS];
    char list[512];
    char name[64];
    size_t count;
    const char *text = strncmp(word, "--", 2) == 0 ? word + 2 : "";
    size_t n = strcspn(text, "=");
    if (n > 0 && has_name(options, text, n))
        return plumb_cli_usage(args->command, "option '--%.*s' takes no value", (int)n, text);
    if (n > 0 && is_a_format(args->command, text, n))
        return plumb_cli_usage(args->command,
                               "unknown option '--%.*s': did you mean '--format %.*s'?", (int)n,
                               text, (int)n, text);
    list_names(list, sizeof list, options, text, n);
    if (n > 0 && list[0])
        return plumb_cli_usage(args->command, "option '--%.*s' is ambiguous: %s", (int)n, text,
                               list);
    /* Old spellings last: they still work, and a user who misspells one may not know the new
     * one. */
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    const char *best = NULL;
    for (int old = 0; old < 2 && !best && n < sizeof name; old++) {
        count = 0;
        for (size_t i = 0; options[i].name; i++)
            if (is_old(args->command, options[i].name) == (old == 1))
                names[count++] = options[i].name;
        best = plumb_word_nearest(name, names, count);
    }
    if (best)
        return plumb_cli_usage(args->command, "unknown option '%s': did you mean '--%s'?", word,
                               best);
    return plumb_cli_usage(args->command, "unknown option '%s'", word);
}

static int explain_error(const struct plumb_cli_args *args, const struct option *options,
                         int before, bool missing)
{
    const char *word = args->argv[optind - 1 >= before ? optind - 1 : before];
    if (missing)
        return plumb_cli_usage(args->command, "option '%s' needs a value", word);
    return explain_unknown(args, options, word);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int end_of_options(struct plumb_cli_args *args)
{
    args->operand = optind;
    args->dashes = optind > 1 && strcmp(args->argv[optind - 1], "--") == 0;
    return PLUMB_ARGS_END;
}

/* The command's option --output, which -o stands for; below 0: it has none. */
static int output_option(const struct plumb_cli_command *command)
{
    for (int i = 0; command->options[i].name; i++)
        if (strcmp(command->options[i].name, "output") == 0)
            return i;
    return -1;
}

/* Returns the short options for getopt_long(), whose first characters say how it treats
 * operands. */
static const char *letters(const struct plumb_cli_command *command)
{
    bool output = output_option(command) >= 0;
    if (command->in_order)
        return output ? "-:ho:" : "-:h";
    if (command->stops)
        return output ? "+:ho:" : "+:h";
    return output ? ":ho:" : ":h";
}

int plumb_cli_next(struct plumb_cli_args *args)
{
    struct option options[MAX_OPTIONS] = {{"help", no_argument, NULL, HELP}};
    plumb_setting_info text[MAX_OPTIONS];
    struct plumb_cli_option setting;
    int n = 1;
    for (int i = 0; args->command->options[i].name && n < MAX_OPTIONS - 1; i++)
        options[n++] = long_option(&args->command->options[i], FIRST_OPTION + i);
    for (int i = 0; args->command->settings && n < MAX_OPTIONS - 1 &&
                    plumb_cli_setting((size_t)i, &setting, &text[n]);
         i++)
        if (setting.name[0]) {
            options[n] = long_option(&setting, FIRST_SETTING + i);
            n++;
        }
    int before = optind;
    int got = getopt_long(args->argc, args->argv, letters(args->command), options, NULL);
    args->value = optarg;
    if (got == -1)
        return end_of_options(args);
    if (got == HELP || got == 'h') {
        plumb_cli_show_help(args->command, stdout);
        return PLUMB_ARGS_HELP;
    }
    if (got == 1)
        return PLUMB_ARGS_OPERAND;
    if (got == 'o')
        return output_option(args->command);
    if (got == '?' || got == ':')
        return explain_error(args, options, before, got == ':');
    return got >= FIRST_SETTING ? PLUMB_ARGS_SETTING + got - FIRST_SETTING : got - FIRST_OPTION;
}

int plumb_cli_args_status(int option)
{
    return option == PLUMB_ARGS_WRONG ? PLUMB_EXIT_TROUBLE : PLUMB_EXIT_OK;
}

bool plumb_cli_lists_make(const struct plumb_cli_command *command,
                          struct plumb_cli_list *const *lists, int argc)
{
    bool memory = true;
    for (size_t i = 0; lists[i]; i++)
        memory &= (lists[i]->at = calloc((size_t)argc + 1, sizeof(char *))) != NULL;
    if (!memory)
        plumb_cli_say(command, "out of memory");
    return memory;
}

void plumb_cli_lists_free(struct plumb_cli_list *const *lists)
{
    for (size_t i = 0; lists[i]; i++)
        free((void *)lists[i]->at);
}

int plumb_cli_usage(const struct plumb_cli_command *command, const char *format, ...)
{
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    plumb_cli_say(command, "%s (see 'plumb %s --help')", what, command->name);
    return PLUMB_ARGS_WRONG;
}

bool plumb_cli_wants(const struct plumb_cli_command *command, const char *option,
                     const char *const *words, size_t n, const char *text)
{
    const char *best = plumb_word_nearest(text, words, n);
    char list[256] = "";
    for (size_t i = 0, at = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                               i == 0       ? ""
                               : i == n - 1 ? " or "
                                            : ", ",
                               words[i]);
    plumb_cli_usage(command, "--%s wants %s, not '%s'%s%s%s", option, list, text,
                    best ? ": did you mean '" : "", best ? best : "", best ? "'?" : "");
    return false;
}

bool plumb_cli_number(const struct plumb_cli_command *command, const char *option, const char *text,
                      uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno) {
        plumb_cli_usage(command, "--%s wants a whole number, not '%s'", option, text);
        return false;
    }
    *out = value;
    return true;
}

bool plumb_cli_unit(const struct plumb_cli_command *command, const char *text, uint32_t *out)
{
    static const char *const words[] = {"auto", "ns", "us", "ms", "s"};
    enum { WORDS = sizeof words / sizeof *words };
    for (uint32_t i = 0; i < WORDS; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    return plumb_cli_wants(command, "unit", words, WORDS, text);
}

bool plumb_cli_fold(const struct plumb_cli_command *command, const char *text, uint32_t *out)
{
    static const char *const words[] = {"on", "off"};
    if (text && strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        return plumb_cli_wants(command, "fold", words, 2, text);
    *out = text && strcmp(text, "off") == 0 ? PLUMB_FOLD_OFF : PLUMB_FOLD_ON;
    return true;
}

bool plumb_cli_depth(const struct plumb_cli_command *command, const char *text, uint32_t *out)
{
    uint64_t depth;
    if (!plumb_cli_number(command, "depth", text, &depth))
        return false;
    if (depth == 0) {
        plumb_cli_usage(command, "--depth wants 1 or more: 1 is the outermost level");
        return false;
    }
    *out = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    return true;
}

bool plumb_cli_decimal(const struct plumb_cli_command *command, const char *option,
                       const char *text, double *out)
{
    size_t whole = strspn(text, "0123456789");
    size_t point = text[whole] == '.';
    size_t rest = strspn(text + whole + point, "0123456789");
    if (whole + rest == 0 || whole > 15 || text[whole + point + rest]) {
        plumb_cli_usage(command, "--%s wants a number as 5 or 7.5, not '%s'", option, text);
        return false;
    }
    *out = strtod(text, NULL);
    return true;
}
