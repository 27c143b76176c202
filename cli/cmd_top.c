/* cmd_top.c: plumb top. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "top.h"

enum { ONCE, COUNT, INTERVAL, SORT, REVERSE, FILTER, TREE, TOTAL, FORMAT };
enum { OPEN_LINES = 40 };

static const struct plumb_cli_option options[] = {
    [ONCE] = {"once", NULL, "print one table as plain text and end", false},
    [COUNT] = {"count", "N", "print N tables as plain text and end", false},
    [INTERVAL] = {"interval", "SECONDS", "time between two readings (1)", false},
    [SORT] = {"sort", "KEY",
              "share, rate, mean, p95, self, device, open, memory, count or name (share)", false},
    [REVERSE] = {"reverse", NULL, "the smallest first", false},
    [FILTER] = {"filter", "TEXT", "only nodes whose name contains TEXT", false},
    [TREE] = {"tree", NULL, "show the call tree", false},
    [TOTAL] = {"total", NULL, "figures since the start of the run instead of the last interval",
               false},
    [FORMAT] = {"format", "text|json|csv|md",
                "form of the table (text); each but text prints one table, as --once does", false},
    {NULL, NULL, NULL, false},
};

struct request {
    struct plumb_top_view view;
    uint64_t count; /* 0: a screen, or tables without end */
    uint64_t interval_ns;
    const char *format; /* NULL: text */
};

/* ---- Plain text ------------------------------------------------------------------------------ */

static bool print_table(const struct plumb_top_watch *w, const struct plumb_top_view *view)
{
    struct plumb_top_table t;
    struct plumb_top_columns columns;
    char line[8192];
    bool made = plumb_top_table_make(&t, w, view);
    for (size_t i = 0; made && plumb_top_head(line, sizeof line, w, view, i); i++)
        puts(line);
    if (made) {
        plumb_top_columns_choose(&columns, &t, view, 0);
        plumb_top_line(line, sizeof line, &columns, view, NULL);
        printf("\n%s\n", line);
    }
    for (size_t i = 0; made && i < t.count; i++) {
        plumb_top_line(line, sizeof line, &columns, view, &t.rows[i]);
        puts(line);
    }
    for (size_t i = 0; made && i < OPEN_LINES && plumb_top_open_line(line, sizeof line, w, view, i);
         i++)
        printf("%s%s\n", i ? "" : "\nOpen spans\n", line);
    plumb_top_table_free(&t);
    return made && fflush(stdout) == 0;
}

/* Returns 1 when it has said itself what failed. */
static int print_rendered(const struct plumb_top_watch *w, const struct request *q,
                          plumb_error *err)
{
    struct plumb_top_table t;
    char *text = NULL;
    int rc = 1;
    if (plumb_top_table_make(&t, w, &q->view))
        rc = plumb_top_render(&text, &t, w, &q->view, q->format, err);
    else
        plumb_cli_say(&plumb_cmd_top, "out of memory");
    if (rc == 0 && !plumb_cli_output(&plumb_cmd_top, NULL, text))
        rc = 1;
    plumb_read_free(text);
    plumb_top_table_free(&t);
    return rc;
}

static void wait_ns(uint64_t ns)
{
    struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
        continue;
}

static int print_tables(struct plumb_top_watch *w, const struct request *q, plumb_error *err)
{
    int rc = 0;
    for (uint64_t i = 0; (!q->count || i < q->count) && rc == 0; i++) {
        if (i)
            putchar('\n');
        if (!w->over) {
            wait_ns(q->interval_ns);
            rc = plumb_top_read(w, err);
        }
        if (rc == 0 && q->format)
            return print_rendered(w, q, err);
        if (rc == 0 && !print_table(w, &q->view)) {
            plumb_cli_stdout_failed(errno);
            return 1;
        }
        if (w->over)
            break;
    }
    return rc;
}

/* ---- A run ----------------------------------------------------------------------------------- */

static void say_end(const struct plumb_top_watch *w)
{
    const plumb_reading_facts *f = plumb_reading_facts_of(w->now);
    if (f->state == PLUMB_WATCH_ENDED)
        plumb_cli_say(&plumb_cmd_top, "process %" PRIu32 " has ended its run: plumb report '%s'",
                      f->pid, f->run_dir);
    else if (f->state == PLUMB_WATCH_KILLED)
        plumb_cli_say(&plumb_cmd_top, "process %" PRIu32 " is gone: plumb report '%s'", f->pid,
                      f->run_dir);
}

static int watch(const char *what, const struct request *q)
{
    bool screen = !q->count && plumb_top_terminal_can();
    struct request own = *q;
    struct plumb_top_watch w;
    plumb_error err = {0, ""};
    int rc = plumb_top_find(&w, what, screen);
    if (rc)
        return rc < 0 ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
    if (!isatty(STDOUT_FILENO) && !own.count)
        own.count = 1;
    rc = screen && !w.over ? plumb_top_screen(&w, &own.view, own.interval_ns, &err)
                           : print_tables(&w, &own, &err);
    if (rc < 0)
        plumb_cli_say(&plumb_cmd_top, "%s", err.message);
    else if (w.over)
        say_end(&w);
    plumb_top_close(&w);
    return rc ? PLUMB_EXIT_TROUBLE : PLUMB_EXIT_OK;
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_interval(struct request *q, const char *text)
{
    double seconds;
    if (!plumb_cli_decimal(&plumb_cmd_top, "interval", text, &seconds))
        return false;
    if (seconds < 0.05 || seconds > 86400) {
        plumb_cli_usage(&plumb_cmd_top, "--interval wants 0.05 to 86400 seconds, not '%s'", text);
        return false;
    }
    q->interval_ns = (uint64_t)(seconds * 1e9);
    return true;
}

static bool take_sort(struct request *q, const char *text)
{
    for (uint32_t i = 0; i < PLUMB_TOP_SORTS; i++) {
        if (strcmp(plumb_top_sort_names[i], text) == 0) {
            q->view.sort = i;
            return true;
        }
    }
    return plumb_cli_wants(&plumb_cmd_top, "sort", plumb_top_sort_names, PLUMB_TOP_SORTS, text);
}

static bool take_format(struct request *q, const char *text)
{
    static const char *const names[] = {"text", "json", "csv", "md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            q->format = i ? names[i] : NULL;
            return true;
        }
    return plumb_cli_wants(&plumb_cmd_top, "format", names, sizeof names / sizeof *names, text);
}

static bool take(struct request *q, int option, const char *value)
{
    switch (option) {
    case ONCE:
        q->count = 1;
        return true;
    case COUNT:
        if (!plumb_cli_number(&plumb_cmd_top, "count", value, &q->count))
            return false;
        if (q->count)
            return true;
        plumb_cli_usage(&plumb_cmd_top, "--count wants 1 or more");
        return false;
    case INTERVAL:
        return take_interval(q, value);
    case SORT:
        return take_sort(q, value);
    case REVERSE:
        q->view.reverse = true;
        return true;
    case FILTER:
        if (strlen(value) >= sizeof q->view.filter) {
            plumb_cli_usage(&plumb_cmd_top, "--filter takes at most %zu bytes",
                            sizeof q->view.filter - 1);
            return false;
        }
        strcpy(q->view.filter, value);
        return true;
    case TREE:
        q->view.tree = true;
        return true;
    case FORMAT:
        return take_format(q, value);
    default:
        q->view.total = true;
        return true;
    }
}

static int run(int argc, char **argv)
{
    struct plumb_cli_args args;
    struct request q = {.interval_ns = 1000000000};
    int option;
    setlocale(LC_CTYPE, ""); /* which characters take how many cells */
    plumb_cli_args_init(&args, &plumb_cmd_top, argc, argv);
    while ((option = plumb_cli_next(&args)) >= 0) {
        if (!take(&q, option, args.value))
            return PLUMB_EXIT_TROUBLE;
    }
    if (option != PLUMB_ARGS_END)
        return plumb_cli_args_status(option);
    if (q.format && q.count > 1)
        return plumb_cli_args_status(plumb_cli_usage(
            &plumb_cmd_top, "--format %s prints one table: not with --count %" PRIu64, q.format,
            q.count));
    if (q.format)
        q.count = 1;
    if (args.operand + 1 < argc)
        return plumb_cli_args_status(
            plumb_cli_usage(&plumb_cmd_top, "unexpected '%s'", argv[args.operand + 1]));
    return watch(args.operand < argc ? argv[args.operand] : NULL, &q);
}

const struct plumb_cli_command plumb_cmd_top = {
    .name = "top",
    .summary = "watch where a running process spends its time",
    .synopsis = "[options] [PID|RUN]",
    .description =
        "Shows the nodes of a running process, again each second: runs a second, mean\n"
        "and p95 of the last interval, share of the time, time in the node alone, time\n"
        "on a device, memory, and how long spans have been open. It reads the live\n"
        "mapping of the run: the process is neither stopped nor delayed.\n"
        "\n"
        "PID is a process, RUN a run directory, or the name of a run, a pipeline or a\n"
        "program. Without either: the process that was started with PLUMB_CONTROL=1, with\n"
        "a choice where there are several, else the newest run that is being recorded.\n"
        "\n"
        "Keys: q quit, s and S sort, r reverse, f filter, t call tree, o open spans, c\n"
        "figures since the start, p pause, + and - interval, h help; arrows, PgUp, PgDn,\n"
        "Home and End scroll. It ends when the process ends its run.\n"
        "\n"
        "Where the output is not a terminal it prints one table as plain text; on a\n"
        "terminal that cannot move its cursor (TERM=dumb), one after the other.",
    .examples = "plumb top                   # the only recording process, or a choice\n"
                "plumb top 4711              # process 4711\n"
                "plumb top --once 4711       # one table as plain text\n"
                "plumb top --once --format json 4711 | jq '.nodes[0]'  # for a script\n"
                "plumb top --sort p95 --filter attn 4711  # slowest first\n"
                "plumb top --count 60 --interval 10 4711 >log  # ten minutes",
    .status = "0 success (also when the process ends); 2 wrong usage, or a process or run\n"
              "that cannot be read.",
    .options = options,
    .run = run,
};
