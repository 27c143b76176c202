/* check.h: what must hold of a stage's inputs and outputs. Part of plumb.h.
 *
 *     plumb_rule c = plumb_rule_default();
 *     c.shape = "2,16,?,?";
 *     c.dtype = "float32|bfloat16";
 *     c.finite = 1;
 *     plumb_stage_check("denoise", PLUMB_STAGE_INPUT, "latents", &c, NULL);
 *
 * Nothing is evaluated unless PLUMB_VERIFY says so: `warn` tells of each check that fails (the log,
 * the report's notes, the counter plumb.verify.failed); `fail` also counts the stage's run as a
 * failure, and plumb_stage_verify() tells the program, which may stop. A check belongs to the name
 * of a stage and is evaluated when the stage tells of that input or output (signature.h); one that
 * it never tells of has failed when the stage ends, unless it is optional. Checks of values read
 * the tensor, while the stage's clock runs; where the host cannot read it, the check has failed. */
#include <plumb/plumb.h> /* which includes this file when everything it needs is there */
#ifndef PLUMB_CHECK_H
#define PLUMB_CHECK_H

static inline plumb_rule plumb_rule_default(void)
{
    plumb_rule c;
    size_t i;
    for (i = 0; i < sizeof c; i++)
        ((unsigned char *)&c)[i] = 0;
    c.size = sizeof c;
    return c;
}

#if !defined(PLUMB_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif

/* Checks `name` ("latents", "cond.text"; of a list of that name each element) of every run of
 * `stage` from here on; the same name again replaces the check. `part`: PLUMB_STAGE_INPUT or
 * PLUMB_STAGE_OUTPUT. At most 64 a stage. Errors: PLUMB_ERR_ARG (a shape or a dtype that is none),
 * PLUMB_ERR_MEMORY. */
static inline int plumb_stage_check(const char *stage, uint32_t part, const char *name,
                                    const plumb_rule *rule, plumb_error *err)
{
    const struct plumb_api *api = plumb_api_();
    return PLUMB_KNOWS_(api, stage_check) ? api->stage_check(stage, part, name, rule, err)
                                          : PLUMB_ERR_ABSENT;
}
/* Whether the checks that an open stage has met so far hold; inputs that it has not told of yet are
 * missing. PLUMB_ERR_CHECK under PLUMB_VERIFY=fail when one does not, and `err` names what failed;
 * else PLUMB_OK, also when nothing is being recorded. */
static inline int plumb_stage_verify(plumb_span stage, plumb_error *err)
{
    const struct plumb_api *api = plumb_client_api_();
    return stage.id && PLUMB_KNOWS_(api, stage_verify) ? api->stage_verify(stage, err) : PLUMB_OK;
}

#ifdef __cplusplus
}
#endif
#endif
#endif
