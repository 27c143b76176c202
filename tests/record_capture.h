/* record_capture.h: record.h for tests of PLUMB_CAPTURE: a run that captures, its notes, and the
 * inputs that are made of what it left. They link every internal symbol. */
#ifndef TESTS_RECORD_CAPTURE_H
#define TESTS_RECORD_CAPTURE_H

#include <stdlib.h>
#include <sys/stat.h>

#include "record_signatures.h"

#include "isolate/inputs.h"

static char capture_dir[1024]; /* of the run */

static inline void capture_start(const char *capture)
{
    setenv("PLUMB_CAPTURE", capture, 1);
    record_start();
    assert_int_equal(plumb_run_dir(capture_dir, sizeof capture_dir, NULL), PLUMB_OK);
}

static inline int capture_close(void **state)
{
    unsetenv("PLUMB_CAPTURE");
    unsetenv("PLUMB_CAPTURE_BYTES");
    return record_close(state);
}

/* The text of timing.json, in which the notes are, ends after `finish`. */
static char *capture_report;

static inline void capture_finish(void)
{
    char path[1100];
    FILE *f;
    record_stop();
    snprintf(path, sizeof path, "%s/timing.json", capture_dir);
    f = fopen(path, "rb");
    assert_non_null(f);
    free(capture_report);
    capture_report = calloc(1, 1 << 20);
    assert_non_null(capture_report);
    assert_true(fread(capture_report, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
}

static inline void capture_noted(const char *line)
{
    if (!strstr(capture_report, line))
        fail_msg("'%s' is not in:\n%.3000s", line, capture_report);
}

static inline int capture_make(struct plumb_inputs *out, const char *stage,
                               enum plumb_inputs_mode mode, plumb_error *err)
{
    struct plumb_signature s;
    const struct plumb_inputs_options options = {.mode = mode, .dir = capture_dir, .seed = 1};
    int rc;
    record_signatures(&s, capture_dir);
    rc = plumb_inputs_make(out, signature_stage(&s, stage), &options, err);
    plumb_signature_fini(&s);
    return rc;
}

static inline void capture_read(struct plumb_inputs *out, const char *stage)
{
    plumb_error err = {0, ""};
    if (capture_make(out, stage, PLUMB_INPUTS_CAPTURED, &err) < 0)
        fail_msg("%s", err.message);
}

static inline bool capture_has(const char *name)
{
    char path[1200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", capture_dir, name);
    return stat(path, &st) == 0;
}

static inline const plumb_value *capture_input(const struct plumb_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->at[i].name, name) == 0)
            return &inputs->at[i].value;
    fail_msg("no input '%s'", name);
    return NULL;
}

#endif
