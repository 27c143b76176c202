/* otlp.h: requests of a run as OpenTelemetry traces, in the JSON of OTLP. Part of libplumb-read;
 * plumb/read.h has the rules of all its headers, docs/otlp.md what a trace holds.
 *
 *     plumb_otlp *otlp;
 *     plumb_otlp_batch batch;
 *     int rc = plumb_otlp_open(&otlp, run, NULL, &err);
 *     while (rc == 0 && (rc = plumb_otlp_next(&batch, otlp, &err)) == 1) {
 *         rc = post(batch.json, batch.bytes);
 *         plumb_read_free(batch.json);
 *     }
 *     plumb_otlp_close(otlp); */
#ifndef PLUMB_READ_OTLP_H
#define PLUMB_READ_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>
#include <plumb/read/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The requests of a run that have not been exported yet. One thread at a time. */
typedef struct plumb_otlp plumb_otlp;

typedef struct plumb_otlp_options {
    size_t size;           /* sizeof(plumb_otlp_options) */
    const char *service;   /* service.name; NULL: the name of the run's default pipeline */
    uint64_t max_requests; /* of one batch; 0: all */
    uint32_t pretty;       /* 1: with line breaks; 0: on one line */
    uint32_t reserved;
} plumb_otlp_options;

/* Returns options with every field at its default. */
static inline plumb_otlp_options plumb_otlp_options_default(void)
{
    plumb_otlp_options o = {sizeof(plumb_otlp_options), NULL, 0, 0, 0};
    return o;
}

typedef struct plumb_otlp_batch {
    char *json;               /* one TracesData object; plumb_read_free() */
    size_t bytes;             /* of it, without the NUL */
    uint64_t requests, spans; /* in it */
    uint64_t stages_lost;     /* runs of their stages that the run no longer keeps */
    uint64_t requests_lost;   /* that the run no longer keeps and no batch had, so far */
    uint64_t parents_ignored; /* invalid traceparents ... */
    const char *why_ignored;  /* ... and why, of the first; NULL: none. Lives for ever */
    uint32_t more;            /* 1: further requests wait, max_requests was reached */
    uint32_t over;            /* 1: the run has ended, or its process was killed */
    char name[256];           /* "HOST_PID_rankR.START.otlp.json": names a file for it */
} plumb_otlp_batch;

/* Makes a reader of a run, which is read by the calls of plumb_otlp_next(). `run` as for
 * plumb_report_open(). `options`: NULL for the defaults. Errors: PLUMB_ERR_ARG: options without a
 * size. */
PLUMB_API int plumb_otlp_open(plumb_otlp **out, const char *run, const plumb_otlp_options *options,
                              plumb_error *err);
/* Frees the reader. */
PLUMB_API void plumb_otlp_close(plumb_otlp *otlp);
/* Reads the run as it is now, and makes a batch of the requests that have ended since the last one;
 * of a run that is over, also of those that never did. Returns 1 with a batch; or 0 if no request
 * has ended since, and then of `out` only requests_lost and over are set. The ids of a request are
 * the same whenever it is exported. Errors: those of plumb_report_open(). */
PLUMB_API int plumb_otlp_next(plumb_otlp_batch *out, plumb_otlp *otlp, plumb_error *err);

#ifdef __cplusplus
}
#endif
#endif
