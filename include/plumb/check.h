/* check.h: conditions on the inputs and outputs of a stage. Part of plumb.h.
 *
 *     plumb_rule c = plumb_rule_default();
 *     c.shape = "2,16,?,?";
 *     c.dtype = "float32|bfloat16";
 *     c.finite = 1;
 *     plumb_stage_check("denoise", PLUMB_STAGE_INPUT, "latents", &c, NULL);
 *
 * Checks are evaluated only if PLUMB_VERIFY is set. `warn` reports each failed check in the log, in
 * the report's notes and in the counter plumb.verify.failed. `fail` also counts the stage's run as
 * a failure, and plumb_stage_verify() returns an error, so that the program can stop. A check
 * belongs to the name of a stage and is evaluated when the stage records that input or output
 * (signature.h). If the stage ends without recording it, the check has failed, unless it is
 * optional. Checks of values read the tensor while the stage's clock runs; if the host cannot read
 * it, the check has failed. A check costs as much as plumb_stage_input(); checks of values read the
 * tensor once, at memory speed. */
#ifndef PLUMB_CHECK_H
#define PLUMB_CHECK_H

#include <plumb/detail/client.h>
#include <plumb/stage.h>
#include <plumb/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A condition on an input or output of a stage; a zero field is not checked. */
struct plumb_rule {
    size_t size;       /* sizeof(plumb_rule) */
    const char *shape; /* "2,?,64": ? is any size; "...,64": any dimensions before */
    const char *dtype; /* "float32", or "float32|bfloat16": one of them */
    uint32_t finite;   /* 1: no NaN and no infinity */
    uint32_t range;    /* 1: every value within [min, max]; NaN fails */
    uint32_t optional; /* 1: a run may omit it */
    uint32_t reserved;
    double min, max; /* of `range`, in units of the value */
    /* Returns 0 if the value passes; otherwise it may write the reason to `why` [size]. Called on
     * the stage's thread, while its clock runs. Must live until the process ends. */
    int (*fn)(const plumb_value *value, void *arg, char *why, size_t size);
    void *arg; /* of fn; must live as long */
};

/* Returns a rule that checks nothing. */
static inline plumb_rule plumb_rule_default(void)
{
    plumb_rule c;
    size_t i;
    for (i = 0; i < sizeof c; i++)
        ((unsigned char *)&c)[i] = 0;
    c.size = sizeof c;
    return c;
}

/* Checks `name` ("latents", "cond.text"; every element if it is a list) in every later run of
 * `stage`. A second call with the same name replaces the check.
 *   part     PLUMB_STAGE_INPUT or PLUMB_STAGE_OUTPUT
 *   rule     copied with its texts; `fn` and `arg` are not
 *   threads  any; runs that are open may or may not be checked. Microseconds: a lock
 *   errors   PLUMB_ERR_ARG: `stage`, `name` or `rule` is NULL, `rule` has no size, `shape` has more
 *            than 16 sizes or `dtype` more than 8 names, one of these is invalid, or [min, max] is
 *            empty. PLUMB_ERR_MEMORY: the stage has 64 checks, or 4096 were made in the process */
static inline int plumb_stage_check(const char *stage, uint32_t part, const char *name,
                                    const plumb_rule *rule, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, stage_check) ? api->stage_check(stage, part, name, rule, err)
                                          : PLUMB_ERR_ABSENT;
}
/* Returns whether the open stage has passed all checks evaluated so far; inputs that it has not
 * recorded yet count as missing. Call it on the stage's thread. PLUMB_ERR_CHECK under
 * PLUMB_VERIFY=fail if a check failed; `err` names it. Otherwise PLUMB_OK, also without a
 * recording, a runtime or a stage. O(checks of the stage). */
static inline int plumb_stage_verify(plumb_span stage, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_for_(stage.id);
    return PLUMB_KNOWS_(api, stage_verify) ? api->stage_verify(stage, err) : PLUMB_OK;
}

#ifdef __cplusplus
}
#endif
#endif
