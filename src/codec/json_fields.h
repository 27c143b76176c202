/* json_fields.h: "key": value, as the JSON files of plumb spell it. */
#ifndef PLUMB_CODEC_JSON_FIELDS_H
#define PLUMB_CODEC_JSON_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/u128.h"
#include "codec/json_write.h"

void plumb_put_text(struct plumb_json *j, const char *key, const char *text); /* NULL: null */
void plumb_put_u64(struct plumb_json *j, const char *key, uint64_t value);
void plumb_put_i64(struct plumb_json *j, const char *key, int64_t value);
void plumb_put_f64(struct plumb_json *j, const char *key, double value);
void plumb_put_rounded(struct plumb_json *j, const char *key, double value, int decimals);
void plumb_put_ms(struct plumb_json *j, const char *key, double ns);
void plumb_put_mib(struct plumb_json *j, const char *key, double bytes); /* two decimals */
void plumb_put_bool(struct plumb_json *j, const char *key, bool value);
void plumb_put_null(struct plumb_json *j, const char *key);
void plumb_put_known(struct plumb_json *j, const char *key, int32_t value); /* negative: null */
/* A number that is read back as one with a fraction: "5.0", not "5". */
void plumb_put_real(struct plumb_json *j, const char *key, double value);
/* UTC, ISO 8601, microseconds. */
void plumb_put_time(struct plumb_json *j, const char *key, uint64_t unix_ns);
/* The bytes of a name that is not UTF-8, in hex digits; nothing for one that is. */
void plumb_put_hex_if_needed(struct plumb_json *j, const char *key, const char *name);
/* The caller fills and closes them. */
void plumb_put_object(struct plumb_json *j, const char *key);
void plumb_put_array(struct plumb_json *j, const char *key);

/* Values without a key. A number that readers would round (2^63 and above) is a string of
 * digits. */
void plumb_put_integer(struct plumb_json *j, uint64_t value);
void plumb_put_decimal(struct plumb_json *j, plumb_u128 value); /* always a string */
void plumb_put_fraction(struct plumb_json *j, double value);    /* of plumb_put_real() */

enum { PLUMB_TIME_TEXT = 64 };
void plumb_time_text(char out[PLUMB_TIME_TEXT], uint64_t unix_ns); /* of plumb_put_time() */

#endif
