/* settings.c: the table of settings, reading text into them, and their help. No state; the table is
 * constant. The values come from settings_options.c and settings_env.c. */
#include "config/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ascii.h"

#define MEMBER(member)                                                                             \
    .offset = offsetof(struct plumb_settings, member),                                             \
    .size = sizeof(((struct plumb_settings *)0)->member)
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)

static const struct plumb_setting table[] = {
    {.name = "",
     .type = PLUMB_SETTING_SWITCH,
     .default_text = "",
     MEMBER(recording),
     .help = "on: record from the start; off: never record, even if the program asks for it"},
    {.name = "DIR",
     .type = PLUMB_SETTING_STRING,
     .default_text = "plumb-out",
     MEMBER(dir),
     .help = "parent of run directories; ~ %h %p %r %q{NAME} are expanded"},
    {.name = "TRACE_DIR",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(trace_dir),
     .implies_recording = true,
     .help = "sets DIR and turns the trace on; with TRACE=0 sets DIR alone"},
    {.name = "RUN_DIR",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(run_dir),
     .implies_recording = true,
     .help = "the run directory itself; refused if it already holds a run"},
    {.name = "TIMING_REPORT",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(timing_report),
     .implies_recording = true,
     .help = "path of a copy of timing.json; folders are created, ~ %h %p %r %q{NAME} expanded"},
    {.name = "PIPELINE",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(pipeline),
     .help = "name of the default pipeline, instead of the program's name"},
    {.name = "SKIP_FIRST",
     .type = PLUMB_SETTING_UINT,
     .default_text = "0",
     MEMBER(skip_first_n),
     .max = INT64_MAX,
     .help = "samples dropped at the start of each (pipeline, phase, node)"},
    {.name = "SYNC",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(sync),
     .help = "synchronise the device before each clock read"},
    {.name = "MEDIAN",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "sketch",
     MEMBER(median),
     .choices = "sketch|p2",
     .help = "estimator of the median"},
    {.name = "DEBUG",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(debug),
     .help = "record debug spans as well"},
    {.name = "MAX_NODES",
     .type = PLUMB_SETTING_UINT,
     .default_text = "4096",
     MEMBER(max_nodes),
     .min = 1,
     .max = 1048575,
     .help = "maximum number of nodes; further ones are counted under (other)"},
    {.name = "MAX_STATE",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "256M",
     MEMBER(max_state_bytes),
     .min = 64 * KIB,
     .max = TIB,
     .help = "maximum memory for statistics and records"},
    {.name = "RING",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "16K",
     MEMBER(ring_bytes),
     .min = 4 * KIB,
     .max = 16 * MIB,
     .help = "size of a thread's ring of records; each full half is folded into the statistics"},
    {.name = "CLOCK",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "auto",
     MEMBER(clock),
     .choices = "auto|tsc|monotonic|virtual",
     .help = "source of time stamps; virtual: advanced by a program, for tests (plumb/fake.h)"},
    {.name = "MEMORY",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "stages",
     MEMBER(memory),
     .choices = "stages|all|off",
     .help = "nodes whose memory is measured"},
    {.name = "MEMORY_PEAK",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "sampled",
     MEMBER(memory_peak),
     .choices = "sampled|exact",
     .help = "peak of the resident set: the highest sample, or exact, reset by each stage"},
    {.name = "MEMORY_INTERVAL",
     .type = PLUMB_SETTING_UINT,
     .default_text = "10",
     MEMBER(memory_interval_ms),
     .max = 3600000,
     .help = "ms between memory samples, increasing in long runs; 0: no samples"},
    {.name = "MEMORY_CHECKPOINTS",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(memory_checkpoints),
     .help = "take a memory checkpoint before and after each stage"},
    {.name = "VERIFY",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "off",
     MEMBER(verify),
     .choices = "off|warn|fail",
     .help = "check inputs and outputs of stages: report, or also count the stage as failed"},
    {.name = "SIGNATURE",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "shapes",
     MEMBER(signature),
     .choices = "shapes|full|off",
     .help = "record inputs and outputs of stages; full: with statistics of the values"},
    {.name = "CAPTURE",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(capture),
     .implies_recording = true,
     .help = "keep the inputs of one call of a stage (denoise) or of one step (denoise:7)"},
    {.name = "CAPTURE_BYTES",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "1G",
     MEMBER(capture_bytes),
     .min = 1,
     .max = INT64_MAX,
     .help = "maximum size of captured inputs, which are copied into memory first"},
    {.name = "COLLECT",
     .type = PLUMB_SETTING_STRING,
     .default_text = "auto",
     MEMBER(collect),
     .implies_recording = true,
     .help = "collectors: none, auto (those that find their device), or names"},
    {.name = "TRACE",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(trace),
     .implies_recording = true,
     .help = "write trace.pftrace, the timeline of the run, into its directory"},
    {.name = "TRACE_MAX",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "64M",
     MEMBER(trace_max_bytes),
     .min = 64 * KIB,
     .max = TIB,
     .help = "maximum size of the trace; later events are counted, not written"},
    {.name = "TRACE_MODE",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "stop",
     MEMBER(trace_mode),
     .choices = "stop|ring",
     .help = "write until the maximum is reached, or keep the newest records until asked"},
    {.name = "TRACE_RING",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "1M",
     MEMBER(trace_ring_bytes),
     .min = 16 * KIB,
     .max = 256 * MIB,
     .help = "memory of a thread for records that wait for the writer, or to be kept"},
    {.name = "KEEP_SIGNAL",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(keep_signal),
     .help = "signal that saves the newest records (TRACE_MODE=ring), for example USR2"},
    {.name = "KEEP_IF",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(keep_if),
     .help = "slow spans that save them: denoise_step>50ms; several separated by commas"},
    {.name = "TRACE_STEPS",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(trace_steps),
     .help = "trace only the spans of these steps: 10-12,40"},
    {.name = "TRACE_SHAPES",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(trace_shapes),
     .help = "add inputs and outputs of stages to the trace, as arguments"},
    {.name = "TRACE_MEMORY",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(trace_memory),
     .help = "add the memory of each pool to the trace, as a counter"},
    {.name = "TRACE_FLOPS",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(trace_flops),
     .help = "add arguments named `flops`, and FLOP/s, to the trace"},
    {.name = "TRACE_STACK",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(trace_stack),
     .help = "add the call stack of each span's begin to the trace"},
    {.name = "TRACE_STACK_DEPTH",
     .type = PLUMB_SETTING_UINT,
     .default_text = "8",
     MEMBER(trace_stack_depth),
     .min = 1,
     .max = 16,
     .help = "maximum number of frames of such a stack"},
    {.name = "REGIONS",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(regions),
     .implies_recording = true,
     .help = "trace only these regions, separated by commas; * for all"},
    {.name = "REGION_SCOPE",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "thread",
     MEMBER(region_scope),
     .choices = "thread|process",
     .help = "spans that a region selects: those of its thread, or of the whole process"},
    {.name = "REGION_CHECK",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "warn",
     MEMBER(region_check),
     .choices = "warn|abort",
     .help = "if REGIONS names no existing region: warn and do not trace, or end the program"},
    {.name = "TRACE_NODES",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(trace_nodes),
     .implies_recording = true,
     .help = "nodes with trace files of their own: shell patterns, separated by commas"},
    {.name = "NVTX",
     .type = PLUMB_SETTING_SWITCH,
     .default_text = "off",
     MEMBER(nvtx),
     .choices = "on|off|always",
     .help = "emit an NVTX range for each span if a GPU is present, or always"},
    {.name = "ACTIVATIONS",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(activations),
     .implies_recording = true,
     .help = "record statistics of each tensor that layers report"},
    {.name = "ACTIVATIONS_LAYERS",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(activations_layers),
     .help = "regular expression, searched for in module paths; empty: all"},
    {.name = "ACTIVATIONS_STATS",
     .type = PLUMB_SETTING_STRING,
     .default_text = "abs_mean,sum",
     MEMBER(activations_stats),
     .help = "statistics to record, in this order"},
    {.name = "ACTIVATIONS_STEPS",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(activations_steps),
     .help = "steps to record: 0,5-9; empty: all"},
    {.name = "ACTIVATIONS_OUTPUT",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(activations_output),
     .help = "file of the records; folders are created, ~ %h %p <pid> %r %q{NAME} expanded"},
    {.name = "ACTIVATIONS_APPEND",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(activations_append),
     .help = "append to that file instead of overwriting it"},
    {.name = "ACTIVATIONS_QUEUE",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "block",
     MEMBER(activations_queue),
     .choices = "block|drop",
     .help = "if records come faster than they can be written: wait, or drop and count them"},
    {.name = "ACTIVATIONS_DUMP",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(activations_dump),
     .help = "regular expression: modules whose tensors are saved whole, as safetensors"},
    {.name = "ACTIVATIONS_DUMP_BYTES",
     .type = PLUMB_SETTING_SIZE,
     .default_text = "1G",
     MEMBER(activations_dump_bytes),
     .min = 1,
     .max = INT64_MAX,
     .help = "maximum size of all tensors saved whole"},
    {.name = "COUNT",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(count),
     .help = "functions whose calls are counted: LIBRARY:FUNCTION,..."},
    {.name = "FORK",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "follow",
     MEMBER(fork),
     .choices = "follow|off",
     .help = "a forked child records a run of its own, or nothing"},
    {.name = "SIGNALS",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "on",
     MEMBER(signals),
     .help = "end the run on SIGTERM and SIGINT if the program does not handle them"},
    {.name = "HELPER",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "on",
     MEMBER(helper),
     .help = "use a helper thread; off: no memory samples, no trace, no activations"},
    {.name = "QUIET",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(quiet),
     .help = "print no end block on stderr"},
    {.name = "CONTROL",
     .type = PLUMB_SETTING_BOOL,
     .default_text = "off",
     MEMBER(control),
     .help = "take commands of this user's plumb ps, attach, top and serve while running"},
    {.name = "LOG",
     .type = PLUMB_SETTING_ENUM,
     .default_text = "silent",
     MEMBER(log_level),
     .choices = "silent|error|warn|info|debug",
     .help = "log lines that are printed on stderr while running"},
    {.name = "LIBRARY",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(library),
     .hidden = true,
     .help = "the libplumb that `plumb record` loads; read by the command alone"},
    {.name = "CALLS_TABLE",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(calls_table),
     .hidden = true,
     .help = "functions of `plumb record --calls`"},
    {.name = "RECORD_LOG",
     .type = PLUMB_SETTING_STRING,
     .default_text = "",
     MEMBER(record_log),
     .hidden = true,
     .help = "file to which each recorded process appends lines"},
    {.name = "RECORD_PID",
     .type = PLUMB_SETTING_UINT,
     .default_text = "0",
     MEMBER(record_pid),
     .max = INT32_MAX,
     .hidden = true,
     .help = "the process that `plumb record` started"},
};
enum { TABLE_SIZE = sizeof table / sizeof table[0] };

const struct plumb_setting *plumb_settings_table(size_t *n)
{
    *n = TABLE_SIZE;
    return table;
}

void plumb_setting_variable(char *out, size_t size, const struct plumb_setting *setting)
{
    snprintf(out, size, "PLUMB%s%s", *setting->name ? "_" : "", setting->name);
}

void plumb_setting_option(char *out, size_t size, const struct plumb_setting *setting)
{
    snprintf(out, size, "%s%s", *setting->name ? "--" : "", setting->name);
    for (char *p = out; *p; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
        else if (*p == '_')
            *p = '-';
    }
}

const struct plumb_setting *plumb_setting_find(const char *name)
{
    char variable[64];
    char option[64];
    for (size_t i = 0; i < TABLE_SIZE && *name; i++) {
        plumb_setting_variable(variable, sizeof variable, &table[i]);
        plumb_setting_option(option, sizeof option, &table[i]);
        if (strcmp(name, variable) == 0 || strcmp(name, option) == 0)
            return &table[i];
    }
    return NULL;
}

/* ---- Text to value --------------------------------------------------------------------------- */

/* 1, 0, or -1 when `text` is neither. */
static int parse_bool(const char *text)
{
    static const char *const words[] = {"1", "true", "yes", "on", "0", "false", "no", "off", ""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (plumb_ascii_equal(text, words[i]))
            return i < 4;
    return -1;
}

static int suffix_shift(const char *text)
{
    static const char *const suffixes[] = {"", "k", "m", "g"};
    for (int i = 0; i < 4; i++)
        if (plumb_ascii_equal(text, suffixes[i]))
            return 10 * i;
    return -1;
}

/* Saturates at UINT64_MAX. Returns false if `text` is not a number. */
static bool parse_number(const char *text, bool with_suffix, uint64_t *out)
{
    uint64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    int shift = with_suffix ? suffix_shift(text + digits) : 0;
    if (digits == 0 || shift < 0 || (!with_suffix && text[digits]))
        return false;
    for (size_t i = 0; i < digits; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : 10 * value + digit;
    }
    *out = value > UINT64_MAX >> shift ? UINT64_MAX : value << shift;
    return true;
}

/* The place of `text` among "a|b|c", or -1. */
static int parse_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    int place = 0;
    for (const char *p = choices;; place++) {
        size_t n = strcspn(p, "|");
        if (n == len && plumb_ascii_equal_n(p, text, n))
            return place;
        if (!p[n])
            return -1;
        p += n + 1;
    }
}

static int store_bool(const struct plumb_setting *setting, void *member, const char *text,
                      plumb_error *err)
{
    int value = parse_bool(text);
    /* A word that a switch has after on (1) and off (2). */
    int place = value < 0 && setting->choices ? parse_choice(setting->choices, text) : -1;
    if (place > 1) {
        *(uint32_t *)member = (uint32_t)place + 1;
        return PLUMB_OK;
    }
    if (value < 0 && setting->choices)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.80s' is not one of %s", text, setting->choices);
    if (value < 0)
        return plumb_fail(err, PLUMB_ERR_ARG,
                          "'%.80s' is neither 1, true, yes, on nor 0, false, no, off", text);
    if (setting->type == PLUMB_SETTING_BOOL)
        *(bool *)member = value;
    else
        *(uint32_t *)member = value ? PLUMB_ON : PLUMB_OFF;
    return PLUMB_OK;
}

static int store_number(const struct plumb_setting *setting, void *member, const char *text,
                        plumb_error *err)
{
    bool is_size = setting->type == PLUMB_SETTING_SIZE;
    uint64_t value = 0;
    if (!parse_number(text, is_size, &value))
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.80s' is not a number%s", text,
                          is_size ? " of bytes (K, M or G may follow)" : "");
    uint64_t kept = value < setting->min   ? setting->min
                    : value > setting->max ? setting->max
                                           : value;
    *(uint64_t *)member = kept;
    if (kept == value)
        return PLUMB_OK;
    plumb_fail(err, PLUMB_ERR_ARG,
               "%.80s is not between %" PRIu64 " and %" PRIu64 "; using %" PRIu64, text,
               setting->min, setting->max, kept);
    return 1;
}

static int store_choice(const struct plumb_setting *setting, void *member, const char *text,
                        plumb_error *err)
{
    int place = parse_choice(setting->choices, text);
    if (place < 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.80s' is not one of %s", text, setting->choices);
    *(uint32_t *)member = (uint32_t)place;
    return PLUMB_OK;
}

static int store_string(const struct plumb_setting *setting, void *member, const char *text,
                        plumb_error *err)
{
    size_t len = strlen(text);
    if (len >= setting->size)
        return plumb_fail(err, PLUMB_ERR_ARG, "'%.40s...' is longer than %zu bytes", text,
                          setting->size - 1);
    memcpy(member, text, len + 1);
    return PLUMB_OK;
}

int plumb_setting_parse(const struct plumb_setting *setting, struct plumb_settings *s,
                        const char *text, plumb_error *err)
{
    void *member = (char *)s + setting->offset;
    switch (setting->type) {
    case PLUMB_SETTING_SWITCH:
    case PLUMB_SETTING_BOOL:
        return store_bool(setting, member, text, err);
    case PLUMB_SETTING_UINT:
    case PLUMB_SETTING_SIZE:
        return *text ? store_number(setting, member, text, err) : PLUMB_OK;
    case PLUMB_SETTING_ENUM:
        return *text ? store_choice(setting, member, text, err) : PLUMB_OK;
    case PLUMB_SETTING_STRING:
        return *text ? store_string(setting, member, text, err) : PLUMB_OK;
    }
    return plumb_fail(err, PLUMB_ERR_ARG, "unknown type of setting");
}

void plumb_settings_default(struct plumb_settings *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (*table[i].default_text)
            plumb_setting_parse(&table[i], s, table[i].default_text, NULL);
}

/* ---- Help ------------------------------------------------------------------------------------ */

static const char *values_of(const struct plumb_setting *setting)
{
    switch (setting->type) {
    case PLUMB_SETTING_SWITCH:
    case PLUMB_SETTING_BOOL:
        return setting->choices ? setting->choices : "on|off";
    case PLUMB_SETTING_UINT:
        return "number";
    case PLUMB_SETTING_SIZE:
        return "bytes";
    case PLUMB_SETTING_ENUM:
        return setting->choices;
    case PLUMB_SETTING_STRING:
        return "text";
    }
    return "";
}

void plumb_settings_help(struct plumb_buf *out)
{
    char variable[64];
    int width = 0;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        plumb_setting_variable(variable, sizeof variable, &table[i]);
        if (!table[i].hidden && (int)strlen(variable) > width)
            width = (int)strlen(variable);
    }
    plumb_buf_printf(out, "%-*s %-10s Meaning (values)\n", width, "Variable", "Default");
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const struct plumb_setting *t = &table[i];
        if (t->hidden)
            continue;
        plumb_setting_variable(variable, sizeof variable, t);
        plumb_buf_printf(out, "%-*s %-10s %s (%s)%s\n", width, variable,
                         *t->default_text ? t->default_text : "-", t->help, values_of(t),
                         t->implies_recording ? "; turns recording on" : "");
    }
}
