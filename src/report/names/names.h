/* names.h: the names that plumb's predecessors use, and plumb's names for the same things.
 * docs/coming-from.md, `plumb help coming-from` and the lines of `plumb doctor` about predecessors'
 * variables come from one table: share/predecessors.tsv, which tools/check_coming_from.py checks.
 *
 * An open table never changes; any thread. Texts go into a buffer of the caller's, whose `failed`
 * is set when memory runs out. */
#ifndef PLUMB_REPORT_NAMES_NAMES_H
#define PLUMB_REPORT_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include <plumb/read/doctor.h>
#include <plumb/read/predecessor.h>

enum plumb_their_kind {
    PLUMB_THEIR_VARIABLE,
    PLUMB_THEIR_FUNCTION,
    PLUMB_THEIR_PARAMETER,
    PLUMB_THEIR_COMMAND,
    PLUMB_THEIR_OPTION,
    PLUMB_THEIR_ENDPOINT,
    PLUMB_THEIR_FILE,
    PLUMB_THEIR_LINE, /* on the console */
    PLUMB_THEIR_FIELD,
    PLUMB_THEIR_METRIC,
    PLUMB_THEIR_NAME, /* of a region, range, stage, layer */
    PLUMB_THEIR_VALUE
};

enum plumb_their_status {
    PLUMB_THEIR_WORKS,
    PLUMB_THEIR_PARTLY,
    PLUMB_THEIR_NOT_YET,
    PLUMB_THEIR_NOT_NEEDED /* nothing in plumb answers to it, and nothing has to */
};

/* The form of the values that one of their variables took. */
enum plumb_their_text {
    PLUMB_TEXT_ANY,      /* any text; empty is as good as unset */
    PLUMB_TEXT_PATH,     /* the same, where plumb would expand a percent sign */
    PLUMB_TEXT_NOT_ZERO, /* on unless it is exactly "0" */
    PLUMB_TEXT_INTEGER,  /* on unless 0; anything but an integer was an error */
    PLUMB_TEXT_TRUE,     /* on only for "true", in any case */
    PLUMB_TEXT_WORDS,    /* 1, true, yes, on; 0, false, no, off; anything else was on */
    PLUMB_TEXT_RANK,     /* a launcher's number, which plumb reads itself */
    PLUMB_TEXT_UNREAD    /* nothing: it was documented and never read */
};

struct plumb_predecessor {
    const char *row; /* of docs/rows.md: "FV-20" */
    enum plumb_their_kind kind;
    enum plumb_their_text text; /* of variables */
    /* The name in their spelling. <words in brackets>, '*' and '...' stand for any text of at least
     * one byte, unless the name has next to no other characters. */
    const char *name;
    const char *plumb; /* what to write instead, `<value>` where theirs goes; "": nothing */
    enum plumb_their_status status;
    const char *remark; /* what it is or was, and where plumb differs */
};

const struct plumb_predecessor *plumb_predecessors_all(const struct plumb_predecessors *t,
                                                       size_t *n);
/* load.c: reads a table from memory; `path` is for errors. */
int plumb_predecessors_parse(struct plumb_predecessors **out, const char *text, size_t size,
                             const char *path, plumb_error *err);
/* Sets kind, text and status from the words of the file; false: one of them is unknown. */
bool plumb_predecessor_words(struct plumb_predecessor *p, const char *kind, const char *text,
                             const char *status);
/* "FastVideo" */
const char *plumb_predecessor_system(const struct plumb_predecessor *p);
const char *plumb_predecessor_kind(const struct plumb_predecessor *p);
const char *plumb_predecessor_status(const struct plumb_predecessor *p);
/* Returns how well `text` matches the name of `p`: 0 if not at all, SIZE_MAX if exactly, and
 * otherwise the number of bytes that match and are not part of a placeholder. */
size_t plumb_predecessor_match(const struct plumb_predecessor *p, const char *text);

/* ---- text.c --------------------------------------------------------------------- */

/* The beginning of a text that a user or the environment gave, on one line. */
void plumb_predecessor_put(struct plumb_buf *out, const char *text);
/* Every name, a line each. */
void plumb_predecessors_list(struct plumb_buf *out, const struct plumb_predecessors *t);
/* The tables of docs/coming-from.md. */
void plumb_predecessors_page(struct plumb_buf *out, const struct plumb_predecessors *t);
/* Appends the entries that `text` names: a name of theirs, NAME=value, a call, a file or a console
 * line. Returns 0; 1 when there is none and `out` is about a similar name, which `err` says; or
 * PLUMB_ERR_NOT_FOUND. */
int plumb_predecessors_explain(struct plumb_buf *out, const struct plumb_predecessors *t,
                               const char *text, plumb_error *err);

/* ---- advice.c ------------------------------------------------------------------- */

/* Advises on their variable `name`, whose entry is `p`. Appends its value with what that means to
 * `meaning`, and what to set for plumb to `cure` (nothing: there is no counterpart). `environment`
 * shows what is set already. Returns an enum plumb_check_state, never BLOCKED. */
uint32_t plumb_predecessor_judge(struct plumb_buf *meaning, struct plumb_buf *cure,
                                 const struct plumb_predecessor *p, const char *name,
                                 const char *value, char *const *environment);
/* The same with the purpose of the variable, as a check whose name is the system. `i` counts their
 * variables in `environment`, in the order of the table. Returns 1, or 0 beyond the last. */
int plumb_predecessors_advise(plumb_check *out, const struct plumb_predecessors *t, size_t i,
                              char *const *environment);

#endif
