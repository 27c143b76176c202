/* settings.h: the one table of settings. PLUMB_* variables, the options of `plumb record` and the
 * help text all follow from it.
 *
 * Precedence: variable > plumb_options > default. So a struct is filled by
 * plumb_settings_default(), plumb_settings_apply() and plumb_settings_from_env(), in this order.
 * Any thread, as long as the environment does not change during the call. */
#ifndef PLUMB_CONFIG_SETTINGS_H
#define PLUMB_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include <plumb/run.h>

/* LIST: names, several hundred of them. */
enum { PLUMB_SETTINGS_PATH = 1024, PLUMB_SETTINGS_NAME = 512, PLUMB_SETTINGS_LIST = 16384 };

struct plumb_setting;

struct plumb_settings {
    uint32_t recording; /* enum plumb_switch: the variable PLUMB; PLUMB_OFF wins over the program */
    const struct plumb_setting
        *implied_by; /* its variable's value asks for recording; NULL: none */
    char dir[PLUMB_SETTINGS_PATH];
    char trace_dir[PLUMB_SETTINGS_PATH];     /* "": not set; else `trace`, below it not `dir` */
    char run_dir[PLUMB_SETTINGS_PATH];       /* "": made below `dir` */
    char pipeline[PLUMB_SETTINGS_NAME];      /* "": the program's name */
    char timing_report[PLUMB_SETTINGS_PATH]; /* "": timing.json in the run directory only */
    uint64_t record_pid;
    char record_log[PLUMB_SETTINGS_PATH];
    char collect[PLUMB_SETTINGS_NAME];
    char count[PLUMB_SETTINGS_LIST]; /* names of C++ are long */
    char calls_table[PLUMB_SETTINGS_PATH];
    char library[PLUMB_SETTINGS_PATH];
    uint64_t max_nodes;
    uint64_t max_state_bytes;
    uint64_t ring_bytes;
    uint64_t skip_first_n;
    bool sync;
    bool debug;
    bool signals;
    bool helper;
    bool quiet;
    bool control;
    uint32_t median;      /* enum plumb_median: SKETCH or P2 */
    uint32_t log_level;   /* enum plumb_log; 0: silent */
    uint32_t clock;       /* enum plumb_clock_choice */
    uint32_t fork;        /* enum plumb_fork */
    uint32_t verify;      /* enum plumb_verify_choice */
    uint32_t memory;      /* enum plumb_memory_choice */
    uint32_t memory_peak; /* enum plumb_memory_peak */
    uint64_t memory_interval_ms;
    bool memory_checkpoints;
    uint32_t signature;                /* enum plumb_signature_choice */
    char capture[PLUMB_SETTINGS_NAME]; /* "denoise" or "denoise:7"; "": none */
    uint64_t capture_bytes;
    bool trace;
    uint32_t trace_mode; /* enum plumb_trace_mode */
    uint64_t trace_max_bytes;
    uint64_t trace_ring_bytes;
    char keep_signal[PLUMB_SETTINGS_NAME]; /* "USR2", "SIGUSR2" or "12"; "": none */
    char keep_if[PLUMB_SETTINGS_NAME];     /* "NODE>50ms", separated by commas; "": none */
    char trace_steps[PLUMB_SETTINGS_NAME]; /* "10-12,40"; "": all */
    bool trace_shapes, trace_memory, trace_flops, trace_stack;
    uint64_t trace_stack_depth;
    char regions[PLUMB_SETTINGS_LIST];     /* "": not set; names separated by commas, or "*" */
    uint32_t region_scope;                 /* enum plumb_region_scope */
    uint32_t region_check;                 /* enum plumb_region_check */
    char trace_nodes[PLUMB_SETTINGS_LIST]; /* shell patterns separated by commas; "": none */
    uint32_t nvtx;                         /* enum plumb_nvtx_choice; never PLUMB_NVTX_DEFAULT */
    bool activations;
    char activations_layers[PLUMB_SETTINGS_NAME];
    char activations_stats[PLUMB_SETTINGS_NAME];
    char activations_steps[PLUMB_SETTINGS_NAME];
    char activations_output[PLUMB_SETTINGS_PATH];
    bool activations_append;
    uint32_t activations_queue; /* enum plumb_activations_queue */
    char activations_dump[PLUMB_SETTINGS_NAME];
    uint64_t activations_dump_bytes;
    plumb_log_fn log; /* from plumb_options only; NULL: stderr */
    void *log_arg;
};

enum plumb_region_check { PLUMB_REGION_WARN = 0, PLUMB_REGION_ABORT = 1 };

enum plumb_setting_type {
    PLUMB_SETTING_SWITCH, /* uint32_t enum plumb_switch: text as BOOL; the empty default is "not
                             said" */
    PLUMB_SETTING_BOOL,   /* bool: 1, true, yes, on; 0, false, no, off, empty; any case */
    PLUMB_SETTING_UINT,   /* uint64_t */
    PLUMB_SETTING_SIZE,   /* uint64_t, bytes; suffixes K, M, G are powers of 1024 */
    PLUMB_SETTING_ENUM,   /* uint32_t: place of the text among `choices`, any case */
    PLUMB_SETTING_STRING  /* char[] */
};

struct plumb_setting {
    const char *name; /* "DIR": variable PLUMB_DIR, option --dir; "": the variable PLUMB */
    const char *default_text;
    const char *help;    /* one line */
    const char *choices; /* of ENUM, separated by '|'; of a SWITCH with more than "on|off" */
    enum plumb_setting_type type;
    bool implies_recording;
    bool hidden;         /* set by plumb itself for its children; not in the help */
    uint64_t min, max;   /* of UINT and SIZE; values outside are clamped */
    size_t offset, size; /* the member of struct plumb_settings */
};

const struct plumb_setting *plumb_settings_table(size_t *n);
/* Writes "PLUMB_MAX_NODES" or "--max-nodes" for a setting; cut if `size` is too small (64 is
 * enough). The master switch has no option: "". */
void plumb_setting_variable(char *out, size_t size, const struct plumb_setting *setting);
void plumb_setting_option(char *out, size_t size, const struct plumb_setting *setting);
/* Returns the setting of the variable or option `name`, or NULL. */
const struct plumb_setting *plumb_setting_find(const char *name);

/* Reads `text` into the member of `s`. Returns 0, or 1 if the value was clamped to its range (`err`
 * then has the new value), or PLUMB_ERR_ARG with nothing changed. An empty text leaves numbers,
 * choices and strings as they are. */
int plumb_setting_parse(const struct plumb_setting *setting, struct plumb_settings *s,
                        const char *text, plumb_error *err);

void plumb_settings_default(struct plumb_settings *s);
/* Takes every field of `options` that is not zero; `options` may be NULL. Errors: PLUMB_ERR_ARG if
 * a field is out of its range, PLUMB_ERR_MEMORY. After an error nothing has changed. */
int plumb_settings_apply(struct plumb_settings *s, const plumb_options *options, plumb_error *err);

/* `line` names the variable, what is wrong with it, and the value used instead. */
typedef void (*plumb_settings_warn_fn)(const char *line, void *arg);
/* Takes the values of the variables in `environment`. Warns about invalid values, which change
 * nothing, and about unknown names PLUMB_*. `warn` may be NULL. Returns the number of warnings. */
int plumb_settings_from_env(struct plumb_settings *s, char *const *environment,
                            plumb_settings_warn_fn warn, void *arg);
/* Returns whether recording begins by itself when the library is loaded. */
bool plumb_settings_wants_recording(const struct plumb_settings *s);

/* Returns whether the settings ask for a trace. */
bool plumb_settings_trace_is_on(const struct plumb_settings *s);
/* A setting that does nothing as it stands: "PLUMB_KEEP_IF", "without a trace", "PLUMB_TRACE=1". */
struct plumb_idle {
    const char *variable, *why, *cure; /* one `why` is one pointer */
};
/* Sets `out` to number `i` of them. Returns false if there are no more. */
bool plumb_settings_idle(const struct plumb_settings *s, size_t i, struct plumb_idle *out);

/* Appends the text of `plumb help environment`: a line for each variable. */
void plumb_settings_help(struct plumb_buf *out);

struct plumb_expand {
    const char *host;
    uint64_t pid;
    int32_t rank;             /* negative: unknown, written as 0 */
    char *const *environment; /* HOME and %q{NAME} */
};
/* Expands `~` at the start (before '/' or the end), %h host, %p pid, %r rank, %q{NAME} the variable
 * NAME, %% one '%'. On PLUMB_ERR_ARG `out` is "": the result does not fit, NAME or HOME is not set,
 * or another character follows '%'. */
int plumb_settings_expand(char *out, size_t size, const char *pattern,
                          const struct plumb_expand *values, plumb_error *err);

#endif
