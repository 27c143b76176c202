/* svg.h: what the pictures share: numbers, text that no name can break out of, labels cut to a
 * width, colours. A picture is one self-contained SVG file: no outside font, style or script. Any
 * thread; no state.
 *
 * Names come from programs. A control character, a byte that is not UTF-8 and a character that XML
 * forbids become \xHH, as in the tables; characters with a meaning in XML become entities. */
#ifndef PLUMB_REPORT_PICTURE_SVG_H
#define PLUMB_REPORT_PICTURE_SVG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Labels are monospaced, of this size. */
enum { PLUMB_SVG_FONT_PX = 12 };

/* The head: size in pixels, a white ground, the style of labels, and `title`. */
void plumb_svg_open(struct plumb_buf *out, double width, double height, const char *title);
void plumb_svg_close(struct plumb_buf *out);

/* ` name="value"`: at most 3 decimals, '.', never NaN (0) and never beyond 1e9. */
void plumb_svg_attribute(struct plumb_buf *out, const char *name, double value);
/* Escaped text, between tags or inside double quotes. */
void plumb_svg_text(struct plumb_buf *out, const char *text);
/* The same, of as much as surely fits in `px`, with an ellipsis where it was cut; nothing when not
 * even two characters and the ellipsis fit. Returns the pixels that it surely does not exceed. */
double plumb_svg_cut(struct plumb_buf *out, const char *text, double px);
/* At least the width of the text as plumb_svg_text() writes it. */
double plumb_svg_width(const char *text);
/* A whole <text> element of class `style` (NULL: a label) whose text is cut to `px`. */
void plumb_svg_label(struct plumb_buf *out, const char *style, double x, double y, double px,
                     const char *text);

/* ---- Colours --------------------------------------------------------------------------------- */

enum plumb_svg_palette {
    PLUMB_SVG_WARM, /* nodes */
    PLUMB_SVG_COOL, /* stages */
    PLUMB_SVG_FADED /* async spans */
};
/* The text on every colour of the palettes; its contrast is at least 6 to 1. */
#define PLUMB_SVG_INK "#1b1b1b"
#define PLUMB_SVG_GREY "#dddddd" /* of a box for several places */

/* 0xRRGGBB: always the same for a name. */
uint32_t plumb_svg_colour(const char *name, enum plumb_svg_palette palette);

#endif
