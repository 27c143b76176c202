/* python.h: JSON as Python's json module writes it, which is not all JSON. */
#ifndef PLUMB_READ_JSON_PYTHON_H
#define PLUMB_READ_JSON_PYTHON_H

#include <stddef.h>

#include "base/buf.h"

/* Appends `text` [size] with what strict readers refuse made a string of the same letters: the
 * words NaN, Infinity and -Infinity, and whole numbers that do not fit into 64 bits with a sign.
 * All else stays as it is, sound or not; lines keep their numbers. */
void plumb_python_json(struct plumb_buf *out, const char *text, size_t size);

#endif
