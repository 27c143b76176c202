/* top_text.c: text for a terminal. Names come from the watched program: nothing of them reaches the
 * terminal but characters that take one or two cells. */
#include <math.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "top.h"

/* A character of a text as it is shown. */
struct glyph {
    char bytes[12];
    int cells;
};

/* Unassigned and private characters have no width that terminals agree on; -1 covers controls. */
static bool is_plain(wchar_t c, int cells)
{
    return cells > 0 && iswprint((wint_t)c) && c != 0x00ad && !(c >= 0xe000 && c <= 0xf8ff) &&
           !(c >= 0xfff0 && c <= 0xffff) && c < 0xe0000;
}

/* Reads one character of `text`. Returns its bytes. */
static size_t next_glyph(struct glyph *g, const char *text)
{
    mbstate_t state = {0};
    wchar_t c = 0;
    size_t n = mbrtowc(&c, text, strlen(text), &state);
    if (n == 0 || n > 4) { /* not a character of this locale */
        g->cells = snprintf(g->bytes, sizeof g->bytes, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    g->cells = wcwidth(c);
    if (is_plain(c, g->cells)) {
        memcpy(g->bytes, text, n);
        g->bytes[n] = '\0';
    } else if (n == 1) {
        g->cells = snprintf(g->bytes, sizeof g->bytes, "\\x%02x", (unsigned char)*text);
    } else {
        g->cells = snprintf(g->bytes, sizeof g->bytes, "\\u{%lx}", (unsigned long)c & 0x1fffff);
    }
    return n;
}

static int cells_of(const char *text)
{
    struct glyph g;
    int cells = 0;
    while (*text && cells < 1 << 20) {
        text += next_glyph(&g, text);
        cells += g.cells;
    }
    return cells;
}

/* Appends the characters of `text` between two cells of it; a character that is cut is left out.
 * Returns the cells that were written. */
static int put_range(char *out, size_t room, size_t *at, const char *text, int from, int to)
{
    struct glyph g;
    int cell = 0, put = 0;
    while (*text && cell < to) {
        text += next_glyph(&g, text);
        if (cell >= from && cell + g.cells <= to && *at + strlen(g.bytes) + 1 < room) {
            strcpy(out + *at, g.bytes);
            *at += strlen(g.bytes);
            put += g.cells;
        }
        cell += g.cells;
    }
    return put;
}

int plumb_top_fit(char *out, size_t room, const char *text, int width, uint32_t how)
{
    static const char gap[] = "..";
    int cells = cells_of(text), used;
    size_t at = 0;
    out[0] = '\0';
    if (!width || cells <= width) {
        used = put_range(out, room, &at, text, 0, cells);
    } else if (width < 8) {
        used = put_range(out, room, &at, text, 0, width);
    } else { /* the end of a name usually tells more than its middle */
        int head = how & PLUMB_TOP_CUT_END ? width - 2 : (width - 2) / 3, tail = width - 2 - head;
        used = put_range(out, room, &at, text, 0, head);
        if (at + sizeof gap < room) {
            strcpy(out + at, gap);
            at += sizeof gap - 1;
            used += 2;
        }
        used += put_range(out, room, &at, text, cells - tail, cells);
    }
    for (; how & PLUMB_TOP_PAD && used < width && at + 1 < room; used++)
        out[at++] = ' ';
    out[at] = '\0';
    return used;
}

/* Three digits, as far as the unit allows. */
static void three_digits(char out[16], double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, 16, "%.*f%s", decimals, value, unit);
}

void plumb_top_time(char out[16], double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{86400e9, " d"}, {3600e9, " h"}, {60e9, " min"}, {1e9, " s"},
                 {1e6, " ms"},    {1e3, " us"},   {1, " ns"}};
    size_t i = 0;
    if (!(ns >= 0) || !isfinite(ns)) {
        snprintf(out, 16, "-");
        return;
    }
    while (i + 1 < sizeof units / sizeof *units && ns < 0.9995 * units[i].ns)
        i++;
    three_digits(out, ns / units[i].ns, units[i].unit);
}

void plumb_top_rate(char out[16], double rate)
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t i = 0;
    if (!(rate >= 0) || !isfinite(rate)) {
        snprintf(out, 16, "-");
        return;
    }
    while (rate >= 999.5 && i + 1 < sizeof units / sizeof *units) {
        rate /= 1000;
        i++;
    }
    three_digits(out, rate, units[i]);
}

void plumb_top_bytes(char out[16], uint64_t bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    double value = (double)bytes;
    size_t i = 0;
    while (value >= 1024 && i + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        i++;
    }
    if (i)
        three_digits(out, value, units[i]);
    else
        snprintf(out, 16, "%.0f B", value);
}
