/* otlp.h: the requests of a run as OTLP traces in JSON (opentelemetry.proto.trace.v1, in the JSON
 * mapping of protobuf with ids in hex): a request is a trace, or a span of its caller's trace, and
 * its stages are spans. No state; any thread. */
#ifndef PLUMB_REPORT_EXPORT_OTLP_H
#define PLUMB_REPORT_EXPORT_OTLP_H

#include "base/buf.h"
#include "model/timing.h"

struct plumb_otlp_wish {
    const char *service; /* service.name; NULL: the name of the run's default pipeline */
    int indent;          /* of the JSON; 0: on one line */
    bool open_too;       /* requests that have not ended: nothing of the run will come any more */
    bool killed;         /* the process was killed */
    size_t max;          /* requests; 0: all */
    /* Chooses requests by their number; NULL: all. */
    bool (*wanted)(void *arg, uint64_t number);
    void *arg;
};
struct plumb_otlp_written {
    uint64_t requests, spans;
    uint64_t stages_lost;     /* runs of stages of these requests that the run did not keep */
    uint64_t parents_ignored; /* invalid traceparents ... */
    const char *why_ignored;  /* ... and why, of the first; lives for ever */
    bool more;                /* `max` left some out */
};

/* Appends one TracesData object. With no request it is an object without spans, which a collector
 * accepts. PLUMB_ERR_MEMORY. */
int plumb_otlp_write(struct plumb_buf *out, const struct plumb_timing *t,
                     const struct plumb_otlp_wish *wish, struct plumb_otlp_written *written,
                     plumb_error *err);

#endif
