/* record_signatures.h: record.h for tests that read the I/O signatures of a run. They link every
 * internal symbol. */
#ifndef TESTS_RECORD_SIGNATURES_H
#define TESTS_RECORD_SIGNATURES_H

#include "tensor_fixture.h"

#include "read/run/signature.h"
#include "record.h"

static inline void record_signatures(struct plumb_signature *out, const char *dir)
{
    char path[1200];
    plumb_error err = {0, ""};
    snprintf(path, sizeof path, "%s/%s", dir, PLUMB_SIGNATURE_FILE);
    if (plumb_signature_read(out, path, &err) < 0)
        fail_msg("%s", err.message);
}

/* Ends the run and reads what it left. */
static inline void record_finish_signatures(struct plumb_signature *out)
{
    char dir[1024];
    assert_int_equal(plumb_run_dir(dir, sizeof dir, NULL), PLUMB_OK);
    record_stop();
    record_signatures(out, dir);
}

static inline const struct plumb_signature_stage *signature_stage(const struct plumb_signature *s,
                                                                  const char *name)
{
    for (size_t i = 0; i < s->stage_count; i++)
        if (strcmp(s->stages[i].name, name) == 0)
            return &s->stages[i];
    fail_msg("no stage '%s'", name);
    return NULL;
}

static inline const struct plumb_signature_value *
signature_value(const struct plumb_signature_items *items, const char *name)
{
    for (size_t i = 0; i < items->count; i++)
        if (strcmp(items->at[i].name, name) == 0)
            return &items->at[i].value;
    fail_msg("no '%s'", name);
    return NULL;
}

static inline const struct plumb_signature_tensor *
signature_tensor(const struct plumb_signature_items *items, const char *name)
{
    const struct plumb_signature_value *v = signature_value(items, name);
    assert_int_equal(v->kind, PLUMB_SIGNATURE_TENSOR);
    return v->is.tensor;
}

/* A run of stage `denoise`; outcome 1 fails, 2 is abandoned. */
static inline void signature_call(int64_t frames, int64_t steps, int outcome)
{
    struct fixture_tensor t;
    fixture_tensor(&t, NULL, "float32", DIMS(frames, 8));
    PLUMB_STAGE(stage, "denoise");
    plumb_stage_input(stage, "latents", &t.dl);
    plumb_stage_input_value(stage, "steps", plumb_value_i64(steps));
    plumb_stage_output(stage, "out", &t.dl);
    if (outcome == 1)
        plumb_span_fail(stage, "no memory");
    if (outcome == 2)
        plumb_span_abandon(stage);
}

#endif
