/* json_fields.c: fields of JSON files, one line each. Owns the spelling of numbers, times and names
 * that are not plain text in all of them. */
#include "codec/json_fields.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text/utf8.h"

static const double NS_PER_MS = 1e6;

void plumb_put_text(struct plumb_json *j, const char *key, const char *text)
{
    plumb_json_key(j, key);
    plumb_json_str(j, text);
}

void plumb_put_decimal(struct plumb_json *j, plumb_u128 value)
{
    char digits[40];
    char *p = digits + sizeof digits - 1;
    *p = '\0';
    do {
        *--p = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    plumb_json_str(j, p);
}

void plumb_put_integer(struct plumb_json *j, uint64_t value)
{
    if (value > INT64_MAX)
        plumb_put_decimal(j, value);
    else
        plumb_json_u64(j, value);
}

void plumb_put_u64(struct plumb_json *j, const char *key, uint64_t value)
{
    plumb_json_key(j, key);
    plumb_put_integer(j, value);
}

void plumb_put_i64(struct plumb_json *j, const char *key, int64_t value)
{
    plumb_json_key(j, key);
    plumb_json_i64(j, value);
}

void plumb_put_f64(struct plumb_json *j, const char *key, double value)
{
    plumb_json_key(j, key);
    plumb_json_f64(j, value);
}

void plumb_put_ms(struct plumb_json *j, const char *key, double ns)
{
    plumb_put_f64(j, key, ns / NS_PER_MS);
}

void plumb_put_rounded(struct plumb_json *j, const char *key, double value, int decimals)
{
    plumb_json_key(j, key);
    plumb_json_fixed(j, value, decimals);
}

void plumb_put_mib(struct plumb_json *j, const char *key, double bytes)
{
    plumb_put_rounded(j, key, bytes / (1 << 20), 2);
}

void plumb_put_bool(struct plumb_json *j, const char *key, bool value)
{
    plumb_json_key(j, key);
    plumb_json_bool(j, value);
}

void plumb_put_null(struct plumb_json *j, const char *key)
{
    plumb_json_key(j, key);
    plumb_json_null(j);
}

void plumb_put_known(struct plumb_json *j, const char *key, int32_t value)
{
    plumb_json_key(j, key);
    if (value < 0)
        plumb_json_null(j);
    else
        plumb_json_i64(j, value);
}

void plumb_put_object(struct plumb_json *j, const char *key)
{
    plumb_json_key(j, key);
    plumb_json_object(j);
}

void plumb_put_array(struct plumb_json *j, const char *key)
{
    plumb_json_key(j, key);
    plumb_json_array(j);
}

void plumb_put_fraction(struct plumb_json *j, double value)
{
    size_t before = j->out->len;
    plumb_json_f64(j, value);
    if (value - value == 0 && !j->out->failed && !strpbrk(j->out->data + before, ".e"))
        plumb_buf_str(j->out, ".0");
}

void plumb_put_real(struct plumb_json *j, const char *key, double value)
{
    plumb_json_key(j, key);
    plumb_put_fraction(j, value);
}

void plumb_time_text(char out[PLUMB_TIME_TEXT], uint64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm utc;
    out[0] = '\0';
    if (!gmtime_r(&seconds, &utc))
        return;
    size_t n = strftime(out, PLUMB_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + n, PLUMB_TIME_TEXT - n, ".%06u+00:00", (unsigned)(unix_ns / 1000 % 1000000));
}

void plumb_put_time(struct plumb_json *j, const char *key, uint64_t unix_ns)
{
    char text[PLUMB_TIME_TEXT];
    plumb_time_text(text, unix_ns);
    plumb_put_text(j, key, text);
}

void plumb_put_hex_if_needed(struct plumb_json *j, const char *key, const char *name)
{
    struct plumb_buf hex = {0};
    if (!name || plumb_utf8_valid(name))
        return;
    for (const char *p = name; *p; p++)
        plumb_buf_printf(&hex, "%02x", (unsigned)(unsigned char)*p);
    j->out->failed |= hex.failed;
    plumb_put_text(j, key, hex.data);
    plumb_buf_fini(&hex);
}
