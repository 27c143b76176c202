/* view.h: the checks of a gate in the format that the caller asks for. Each format is one `const`
 * struct in one array (view.c). Any thread; no state. */
#ifndef PLUMB_REPORT_GATE_VIEW_H
#define PLUMB_REPORT_GATE_VIEW_H

#include "analyze/gate/gate.h"
#include "base/buf.h"

struct plumb_gate_fact {
    const char *key, *value;
};

struct plumb_gate_sheet {
    const struct plumb_gate_case *gate;  /* evaluated */
    const struct plumb_gate_fact *facts; /* of the caller, to be handed on with the report */
    size_t fact_count;
    uint64_t unix_ns; /* when it was evaluated */
    const char *host;
};

/* Appends the report as "text", "md", "csv", "json", "junit" or "github", without a newline at its
 * end. PLUMB_ERR_ARG: no such format; PLUMB_ERR_MEMORY. */
int plumb_gate_render(struct plumb_buf *out, const struct plumb_gate_sheet *s, const char *format,
                      plumb_error *err);

/* Formats: table.c, json.c, junit.c, github.c. */
void plumb_gate_text(const struct plumb_gate_sheet *s, struct plumb_buf *out);
void plumb_gate_md(const struct plumb_gate_sheet *s, struct plumb_buf *out);
void plumb_gate_csv(const struct plumb_gate_sheet *s, struct plumb_buf *out);
void plumb_gate_json(const struct plumb_gate_sheet *s, struct plumb_buf *out);
void plumb_gate_junit(const struct plumb_gate_sheet *s, struct plumb_buf *out);
void plumb_gate_github(const struct plumb_gate_sheet *s, struct plumb_buf *out);

/* words.c: the parts that formats share. */
/* "12 ms", "2955 MB", "1024": the old value of a check, and the new one. */
void plumb_gate_put_old(struct plumb_buf *out, const struct plumb_gate_check *c);
void plumb_gate_put_new(struct plumb_buf *out, const struct plumb_gate_check *c);
/* "+5.1 %"; nothing for NaN. */
void plumb_gate_put_change(struct plumb_buf *out, double change);
/* "+3.1 % to +7.0 %": of the ratio to the old value. False: there is none. */
bool plumb_gate_put_interval(struct plumb_buf *out, const struct plumb_gate_check *c);
/* "decode, phase test, step 3, name x"; "(run)". Names as they are. */
void plumb_gate_put_place(struct plumb_buf *out, const struct plumb_gate_check *c);
/* "decode: peak_rss is 7823 MB, was 2955 MB (+164.7 %), limit <= old + 5 %; DETAIL" on one line. */
void plumb_gate_put_sentence(struct plumb_buf *out, const struct plumb_gate_check *c);
/* "3 checks of 2 rules: 1 pass, 2 regressions" */
void plumb_gate_put_total(struct plumb_buf *out, const struct plumb_gate_sheet *s);

#endif
