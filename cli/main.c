/* main.c: the table of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct plumb_cli_command *const commands[] = {
    &plumb_cmd_record,      &plumb_cmd_report, &plumb_cmd_compare,        &plumb_cmd_diverge,
    &plumb_cmd_activations, &plumb_cmd_bench,  &plumb_cmd_gate,           &plumb_cmd_ab,
    &plumb_cmd_deep,        &plumb_cmd_runs,   &plumb_cmd_history,        &plumb_cmd_recover,
    &plumb_cmd_export,      &plumb_cmd_doctor, &plumb_cmd_count_launches, &plumb_cmd_serve,
    &plumb_cmd_ps,          &plumb_cmd_top,    &plumb_cmd_attach,         &plumb_cmd_help,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const struct plumb_cli_command *plumb_cli_command(size_t i)
{
    return i < COMMANDS ? commands[i] : NULL;
}

const struct plumb_cli_command *plumb_cli_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *plumb_cli_nearest(const char *name)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    return plumb_word_nearest(name, names, COMMANDS);
}

/* Words that users of other tools type. */
static const struct synonym {
    const char *word;
    const struct plumb_cli_command *command; /* runs in its place; NULL: print `instead` */
    const char *instead;
} synonyms[] = {
    {"show", &plumb_cmd_report, NULL},
    {"stat", &plumb_cmd_report, NULL},
    {"stats", &plumb_cmd_report, NULL},
    {"ls", &plumb_cmd_runs, NULL},
    {"list", &plumb_cmd_runs, NULL},
    {"run", &plumb_cmd_record, NULL},
    {"exec", &plumb_cmd_record, NULL},
    {"diff", &plumb_cmd_compare, NULL},
    {"convert", &plumb_cmd_export, NULL},
    {"check", &plumb_cmd_doctor, NULL},
    {"watch", &plumb_cmd_top, NULL},
    {"htop", &plumb_cmd_top, NULL},
    {"tree", NULL, "plumb report tree"},
    {"trace", NULL, "plumb report trace (of a run recorded with PLUMB_TRACE=1)"},
    {"tracing", NULL, "plumb report trace (of a run recorded with PLUMB_TRACE=1)"},
    {"svg", NULL, "plumb report --format svg -o flame.svg"},
    {"timeline", NULL, "plumb export (of a run recorded with PLUMB_TRACE=1)"},
    {"flame", NULL, "plumb report --format svg -o flame.svg"},
    {"flamegraph", NULL, "plumb report --format svg -o flame.svg"},
    {"memory", NULL, "plumb report memory"},
    {"nodes", NULL, "plumb report nodes"},
    {"requests", NULL, "plumb report requests"},
    {"signatures", NULL, "plumb report signatures"},
    {"gaps", NULL, "plumb report gaps"},
    {"steps", NULL, "plumb report steps"},
    {"slowest", NULL, "plumb report slowest NODE"},
    {"summary", NULL, "plumb report summary"},
    {"clean", NULL, "plumb runs --prune 30d"},
    {"prune", NULL, "plumb runs --prune 30d"},
    {"rm", NULL, "plumb runs --prune 30d"},
};

static const struct synonym *find_synonym(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i].word, word) == 0)
            return &synonyms[i];
    return NULL;
}

const char *plumb_cli_instead(const char *word)
{
    const struct synonym *synonym = find_synonym(word);
    return synonym ? synonym->instead : NULL;
}

static int unknown_command(const char *name)
{
    const struct synonym *synonym = find_synonym(name);
    const char *best = plumb_cli_nearest(name);
    if (synonym)
        plumb_cli_say(NULL, "unknown command '%s': it is '%s'", name, synonym->instead);
    else if (best)
        plumb_cli_say(NULL, "unknown command '%s': did you mean '%s'? (see 'plumb help')", name,
                      best);
    else
        plumb_cli_say(NULL, "unknown command '%s' (see 'plumb help')", name);
    return PLUMB_EXIT_TROUBLE;
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static int dispatch(int argc, char **argv)
{
    static const char *const help[] = {"--help", "-h", "-?"};
    static const char *const version[] = {"--version", "-v", "-V", "version"};
    if (argc < 2) {
        plumb_cli_show_help(NULL, stderr);
        return PLUMB_EXIT_TROUBLE;
    }
    if (is_one_of(argv[1], help, sizeof help / sizeof *help)) {
        plumb_cli_show_help(NULL, stdout);
        return PLUMB_EXIT_OK;
    }
    if (is_one_of(argv[1], version, sizeof version / sizeof *version)) {
        printf("plumb %s\n", plumb_read_version());
        return PLUMB_EXIT_OK;
    }
    const struct plumb_cli_command *command = plumb_cli_find(argv[1]);
    const struct synonym *synonym = find_synonym(argv[1]);
    if (!command && synonym)
        command = synonym->command;
    if (!command)
        return unknown_command(argv[1]);
    return command->run(argc - 1, argv + 1);
}

/* Without this, a file or a socket that a command opens would get the number of a standard stream
 * that the caller has closed, and with it what is printed. Reading and writing still fail, and the
 * programs that a command runs find the stream closed. */
static void keep_closed_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
            return;
}

int main(int argc, char **argv)
{
    keep_closed_streams();
    int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        plumb_cli_stdout_failed(errno);
        if (status == PLUMB_EXIT_OK || status == PLUMB_EXIT_FOUND)
            status = PLUMB_EXIT_TROUBLE;
    }
    return status;
}
