/* random_fill_text.h: the text of random_fill.h, for programs that are generated. The build makes
 * it (cmake/text_as_c.cmake), so it never differs from what this library was built with. */
#ifndef PLUMB_ISOLATE_RANDOM_FILL_TEXT_H
#define PLUMB_ISOLATE_RANDOM_FILL_TEXT_H

extern const char plumb_random_fill_text[]; /* ends with a NUL */

#endif
