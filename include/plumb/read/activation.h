/* activation.h: read the recorded outputs of layers, and render views of them. Part of
 * libplumb-read; plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_ACTIVATION_H
#define PLUMB_READ_ACTIVATION_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The outputs of the layers of one run: statistics of each tensor of each call of a module. */
typedef struct plumb_activation_log plumb_activation_log;

/* Reads recorded activations: JSONL of plumb or of FastVideo, a dump.json of msprobe, .npy or
 * .safetensors files (their statistics are computed), a folder of these, one for each step, or a
 * run directory (the newest one in a folder of runs); also the name of a run, or NULL: the newest
 * run. The format is detected from the contents. Errors: PLUMB_ERR_NOT_FOUND: there is no such file
 * or run, or no record in it; PLUMB_ERR_FORMAT: of another kind, empty, or damaged, and where;
 * PLUMB_ERR_IO: it cannot be read. */
PLUMB_API int plumb_activation_log_open(plumb_activation_log **out, const char *path,
                                        plumb_error *err);
/* Frees the log. */
PLUMB_API void plumb_activation_log_close(plumb_activation_log *log);
/* Returns the number of records. */
PLUMB_API uint64_t plumb_activation_log_records(const plumb_activation_log *log);

enum plumb_activations_kind {
    PLUMB_ACTIVATIONS_SUMMARY = 0,  /* suspect values, and a row for each layer */
    PLUMB_ACTIVATIONS_STEPS = 1,    /* a row for each layer and step */
    PLUMB_ACTIVATIONS_SUSPECTS = 2, /* suspect values only: NaN, infinite, near the largest value of
                                       the type, all zero, constant */
};
typedef struct plumb_activation_log_view {
    size_t size;        /* sizeof(plumb_activation_log_view) */
    const char *format; /* "text", "json", "csv" or "md"; NULL: text */
    const char *module; /* extended regular expression, searched for in module names; NULL: all */
    uint64_t top;       /* rows of each table; 0: all, but 10 suspects in a summary */
    uint32_t kind;      /* enum plumb_activations_kind */
    uint32_t explain;   /* 1: what the columns mean (text, md) */
} plumb_activation_log_view;

/* Returns a view with every field at its default. */
static inline plumb_activation_log_view plumb_activation_log_view_default(void)
{
    plumb_activation_log_view v = {sizeof(plumb_activation_log_view), NULL, NULL, 0, 0, 0};
    return v;
}

/* Renders the view as text, without a newline at its end. Errors: PLUMB_ERR_ARG: no such format, or
 * an invalid expression; PLUMB_ERR_NOT_FOUND: no module matches. */
PLUMB_API int plumb_activation_log_render(char **out, const plumb_activation_log *log,
                                          const plumb_activation_log_view *view, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
