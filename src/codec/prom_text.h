/* prom_text.h: any text as a name, a label name or a label value of the Prometheus text format and
 * of OpenMetrics, which agree about all three. Distinct texts stay distinct, up to 32 bits of a
 * hash. Any thread, no allocation. */
#ifndef PLUMB_CODEC_PROM_TEXT_H
#define PLUMB_CODEC_PROM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct plumb_pair;

enum {
    PLUMB_PROM_NAME = 200,   /* bytes of a name, with its NUL */
    PLUMB_PROM_VALUE = 512,  /* of an escaped label value, with its NUL */
    PLUMB_PROM_LABELS = 4096 /* of all labels of a series, with their NUL */
};

/* Writes the name of a metric, [a-zA-Z_:][a-zA-Z0-9_:]*: each other byte becomes '_', and a name
 * that is too long is cut and ends in '_' and a hash. Returns false if the text was such a name. */
bool plumb_prom_name(char out[PLUMB_PROM_NAME], const char *text);
/* The same with '_' and a hash of 8 hex digits at its end, for a name whose place is taken. */
void plumb_prom_name_apart(char out[PLUMB_PROM_NAME], const char *text);
/* Writes the name of a label, [a-zA-Z_][a-zA-Z0-9_]*. Names that plumb or Prometheus gives itself
 * (le, quantile, pid, program, rank, run; two underscores at the front) get "exported_" in front,
 * as a server would do. Any other name that had to be changed ends in '_' and a hash. */
void plumb_prom_label(char out[PLUMB_PROM_NAME], const char *text);
/* Writes a label's value between its quotes: UTF-8 with backslash, quote and newline escaped. A
 * value that is too long or not UTF-8 is cut, with U+FFFD for wrong bytes, and ends in '~' and a
 * hash. Returns the length. */
size_t plumb_prom_value(char out[PLUMB_PROM_VALUE], const char *text);
/* Writes `a="1",b="2"` of pairs that end with a NULL key, in the order of their names; at most
 * `most`, of a name that is given twice the last one. "" without pairs. Pairs that do not fit are
 * left out. */
void plumb_prom_labels(char out[PLUMB_PROM_LABELS], const struct plumb_pair *pairs, size_t most);
/* Writes a HELP text on one line: backslash and newline escaped; quotes too if `quotes`
 * (OpenMetrics). Wrong bytes become U+FFFD; cut at `size`. */
void plumb_prom_help(char *out, size_t size, const char *text, bool quotes);

#endif
