/* python.c: finds the words and numbers between the strings of a JSON text. It is no parser:
 * what is wrong stays wrong, for the parser behind it to say. */
#include "read/json/python.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of the string that begins at `text`, its quotes included, or of what there is of it. */
static size_t string_length(const char *text, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '"')
            return i + 1;
    }
    return size;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.' || c == '_';
}

static bool is(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* A whole number as JSON has it, beyond those of int64_t. */
static bool is_too_large(const char *text, size_t size)
{
    static const char least[] = "9223372036854775808";
    bool negative = size > 0 && text[0] == '-';
    size_t digits = size - negative;
    text += negative;
    for (size_t i = 0; i < digits; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    if (digits < sizeof least - 1 || text[0] == '0')
        return false;
    if (digits > sizeof least - 1)
        return true;
    int order = memcmp(text, least, digits);
    return negative ? order > 0 : order >= 0;
}

void plumb_python_json(struct plumb_buf *out, const char *text, size_t size)
{
    size_t done = 0;
    size_t i = 0;
    while (i < size) {
        size_t n = 1;
        if (text[i] == '"') {
            n = string_length(text + i, size - i);
        } else if (in_word(text[i])) {
            while (i + n < size && in_word(text[i + n]))
                n++;
            if (is(text + i, n, "NaN") || is(text + i, n, "Infinity") ||
                is(text + i, n, "-Infinity") || is_too_large(text + i, n)) {
                plumb_buf_append(out, text + done, i - done);
                plumb_buf_char(out, '"');
                plumb_buf_append(out, text + i, n);
                plumb_buf_char(out, '"');
                done = i + n;
            }
        }
        i += n;
    }
    plumb_buf_append(out, text + done, size - done);
}
