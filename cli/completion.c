/* completion.c: what zsh and fish complete, made from the table of commands like the help. That of
 * bash is in help.c. */
#include <ctype.h>
#include <string.h>

#include "help.h"

/* An argument in capitals is a placeholder; a choice is typed literally. */
static bool is_choice(const struct plumb_cli_option *o)
{
    return o->argument && strchr(o->argument, '|') && !isupper((unsigned char)o->argument[0]);
}

static bool is_path(const char *argument)
{
    return strstr(argument, "FILE") || strstr(argument, "DIR") || strstr(argument, "RUN");
}

/* Between single quotes, with a backslash before each of `special`. */
static void put_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, strchr(special, *text) ? "\\%c" : "%c", *text);
    }
}

static void put_words(FILE *out, const char *words)
{
    for (; *words; words++)
        fputc(*words == '|' ? ' ' : *words, out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_option(const struct plumb_cli_option *o, FILE *out)
{
    const char *sign = !o->argument ? "" : o->optional ? "=-" : "=";
    fprintf(out, "        '--%s%s[", o->name, sign);
    put_quoted(out, o->help, "[]\\");
    fputc(']', out);
    if (o->argument) {
        fputs(o->optional ? "::" : ":", out);
        put_quoted(out, o->argument, ":\\");
        fputc(':', out);
        if (is_choice(o)) {
            fputc('(', out);
            put_words(out, o->argument);
            fputc(')', out);
        } else if (is_path(o->argument)) {
            fputs("_files", out);
        }
    }
    fputs("' \\\n", out);
}

void plumb_cli_show_zsh(FILE *out)
{
    const struct plumb_cli_command *c;
    struct plumb_cli_option option;
    plumb_setting_info memory;
    fputs("#compdef plumb\n# made by: plumb help --completion=zsh\n_plumb() {\n"
          "    local -a commands\n    commands=(\n",
          out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++) {
        fprintf(out, "        '%s:", c->name);
        put_quoted(out, c->summary, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
          "        return\n    fi\n    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n",
          out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++) {
        fprintf(out, "    %s)\n        _arguments -S \\\n", c->name);
        for (size_t k = 0; plumb_cli_option_at(c, k, &option, &memory); k++)
            zsh_option(&option, out);
        fputs(c->stops ? "        '*::command:_normal'\n" : "        '*:file:_files'\n", out);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n}\n_plumb \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(const char *command, const struct plumb_cli_option *o, FILE *out)
{
    fprintf(out, "complete -c plumb -n '__fish_seen_subcommand_from %s' -l %s", command, o->name);
    if (o->argument && is_choice(o)) {
        fputs(o->optional ? " -f -a '" : " -x -a '", out);
        put_words(out, o->argument);
        fputc('\'', out);
    } else if (o->argument && !o->optional) {
        fputs(is_path(o->argument) ? " -r" : " -x", out);
    }
    fputs(" -d '", out);
    for (const char *p = o->help; *p; p++)
        fprintf(out, strchr("'\\", *p) ? "\\%c" : "%c", *p);
    fputs("'\n", out);
}

void plumb_cli_show_fish(FILE *out)
{
    const struct plumb_cli_command *c;
    struct plumb_cli_option option;
    plumb_setting_info memory;
    fputs("# fish completion of plumb; made by: plumb help --completion=fish\n", out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        fprintf(out, "complete -c plumb -n __fish_use_subcommand -f -a %s -d '%s'\n", c->name,
                c->summary);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        for (size_t k = 0; plumb_cli_option_at(c, k, &option, &memory); k++)
            fish_option(c->name, &option, out);
}
