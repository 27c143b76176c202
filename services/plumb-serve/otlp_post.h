/* otlp_post.h: sends one text to a collector of OpenTelemetry, over HTTP or HTTPS. One thread at a
 * time, but for otlp_post_abort(). */
#ifndef PLUMB_SERVE_OTLP_POST_H
#define PLUMB_SERVE_OTLP_POST_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/error.h>

struct otlp_post;

/* Opens the way to `url`: http or https; without a path it gets /v1/traces. Further headers are in
 * OTEL_EXPORTER_OTLP_TRACES_HEADERS, else OTEL_EXPORTER_OTLP_HEADERS, and the certificates that are
 * trusted from OTEL_EXPORTER_OTLP_CERTIFICATE, else from the system. Nothing is sent yet.
 * PLUMB_ERR_ARG: the URL or a header is not valid. */
int otlp_post_open(struct otlp_post **out, const char *url, plumb_error *err);
void otlp_post_close(struct otlp_post *post);
/* Returns the URL, without a password. */
const char *otlp_post_url(const struct otlp_post *post);

enum otlp_answer {
    OTLP_TAKEN = 0,
    OTLP_LATER = 1,  /* no answer, or one that asks to try again */
    OTLP_REFUSED = 2 /* it would be refused again */
};
struct otlp_reply {
    char why[256];          /* of an answer other than OTLP_TAKEN, and of rejected spans */
    uint64_t rejected;      /* spans of a text that was taken in part */
    uint64_t retry_after_s; /* the collector asks for this pause; 0: it does not */
};
/* Sends `text`, JSON, and waits for the answer, 10 s at most. */
enum otlp_answer otlp_post_send(struct otlp_post *post, const char *text, size_t bytes,
                                struct otlp_reply *reply);
/* Any thread: ends the call of otlp_post_send() that runs, and every later one. */
void otlp_post_abort(struct otlp_post *post);

#endif
