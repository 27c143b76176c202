/* record_json.h: record.h for tests that read timing.json as others would: as text, or with a JSON
 * library that knows nothing of plumb. */
#ifndef TESTS_RECORD_JSON_H
#define TESTS_RECORD_JSON_H

#include <jansson.h>

#include "record.h"

/* Ends the run: its timing.json, until the next call. */
static inline const char *record_finish_text(void)
{
    static char text[1 << 20];
    char dir[1024], path[1100];
    size_t n;
    FILE *f;
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    snprintf(path, sizeof path, "%s/timing.json", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_true(n < sizeof text - 1);
    text[n] = '\0';
    return text;
}

/* The same, parsed; the caller frees it. */
static inline json_t *record_parse(const char *text)
{
    json_error_t err;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &err);
    if (!root)
        fail_msg("timing.json: line %d: %s", err.line, err.text);
    return root;
}

static inline double json_number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v))
        fail_msg("no number '%s'", key);
    return json_number_value(v);
}

static inline const char *json_text_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v))
        fail_msg("no text '%s'", key);
    return json_string_value(v);
}

#endif
