/* svg.c: see svg.h.
 *
 * The width of a label is not known here: the viewer has the font. So each ASCII character is given
 * more than the widest of the usual monospaced fonts takes. Any other gets a whole em or more,
 * because a viewer takes it from another font. */
#include "report/picture/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text/utf8.h"
#include "codec/decimal.h"
#include "summary/cells.h"

static const double ASCII_PX = 0.61 * PLUMB_SVG_FONT_PX;
static const double OTHER_PX = 1.25 * PLUMB_SVG_FONT_PX;

/* ---- Numbers --------------------------------------------------------------------------------- */

static void put_number(struct plumb_buf *out, double value)
{
    char number[40];
    if (isnan(value))
        value = 0;
    value = value > 1e9 ? 1e9 : value < -1e9 ? -1e9 : value;
    snprintf(number, sizeof number, "%.3f", value);
    plumb_decimal_point(number);
    for (size_t n = strlen(number); n > 0 && (number[n - 1] == '0' || number[n - 1] == '.'); n--) {
        bool point = number[n - 1] == '.';
        number[n - 1] = '\0';
        if (point)
            break;
    }
    plumb_buf_str(out, strcmp(number, "-0") == 0 ? "0" : number);
}

void plumb_svg_attribute(struct plumb_buf *out, const char *name, double value)
{
    plumb_buf_printf(out, " %s=\"", name);
    put_number(out, value);
    plumb_buf_char(out, '"');
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* U+FFFE and U+FFFF are well-formed UTF-8, and no characters of XML. */
static bool is_forbidden(const char *p, size_t n)
{
    return n == 3 && memcmp(p, "\xef\xbf", 2) == 0 && (unsigned char)p[2] >= 0xbe;
}

/* `p` is a character of `n` bytes of text that was cleaned. */
static void put_character(struct plumb_buf *out, const char *p, size_t n)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    if (is_forbidden(p, n)) {
        plumb_buf_printf(out, "\\xef\\xbf\\x%02x", (unsigned)(unsigned char)p[2]);
        return;
    }
    for (size_t i = 0; n == 1 && i < sizeof entities / sizeof *entities; i++)
        if (*p == entities[i].c) {
            plumb_buf_str(out, entities[i].entity);
            return;
        }
    plumb_buf_append(out, p, n);
}

static double width_of(const char *p, size_t n)
{
    return is_forbidden(p, n) ? 12 * ASCII_PX : n == 1 ? ASCII_PX : OTHER_PX;
}

static double clean_width(const char *text)
{
    double px = 0;
    for (size_t n; *text; text += n) {
        n = plumb_utf8_sequence(text);
        px += width_of(text, n);
    }
    return px;
}

/* The text without control characters and bytes that are not UTF-8; the caller's to free. */
static const char *clean(struct plumb_buf *memory, struct plumb_buf *out, const char *text)
{
    plumb_put_left(memory, text, 0);
    out->failed |= memory->failed;
    return memory->data ? memory->data : "";
}

void plumb_svg_text(struct plumb_buf *out, const char *text)
{
    struct plumb_buf memory = {0};
    const char *p = clean(&memory, out, text);
    for (size_t n; *p; p += n) {
        n = plumb_utf8_sequence(p);
        put_character(out, p, n);
    }
    plumb_buf_fini(&memory);
}

double plumb_svg_width(const char *text)
{
    struct plumb_buf memory = {0};
    double px = clean_width(clean(&memory, &memory, text));
    plumb_buf_fini(&memory);
    return px;
}

double plumb_svg_cut(struct plumb_buf *out, const char *text, double px)
{
    struct plumb_buf memory = {0};
    const char *p = clean(&memory, out, text);
    double used = 0;
    double room = px;
    size_t written = 0;
    bool whole = clean_width(p) <= px;
    size_t before = out->len;
    if (!whole)
        room -= OTHER_PX; /* the ellipsis */
    for (size_t n; *p; p += n, written++) {
        n = plumb_utf8_sequence(p);
        if (used + width_of(p, n) > room && !whole)
            break;
        used += width_of(p, n);
        put_character(out, p, n);
    }
    if (!whole && written >= 2) {
        plumb_buf_str(out, "\xe2\x80\xa6");
        used += OTHER_PX;
    } else if (!whole && out->len > before) {
        out->len = before;
        out->data[before] = '\0';
        used = 0;
    }
    plumb_buf_fini(&memory);
    return used;
}

void plumb_svg_label(struct plumb_buf *out, const char *style, double x, double y, double px,
                     const char *text)
{
    plumb_buf_str(out, "<text");
    if (style)
        plumb_buf_printf(out, " class=\"%s\"", style);
    plumb_svg_attribute(out, "x", x);
    plumb_svg_attribute(out, "y", y);
    plumb_buf_char(out, '>');
    plumb_svg_cut(out, text, px);
    plumb_buf_str(out, "</text>\n");
}

/* ---- The file -------------------------------------------------------------------------------- */

void plumb_svg_open(struct plumb_buf *out, double width, double height, const char *title)
{
    plumb_buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    plumb_svg_attribute(out, "width", width);
    plumb_svg_attribute(out, "height", height);
    plumb_buf_str(out, " viewBox=\"0 0 ");
    put_number(out, width);
    plumb_buf_char(out, ' ');
    put_number(out, height);
    plumb_buf_str(out, "\">\n<title>");
    plumb_svg_text(out, title);
    plumb_buf_printf(out,
                     "</title>\n<style>\n"
                     "text{font:%dpx \"DejaVu Sans Mono\",Menlo,Consolas,monospace;fill:%s}\n"
                     ".t{font-size:16px;font-weight:bold}\n"
                     ".h{font-weight:bold}\n"
                     ".q{fill:#555}\n"
                     "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                     PLUMB_SVG_FONT_PX, PLUMB_SVG_INK);
}

void plumb_svg_close(struct plumb_buf *out)
{
    plumb_buf_str(out, "</svg>");
}

/* ---- Colours --------------------------------------------------------------------------------- */

uint32_t plumb_svg_colour(const char *name, enum plumb_svg_palette palette)
{
    /* red, green, blue: the least, and how many steps above it */
    static const unsigned char ranges[][6] = {
        [PLUMB_SVG_WARM] = {235, 21, 140, 91, 70, 71},
        [PLUMB_SVG_COOL] = {120, 51, 190, 41, 205, 41},
        [PLUMB_SVG_FADED] = {205, 21, 190, 21, 225, 26},
    };
    const unsigned char *r = ranges[palette];
    uint64_t h = plumb_hash_text(name);
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15); /* FNV's high bits vary little */
    uint32_t red = r[0] + (uint32_t)(h >> 56) % r[1];
    uint32_t green = r[2] + (uint32_t)(h >> 48 & 255) % r[3];
    uint32_t blue = r[4] + (uint32_t)(h >> 40 & 255) % r[5];
    return red << 16 | green << 8 | blue;
}
