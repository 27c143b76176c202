/* export.h: write the trace of a run in the format of another tool. Part of libplumb-read;
 * plumb/read.h has the rules of all its headers. */
#ifndef PLUMB_READ_EXPORT_H
#define PLUMB_READ_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_export_options {
    size_t size;        /* sizeof(plumb_export_options) */
    const char *format; /* NULL: "chrome"; see plumb_export_format_name() */
    /* A file (compressed when its name ends in ".gz"), or a folder, which exists or whose name ends
     * in '/': a file of the default name in it. NULL: the same in the working directory. */
    const char *output;
    /* Receives the bytes instead of a file, uncompressed; returns less than 0 if it cannot take
     * them. `output` is then only the name that the trace gives itself. Not for formats that are
     * folders. */
    int (*write)(void *arg, const void *bytes, size_t n);
    /* Progress callback, called periodically with (done, all). NULL: none. */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg; /* of both */
} plumb_export_options;

/* Returns options with every field at its default. */
static inline plumb_export_options plumb_export_options_default(void)
{
    plumb_export_options o = {sizeof(plumb_export_options), NULL, NULL, NULL, NULL, NULL};
    return o;
}

typedef struct plumb_exported {
    char path[4096];   /* of the output; "" with write() */
    uint64_t bytes;    /* 0 for a folder */
    uint64_t spans;    /* slices of the trace */
    uint32_t replaced; /* 1: a file of that name was there before */
    uint32_t folder;   /* 1: `path` is a folder */
    char *remarks;     /* lost or incomplete data, a line each; plumb_read_free() */
} plumb_exported;

/* Writes the trace of a run, or of a file, in the format of another tool. `run` as for
 * plumb_report_open(), or the file. The output file is complete or does not appear. Errors:
 * PLUMB_ERR_NOT_FOUND: no such run, or it has no trace; PLUMB_ERR_FORMAT: the trace is damaged, or
 * is not one; PLUMB_ERR_ARG: no such format, it cannot take this trace, or it is a folder and there
 * is `write`; PLUMB_ERR_STATE: the output is the trace itself, or an existing folder; PLUMB_ERR_IO:
 * it cannot be read or written. The caller frees `out->remarks` with plumb_read_free(). Cost: that
 * of plumb_trace_open(), and O(bytes written). */
PLUMB_API int plumb_export(plumb_exported *out, const char *run,
                           const plumb_export_options *options, plumb_error *err);
/* Returns the name or the description of format `i`, or NULL beyond the last. The text lives as
 * long as the process. */
PLUMB_API const char *plumb_export_format_name(size_t i);
PLUMB_API const char *plumb_export_format_help(size_t i);

#ifdef __cplusplus
}
#endif
#endif
