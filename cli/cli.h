/* cli.h: what the commands share: the table of commands, options read from tables, words to the
 * user.
 *
 * Results go to stdout, everything else to stderr. Exit status: 0 success, 2 trouble (wrong usage,
 * unreadable input, output that could not be written); `record` and `doctor` have their own. */
#ifndef PLUMB_CLI_H
#define PLUMB_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <plumb/read.h>

enum { PLUMB_EXIT_OK = 0, PLUMB_EXIT_FOUND = 1, PLUMB_EXIT_TROUBLE = 2 };

/* One option. It is parsed, listed in the help, the man page and the completion from here. */
struct plumb_cli_option {
    const char *name;     /* long, without dashes; "output" is -o too, as "help" is -h */
    const char *argument; /* "N"; NULL: takes none */
    const char *help;     /* one sentence, no period; NULL: an old spelling, read and not shown */
    bool optional;        /* the argument may be left out (then with '=' only) */
};

/* A view of a command: what its first operand can be. */
struct plumb_cli_view {
    const char *name;
    const char *argument; /* the operand that follows it: "NODE"; NULL: none */
    const char *summary;  /* one phrase, no period */
    uint32_t options;     /* bit i: the view takes option i of the command */
};

/* Texts are lines of at most 78 columns; paragraphs are separated by empty lines, lines that begin
 * with two spaces are shown as they are. */
struct plumb_cli_command {
    const char *name, *summary;
    const char *synopsis; /* what follows "plumb NAME" */
    const char *description;
    const char *examples;                   /* lines of commands and, after '#', what they do */
    const char *status;                     /* exit status */
    const struct plumb_cli_option *options; /* ends with a NULL name; --help is added */
    /* View `i`; NULL beyond the last. NULL: the command has no views. */
    const struct plumb_cli_view *(*view)(size_t i);
    bool settings; /* also takes an option for each setting */
    bool stops;    /* options end at the first operand */
    bool in_order; /* operands come between the options, as they stand */
    int (*run)(int argc, char **argv);
};

extern const struct plumb_cli_command plumb_cmd_record, plumb_cmd_report, plumb_cmd_compare,
    plumb_cmd_diverge, plumb_cmd_activations, plumb_cmd_bench, plumb_cmd_deep, plumb_cmd_gate,
    plumb_cmd_ab, plumb_cmd_runs, plumb_cmd_history, plumb_cmd_recover, plumb_cmd_export,
    plumb_cmd_doctor, plumb_cmd_help, plumb_cmd_count_launches, plumb_cmd_ps, plumb_cmd_serve,
    plumb_cmd_top, plumb_cmd_attach;

/* main.c: the table. NULL beyond the last; NULL for an unknown name. */
const struct plumb_cli_command *plumb_cli_command(size_t i);
const struct plumb_cli_command *plumb_cli_find(const char *name);
/* The command that a misspelt name was probably meant to be, or NULL. */
const char *plumb_cli_nearest(const char *name);
/* Returns the command line for another tool's word, as "plumb report tree"; NULL: unknown word. */
const char *plumb_cli_instead(const char *word);

/* options.c: reading a command line.
 *
 *     struct plumb_cli_args args;
 *     plumb_cli_args_init(&args, &plumb_cmd_runs, argc, argv);
 *     while ((option = plumb_cli_next(&args)) >= 0)
 *         ...                               index in the command's options; args.value
 *     if (option != PLUMB_ARGS_END)
 *         return plumb_cli_args_status(option);   help was shown, or the usage was wrong */
enum { PLUMB_ARGS_END = -1, PLUMB_ARGS_HELP = -2, PLUMB_ARGS_WRONG = -3 };
enum { PLUMB_ARGS_SETTING = 1000 }; /* + place in the table of settings */
enum { PLUMB_ARGS_OPERAND = 9000 }; /* of a command with `in_order`: args.value is the operand */
struct plumb_cli_args {
    const struct plumb_cli_command *command;
    int argc;
    char **argv;
    const char *value; /* argument of the last option, NULL: none */
    int operand;       /* after the last option: the first operand */
    bool dashes;       /* "--" stood before it */
};
void plumb_cli_args_init(struct plumb_cli_args *args, const struct plumb_cli_command *command,
                         int argc, char **argv);
int plumb_cli_next(struct plumb_cli_args *args);
int plumb_cli_args_status(int option);
/* Operands, or the values of an option that may come again. */
struct plumb_cli_list {
    const char **at;
    size_t count;
};
/* Makes each list (the last one is NULL) as long as the whole command line. Returns false after a
 * message. They are freed in either case. */
bool plumb_cli_lists_make(const struct plumb_cli_command *command,
                          struct plumb_cli_list *const *lists, int argc);
void plumb_cli_lists_free(struct plumb_cli_list *const *lists);
/* Says "plumb NAME: ..., see plumb NAME --help" and returns PLUMB_ARGS_WRONG. */
int plumb_cli_usage(const struct plumb_cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says that `text` is not one of the words that the option takes, and names the nearest. Returns
 * false. */
bool plumb_cli_wants(const struct plumb_cli_command *command, const char *option,
                     const char *const *words, size_t n, const char *text);
/* Reads a whole number. Returns false after a message if `text` is not one. */
bool plumb_cli_number(const struct plumb_cli_command *command, const char *option, const char *text,
                      uint64_t *out);
/* The same for a decimal number of 0 or more, as "7.5". */
bool plumb_cli_decimal(const struct plumb_cli_command *command, const char *option,
                       const char *text, double *out);
/* Read the arguments of --unit, --fold and --depth, for reports and comparisons. */
bool plumb_cli_unit(const struct plumb_cli_command *command, const char *text, uint32_t *out);
bool plumb_cli_fold(const struct plumb_cli_command *command, const char *text, uint32_t *out);
bool plumb_cli_depth(const struct plumb_cli_command *command, const char *text, uint32_t *out);
/* Setting `i` as an option; false beyond the last. A setting without an option has an empty name.
 * The texts lie in `memory`. */
bool plumb_cli_setting(size_t i, struct plumb_cli_option *out, plumb_setting_info *memory);

/* data.c: opens the table of other profilers' names that is installed with this command. Returns
 * NULL after a message. */
plumb_predecessors *plumb_cli_predecessors(const struct plumb_cli_command *command);

/* output.c: copies `path` with each "{host}" replaced by the name of this machine, so that several
 * machines can write to one folder. Returns false after a message: it is too long. */
bool plumb_cli_host_path(const struct plumb_cli_command *command, char out[4096], const char *path);
/* Writes `text` and a newline to the file `path`; NULL or "-": to stdout. A file is
 * written under a temporary name and renamed, so that it is whole or as it was. Returns false after
 * a message that says what is wrong. */
bool plumb_cli_output(const struct plumb_cli_command *command, const char *path, const char *text);
/* Returns the file of GITHUB_STEP_SUMMARY, to which reports are appended; NULL: none is wanted. */
const char *plumb_cli_step_summary(void);
/* Appends `text` and an empty line to it. Returns false after a message. */
bool plumb_cli_append(const struct plumb_cli_command *command, const char *path, const char *text);
/* Says, once, that standard output cannot be written: `why` is an errno, 0 where it is lost. */
void plumb_cli_stdout_failed(int why);
/* Returns whether `path` is a recording: the file or directory `run`, or a file that plumb keeps in
 * it. A slip in the command line must not overwrite it. */
bool plumb_cli_is_run(const char *run, const char *path);
/* Makes the folders above the last name of `path`, unless that is "-". Returns false after a
 * message. */
bool plumb_cli_make_above(const struct plumb_cli_command *command, const char *path);

/* say.c */
/* "plumb record: ..." on stderr, and a newline. */
void plumb_cli_say(const struct plumb_cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for each line of `text`. */
void plumb_cli_say_lines(const struct plumb_cli_command *command, const char *text);
/* Copies `text` with control characters as \xHH to `out`, cut to its size. Returns `out`. */
const char *plumb_cli_clean(char *out, size_t room, const char *text);
/* Returns whether stdout takes colour codes (a terminal, no NO_COLOR, no TERM=dumb). */
bool plumb_cli_colour(void);
/* "1.5 MiB" */
const char *plumb_cli_bytes(char out[32], uint64_t bytes);

/* cmd_activations.c: renders the recording at `path` (NULL: the newest run) to the file `output`
 * (NULL: stdout). Messages begin with the name of `command`. Returns the exit status. */
int plumb_cli_show_activation_log(const struct plumb_cli_command *command, const char *path,
                                  const plumb_activation_log_view *view, const char *output);

/* cmd_gate.c: appends the report of a decided gate as Markdown to the file that GITHUB_STEP_SUMMARY
 * names. A failure is a message. */
void plumb_cli_gate_summary(const struct plumb_cli_command *command, const plumb_gate_report *gate);

/* help.c */
void plumb_cli_show_help(const struct plumb_cli_command *command, FILE *out);

#endif
