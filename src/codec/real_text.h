/* real_text.h: a double as the shortest decimal text that reads back as the same double: what
 * printf writes with %.15g, %.16g or %.17g, whichever is the first to do. Any thread, no
 * allocation, no locale: the separator is '.'. */
#ifndef PLUMB_CODEC_REAL_TEXT_H
#define PLUMB_CODEC_REAL_TEXT_H

#include <stddef.h>

enum { PLUMB_REAL_TEXT = 40 };

/* Writes a finite number; returns the length, and ends the text with NUL. Some 40 ns for magnitudes
 * from 1e-32 to 1e17, and zero; microseconds for others. */
size_t plumb_real_text(char out[PLUMB_REAL_TEXT], double v);
/* The same by printf alone, for tests. */
size_t plumb_real_text_slowly(char out[PLUMB_REAL_TEXT], double v);

#endif
