/* completion.c: what bash, zsh and fish complete, made from the table of commands like the help:
 * commands, options, the values of a choice, and operands: a program, the name of a run, a topic of
 * the help, otherwise files. */
#include <ctype.h>
#include <string.h>

#include "help.h"

/* Returns whether the argument is one of a few words. A name in capitals stands for a value of the
 * user. */
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

static void put_views(const struct plumb_cli_command *c, FILE *out)
{
    const struct plumb_cli_view *view;
    for (size_t i = 0; (view = c->view(i)); i++)
        fprintf(out, "%s%s", i ? " " : "", view->name);
}

enum operand { FILES, RUNS, PROGRAM, TOPICS };

static enum operand operand_of(const struct plumb_cli_command *c)
{
    if (strstr(c->synopsis, "CMD"))
        return PROGRAM;
    if (strstr(c->synopsis, "TOPIC"))
        return TOPICS;
    return strstr(c->synopsis, "RUN") ? RUNS : FILES;
}

static void put_commands(FILE *out)
{
    const struct plumb_cli_command *c;
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        fprintf(out, "%s%s", i ? " " : "", c->name);
}

static void put_topics(FILE *out)
{
    put_commands(out);
    for (size_t i = 0; plumb_cli_page(i); i++)
        fprintf(out, " %s", plumb_cli_page(i));
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_command(const struct plumb_cli_command *c, FILE *out)
{
    struct plumb_cli_option option;
    plumb_setting_info memory;
    fprintf(out, "    %s)\n        words='", c->name);
    for (size_t i = 0; plumb_cli_option_at(c, i, &option, &memory); i++)
        fprintf(out, "%s--%s", i ? " " : "", option.name);
    fputs("'\n", out);
    if (c->view) {
        fputs("        names='", out);
        put_views(c, out);
        fputs(" '$(_plumb_runs)\n", out);
    } else if (operand_of(c) == RUNS) {
        fputs("        names=$(_plumb_runs)\n", out);
    }
    if (operand_of(c) == TOPICS) {
        fputs("        names='", out);
        put_topics(out);
        fputs("'\n        files=\n", out);
    }
    fputs("        case $previous in\n", out);
    for (size_t i = 0; plumb_cli_option_at(c, i, &option, &memory); i++) {
        if (!is_choice(&option) || option.optional)
            continue;
        fprintf(out, "        --%s) COMPREPLY=($(compgen -W '", option.name);
        put_words(out, option.argument);
        fputs("' -- \"$current\")); return ;;\n", out);
    }
    fputs("        esac\n        ;;\n", out);
}

static const char bash_head[] =
    "# bash completion of plumb; made by: plumb help --completion\n"
    "_plumb_runs() {\n"
    "    local run dir=${PLUMB_DIR:-plumb-out}\n"
    "    for run in \"$dir\"/*/*/timing.json \"$dir\"/*/timing.json; do\n"
    "        run=${run%/*}\n"
    "        [[ -e $run/timing.json && $run != */latest ]] && echo \"${run##*/}\"\n"
    "    done\n"
    "}\n"
    "_plumb() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local words='' names='' files=1 i\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W '";
static const char bash_program[] = " --help --version' -- \"$current\"))\n"
                                   "        return\n"
                                   "    fi\n"
                                   "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                                   "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
                                   "            if ((COMP_CWORD == i + 1)); then\n"
                                   "                COMPREPLY=($(compgen -c -- \"$current\"))\n"
                                   "            else\n"
                                   "                COMPREPLY=($(compgen -f -- \"$current\"))\n"
                                   "            fi\n"
                                   "            return\n"
                                   "        fi\n"
                                   "    done\n"
                                   "    case ${COMP_WORDS[1]} in\n";
static const char bash_end[] = "    esac\n"
                               "    if [[ $current == -* ]]; then\n"
                               "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                               "        return\n"
                               "    fi\n"
                               "    COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
                               "    if [[ $files ]]; then\n"
                               "        COMPREPLY+=($(compgen -f -- \"$current\"))\n"
                               "    fi\n"
                               "}\n"
                               "complete -o filenames -F _plumb plumb\n";

void plumb_cli_show_bash(FILE *out)
{
    const struct plumb_cli_command *c;
    fputs(bash_head, out);
    put_commands(out);
    fputs(bash_program, out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        bash_command(c, out);
    fputs(bash_end, out);
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

/* The views, as the first operand: besides the runs and files that stand there without a view. */
static void zsh_views(const struct plumb_cli_command *c, FILE *out)
{
    const struct plumb_cli_view *view;
    fprintf(out, "_plumb_%s_views() {\n    local -a views\n    views=(\n", c->name);
    for (size_t i = 0; (view = c->view(i)); i++) {
        fprintf(out, "        '%s:", view->name);
        put_quoted(out, view->summary, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n    _describe view views\n    _plumb_runs\n}\n", out);
}

static void zsh_operands(const struct plumb_cli_command *c, FILE *out)
{
    switch (operand_of(c)) {
    case PROGRAM:
        fputs("        '*:::command:_normal'\n", out);
        break;
    case RUNS:
        if (c->view)
            fprintf(out, "        '1:view:_plumb_%s_views' \\\n", c->name);
        fputs("        '*:run:_plumb_runs'\n", out);
        break;
    case TOPICS:
        fputs("        '*:topic:(", out);
        put_topics(out);
        fputs(")'\n", out);
        break;
    default:
        fputs("        '*:file:_files'\n", out);
        break;
    }
}

static const char zsh_head[] =
    "#compdef plumb\n# made by: plumb help --completion=zsh\n"
    "_plumb_runs() {\n"
    "    local -a runs\n"
    "    runs=(${PLUMB_DIR:-plumb-out}/*/timing.json(N:h:t) "
    "${PLUMB_DIR:-plumb-out}/*/*/timing.json(N:h:t))\n"
    "    _alternative \"runs:run:(${(u)runs:#latest})\" 'files:file:_files'\n"
    "}\n";

void plumb_cli_show_zsh(FILE *out)
{
    const struct plumb_cli_command *c;
    struct plumb_cli_option option;
    plumb_setting_info memory;
    fputs(zsh_head, out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        if (c->view)
            zsh_views(c, out);
    fputs("_plumb() {\n    local -a commands\n    commands=(\n", out);
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
        zsh_operands(c, out);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n}\n_plumb \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(const char *command, const struct plumb_cli_option *o, FILE *out)
{
    fprintf(out, "complete -c plumb -n '__plumb_is %s' -l %s", command, o->name);
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

static void fish_views(const struct plumb_cli_command *c, FILE *out)
{
    const struct plumb_cli_view *view;
    for (size_t i = 0; (view = c->view(i)); i++) {
        fprintf(out, "complete -c plumb -n '__plumb_is %s' -a %s -d '", c->name, view->name);
        for (const char *p = view->summary; *p; p++)
            fprintf(out, strchr("'\\", *p) ? "\\%c" : "%c", *p);
        fputs("'\n", out);
    }
}

static void fish_operands(const struct plumb_cli_command *c, FILE *out)
{
    switch (operand_of(c)) {
    case PROGRAM:
        fprintf(out, "complete -c plumb -n '__plumb_runs_program %s' -x -a '(__plumb_program)'\n",
                c->name);
        break;
    case RUNS:
        if (c->view)
            fish_views(c, out);
        fprintf(out, "complete -c plumb -n '__plumb_is %s' -a '(__plumb_runs)' -d run\n", c->name);
        break;
    case TOPICS:
        fprintf(out, "complete -c plumb -n '__plumb_is %s' -f -a '", c->name);
        put_topics(out);
        fputs("' -d topic\n", out);
        break;
    default:
        break;
    }
}

/* The command is the first word; the words after -- belong to another program. */
static const char fish_head[] =
    "# fish completion of plumb; made by: plumb help --completion=fish\n"
    "function __plumb_is\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -gt 1; and test $words[2] = $argv[1]; and not contains -- -- $words\n"
    "end\n"
    "function __plumb_runs_program\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -gt 1; and test $words[2] = $argv[1]; and contains -- -- $words\n"
    "end\n"
    "function __plumb_program\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l at (contains -i -- -- $words)\n"
    "    complete -C (string join -- ' ' (string escape -- $words[(math $at + 1)..-2]) "
    "$words[-1])\n"
    "end\n"
    "function __plumb_runs\n"
    "    set -l dir plumb-out\n"
    "    set -q PLUMB_DIR; and set dir $PLUMB_DIR\n"
    "    for file in $dir/*/timing.json $dir/*/*/timing.json\n"
    "        string match -rv '^latest$' (basename (dirname $file))\n"
    "    end\n"
    "end\n";

void plumb_cli_show_fish(FILE *out)
{
    const struct plumb_cli_command *c;
    struct plumb_cli_option option;
    plumb_setting_info memory;
    fputs(fish_head, out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        fprintf(out, "complete -c plumb -n __fish_use_subcommand -f -a %s -d '%s'\n", c->name,
                c->summary);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        for (size_t k = 0; plumb_cli_option_at(c, k, &option, &memory); k++)
            fish_option(c->name, &option, out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        fish_operands(c, out);
}
