/* command.h: executes a request of a front end and makes its response. */
#ifndef PLUMB_RECORD_CONTROL_COMMAND_H
#define PLUMB_RECORD_CONTROL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A response with its length in front, in pages of its own. */
struct plumb_control_reply {
    unsigned char *bytes; /* NULL: none */
    size_t cap, len;      /* len 0: out of memory */
};

/* The run and the trace that the process ends when a connection ends; 0: none. */
struct plumb_control_lease {
    uint32_t run;    /* the number of a run (plumb_run.generation) */
    uint32_t window; /* of a part that is traced (plumb_trace_window_number()) */
};

/* Maps pages that a forked child does not have; NULL: out of memory. */
void *plumb_control_pages(size_t bytes);
void plumb_control_pages_free(void *pages, size_t bytes); /* NULL is ignored */
void plumb_control_reply_free(struct plumb_control_reply *out);

/* Returns whether a request only reads the state of the process: it is answered without the
 * helper. `*wait_ms`: for how long at most the answer waits for the end of a trace. */
bool plumb_control_is_quick(const unsigned char *request, size_t n, uint32_t *wait_ms);
/* Executes it. On the helper; a quick one on any thread of plumb's. An error of the request
 * is reported in the response. `lease` gets a run or a trace that is to end with the connection. */
void plumb_control_execute(struct plumb_control_reply *out, struct plumb_control_lease *lease,
                           const unsigned char *request, size_t n);
/* Ends what the lease names, if it is still open. On the helper. */
void plumb_control_give_back(const struct plumb_control_lease *lease);
/* Makes the response for a front end that is one too many. */
void plumb_control_refuse(struct plumb_control_reply *out);

#endif
