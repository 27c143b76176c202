/* bench_tables.c: what plumb bench prints without running a stage: the stages of a signature, and
 * files of benchmarks as one table. */
#include "bench.h"

int plumb_cli_bench_list(const char *signature)
{
    plumb_error err = {0, ""};
    char *text;
    if (plumb_bench_stages(&text, signature, &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    bool ok = plumb_cli_output(&plumb_cmd_bench, NULL, text);
    plumb_read_free(text);
    return ok ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}

int plumb_cli_bench_aggregate(char **files, int count, const char *format)
{
    plumb_error err = {0, ""};
    char *made[2]; /* table, notes */
    bool ok;
    if (plumb_bench_aggregate(made, (const char *const *)files, (size_t)count, format, &err) < 0) {
        plumb_cli_say(&plumb_cmd_bench, "%s", err.message);
        return PLUMB_EXIT_TROUBLE;
    }
    if (*made[1])
        plumb_cli_say_lines(&plumb_cmd_bench, made[1]);
    ok = plumb_cli_output(&plumb_cmd_bench, NULL, made[0]);
    plumb_read_free(made[1]);
    plumb_read_free(made[0]);
    return ok ? PLUMB_EXIT_OK : PLUMB_EXIT_TROUBLE;
}
