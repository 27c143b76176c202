/* help.c: what a command says of itself, as text for the terminal, as a man page, as words for the
 * shell's completion. All three come from the table of commands, so they cannot disagree. */
#include "help.h"

#include <ctype.h>
#include <string.h>

enum { COLUMN_OPTION = 26, COLUMN_VIEW = 16, WIDTH = 79 };

/* ---- Options: of the command, then of the settings ------------------------------------------- */

bool plumb_cli_option_at(const struct plumb_cli_command *c, size_t i, struct plumb_cli_option *out,
                         plumb_setting_info *memory)
{
    size_t own = 0;
    for (size_t k = 0; c->options[k].name; k++)
        if (c->options[k].help && own++ == i) {
            *out = c->options[k];
            return true;
        }
    for (size_t k = 0, seen = own; c->settings && plumb_cli_setting(k, out, memory); k++)
        if (out->name[0] && seen++ == i)
            return true;
    size_t all = own;
    for (size_t k = 0; c->settings && plumb_cli_setting(k, out, memory); k++)
        all += out->name[0] != '\0';
    *out = (struct plumb_cli_option){"help", NULL, "show this text", false};
    return i == all;
}

static void option_title(char *out, size_t size, const struct plumb_cli_option *o)
{
    const char *format = !o->argument ? "%s--%s" : o->optional ? "%s--%s[=%s]" : "%s--%s %s";
    const char *letter = strcmp(o->name, "output") == 0 ? "-o, " : "";
    snprintf(out, size, format, letter, o->name, o->argument);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Words of `text` from column `column` on, broken before WIDTH. */
static void wrap(FILE *out, const char *text, int column)
{
    int at = column;
    while (*text) {
        int n = (int)strcspn(text, " ");
        bool first = at == column;
        if (!first && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", n, text);
        at += n + !first;
        text += n;
        text += *text == ' ';
    }
    fputc('\n', out);
}

static void show_options(const struct plumb_cli_command *c, FILE *out)
{
    struct plumb_cli_option option;
    plumb_setting_info memory;
    char title[160];
    for (size_t i = 0; plumb_cli_option_at(c, i, &option, &memory); i++) {
        option_title(title, sizeof title, &option);
        fprintf(out, "  %-*s", COLUMN_OPTION - 2, title);
        if (strlen(title) > COLUMN_OPTION - 4)
            fprintf(out, "\n%*s", COLUMN_OPTION, "");
        wrap(out, option.help, COLUMN_OPTION);
    }
}

/* "--top, --request": the options of the view that not every view takes. */
static void list_view_options(char *out, size_t size, const struct plumb_cli_command *c,
                              const struct plumb_cli_view *view)
{
    const struct plumb_cli_view *v;
    uint32_t all = UINT32_MAX;
    size_t used = 0;
    for (size_t i = 0; (v = c->view(i)); i++)
        all &= v->options;
    out[0] = '\0';
    for (size_t k = 0; c->options[k].name && used < size; k++)
        if (view->options & ~all & UINT32_C(1) << k)
            used += (size_t)snprintf(out + used, size - used, "%s--%s", used ? ", " : "",
                                     c->options[k].name);
}

static void view_title(char *out, size_t size, const struct plumb_cli_view *view)
{
    snprintf(out, size, "%s%s%s", view->name, view->argument ? " " : "",
             view->argument ? view->argument : "");
}

static void show_views(const struct plumb_cli_command *c, FILE *out)
{
    const struct plumb_cli_view *view;
    char text[512], title[64];
    fputs("Views, and their options besides those of all\n", out);
    for (size_t i = 0; (view = c->view(i)); i++) {
        view_title(title, sizeof title, view);
        fprintf(out, "  %-*s ", COLUMN_VIEW - 3, title);
        wrap(out, view->summary, COLUMN_VIEW);
        list_view_options(text, sizeof text, c, view);
        if (text[0]) {
            fprintf(out, "%*s", COLUMN_VIEW, "");
            wrap(out, text, COLUMN_VIEW);
        }
    }
    fputc('\n', out);
}

static void show_indented(FILE *out, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        fprintf(out, "  %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

static void show_overview(FILE *out)
{
    const struct plumb_cli_command *c;
    fputs("plumb records where the time of an AI pipeline goes, and shows it.\n\n"
          "Usage: plumb COMMAND [OPTION]...\n\nCommands\n",
          out);
    for (size_t i = 0; (c = plumb_cli_command(i)); i++)
        fprintf(out, "  %-14s %s\n", c->name, c->summary);
    fputs("\nplumb help COMMAND explains it, plumb help environment lists the variables,\n"
          "plumb help coming-from NAME translates names of other profilers, plumb --version\n"
          "prints the version.\n\nExample\n"
          "  plumb record -- ./prog\n  plumb report tree\n",
          out);
}

void plumb_cli_show_help(const struct plumb_cli_command *c, FILE *out)
{
    if (!c) {
        show_overview(out);
        return;
    }
    fprintf(out, "plumb %s - %s\n\nUsage: plumb %s %s\n\n%s\n\n", c->name, c->summary, c->name,
            c->synopsis, c->description);
    if (c->view)
        show_views(c, out);
    fputs("Options\n", out);
    show_options(c, out);
    fputs("\nExamples\n", out);
    show_indented(out, c->examples);
    fputs("\nExit status\n", out);
    show_indented(out, c->status);
}

/* ---- Man pages ------------------------------------------------------------------------------- */

/* Text that troff shows as it is. */
static void troff(FILE *out, const char *text, int n)
{
    for (int i = 0; i < n; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n'))
            fprintf(out, "\\&%c", text[i]);
        else
            fputc(text[i], out);
    }
    fputc('\n', out);
}

static void troff_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        if (n == 0)
            fputs(".PP\n", out);
        else
            troff(out, text, n);
        text += n + (text[n] == '\n');
    }
}

static void troff_verbatim(FILE *out, const char *text)
{
    fputs(".nf\n", out);
    troff(out, text, (int)strlen(text));
    fputs(".fi\n", out);
}

static void show_man_options(const struct plumb_cli_command *c, FILE *out)
{
    struct plumb_cli_option option;
    plumb_setting_info memory;
    char title[160];
    for (size_t i = 0; plumb_cli_option_at(c, i, &option, &memory); i++) {
        option_title(title, sizeof title, &option);
        fputs(".TP\n.B ", out);
        troff(out, title, (int)strlen(title));
        troff(out, option.help, (int)strlen(option.help));
    }
}

static void show_man_views(const struct plumb_cli_command *c, FILE *out)
{
    const struct plumb_cli_view *view;
    char text[512];
    fputs(".SH VIEWS\n", out);
    for (size_t i = 0; (view = c->view(i)); i++) {
        view_title(text, sizeof text, view);
        fprintf(out, ".TP\n.B %s\n", text);
        troff(out, view->summary, (int)strlen(view->summary));
        list_view_options(text, sizeof text, c, view);
        if (text[0]) {
            fputs(".br\n", out);
            troff(out, text, (int)strlen(text));
        }
    }
    fputs(".PP\nThe options after each view are those that not every view takes.\n", out);
}

static void show_man_overview(FILE *out)
{
    const struct plumb_cli_command *c;
    fprintf(out,
            ".TH PLUMB 1 \"\" \"plumb %s\" \"plumb\"\n.SH NAME\nplumb \\- profiler for AI "
            "pipelines\n.SH SYNOPSIS\n.B plumb\n.I COMMAND\n[OPTION]...\n.SH DESCRIPTION\n"
            "plumb records where the time of an AI pipeline goes, and shows it.\n.SH COMMANDS\n",
            plumb_read_version());
    for (size_t i = 0; (c = plumb_cli_command(i)); i++) {
        fprintf(out, ".TP\n.BR plumb\\-%s (1)\n", c->name);
        troff(out, c->summary, (int)strlen(c->summary));
    }
    fputs(".SH ENVIRONMENT\n", out);
    plumb_setting_info info;
    for (size_t i = 0; plumb_setting_get(&info, i); i++) {
        if (info.hidden)
            continue;
        fputs(".TP\n.B ", out);
        troff(out, info.variable, (int)strlen(info.variable));
        troff(out, info.help, (int)strlen(info.help));
        if (info.choices)
            fprintf(out, "(%s)\n", info.choices);
        if (info.default_text[0])
            fprintf(out, "Default: %s.\n", info.default_text);
    }
    fputs(".TP\n.B PLUMB_LIBRARY\nThe libplumb.so that plumb record preloads, instead of its own.\n"
          ".TP\n.B NO_COLOR\nNo colours on a terminal.\n.SH EXAMPLE\n.nf\nplumb record \\-\\- "
          "./prog\nplumb report tree\n.fi\n",
          out);
}

void plumb_cli_show_man(const struct plumb_cli_command *c, FILE *out)
{
    if (!c) {
        show_man_overview(out);
        return;
    }
    fputs(".TH PLUMB\\-", out);
    for (const char *p = c->name; *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fprintf(out, " 1 \"\" \"plumb %s\" \"plumb\"\n.SH NAME\nplumb\\-%s \\- ", plumb_read_version(),
            c->name);
    troff(out, c->summary, (int)strlen(c->summary));
    fprintf(out, ".SH SYNOPSIS\n.B plumb %s\n", c->name);
    troff(out, c->synopsis, (int)strlen(c->synopsis));
    fputs(".SH DESCRIPTION\n", out);
    troff_paragraphs(out, c->description);
    if (c->view)
        show_man_views(c, out);
    fputs(".SH OPTIONS\n", out);
    show_man_options(c, out);
    fputs(".SH EXIT STATUS\n", out);
    troff_paragraphs(out, c->status);
    fputs(".SH EXAMPLES\n", out);
    troff_verbatim(out, c->examples);
    fputs(".SH SEE ALSO\n.BR plumb (1)\n", out);
}
