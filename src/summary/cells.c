/* cells.c: see cells.h. No state.
 *
 * Numbers go through the JSON writer's fixed format, because printf would take the decimal
 * separator of the host's locale. */
#include "summary/cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "codec/decimal.h"
#include "codec/json_write.h"

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of the character at `p` if it may go to a terminal as it is, otherwise 0. A backslash that
 * looks like the notation for a byte gives 0, so that distinct names look distinct. */
static size_t printable(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = plumb_utf8_sequence(p);
    if (p[0] == '\\' && p[1] == 'x' && is_hex(p[2]) && is_hex(p[3]))
        return 0;
    if (n == 1 && (u[0] < 0x20 || u[0] == 0x7f))
        return 0;
    if (n == 2 && u[0] == 0xc2 && u[1] < 0xa0) /* the control characters of Latin-1 */
        return 0;
    return n;
}

/* Returns the number of characters. */
static size_t put_clean(struct plumb_buf *out, const char *text)
{
    size_t width = 0;
    while (*text) {
        size_t n = printable(text);
        if (n > 0) {
            plumb_buf_append(out, text, n);
            width++;
            text += n;
        } else {
            plumb_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
            width += 4;
            text++;
        }
    }
    return width;
}

static void put_spaces(struct plumb_buf *out, size_t n)
{
    while (n-- > 0)
        plumb_buf_char(out, ' ');
}

void plumb_put_left(struct plumb_buf *out, const char *text, size_t width)
{
    size_t used = put_clean(out, text);
    put_spaces(out, used < width ? width - used : 0);
}

size_t plumb_width_for(size_t width, const char *text, size_t most)
{
    struct plumb_buf clean = {0};
    size_t n = put_clean(&clean, text);
    plumb_buf_fini(&clean);
    return n > width && n <= most ? n : width;
}

void plumb_put_right(struct plumb_buf *out, const char *text, size_t width)
{
    size_t length = strlen(text);
    put_spaces(out, length < width ? width - length : 0);
    plumb_buf_append(out, text, length);
}

void plumb_put_count(struct plumb_buf *out, uint64_t value, size_t width)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    plumb_put_right(out, text, width);
}

void plumb_put_fixed(struct plumb_buf *out, double value, int decimals, size_t width)
{
    struct plumb_buf number = {0};
    struct plumb_json json;
    plumb_json_init(&json, &number, 0);
    plumb_json_fixed(&json, value, decimals);
    out->failed |= number.failed;
    plumb_put_right(out, number.data ? number.data : "", width);
    plumb_buf_fini(&number);
}

void plumb_put_figure(struct plumb_buf *out, double value)
{
    char number[48];
    snprintf(number, sizeof number, "%.6g", value);
    if (isfinite(value))
        plumb_decimal_point(number);
    plumb_buf_str(out, number);
}

static void put_in_groups(struct plumb_buf *out, const char *text)
{
    size_t sign = *text == '-';
    size_t before = strcspn(text, ".");
    for (size_t i = 0; text[i]; i++) {
        if (i > sign && i < before && (before - i) % 3 == 0)
            plumb_buf_char(out, ',');
        plumb_buf_char(out, text[i]);
    }
}

void plumb_put_grouped(struct plumb_buf *out, double value)
{
    struct plumb_buf digits = {0};
    double size = value < 0 ? -value : value;
    bool whole = size < 1e15 && size == (double)(int64_t)size;
    plumb_put_fixed(&digits, value, whole || size >= 100 ? 0 : size >= 10 ? 1 : 2, 0);
    put_in_groups(out, digits.data ? digits.data : "");
    out->failed |= digits.failed;
    plumb_buf_fini(&digits);
}

void plumb_put_grouped_count(struct plumb_buf *out, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    put_in_groups(out, digits);
}
