/* check.h: checks of stages' inputs and outputs (plumb/check.h), as stage.c and signature.c call
 * them. Only where plumb_rt.settings.verify is not off. */
#ifndef PLUMB_RECORD_STAGE_CHECK_H
#define PLUMB_RECORD_STAGE_CHECK_H

#include "record/stage/stage.h"
#include <plumb/check.h>

int plumb_stage_check_impl(const char *stage, uint32_t part, const char *name,
                           const plumb_rule *rule, plumb_error *err);
int plumb_stage_verify_impl(plumb_span stage, plumb_error *err);

/* On the stage's thread, outside enter: evaluates the check of a reported value. */
void plumb_verify_value(struct plumb_stage_run *s, uint32_t part, const char *name,
                        const plumb_value *value);
/* Before the end of the stage: values that were never reported are missing. Reports the
 * failures. */
void plumb_verify_ending(struct plumb_thread *th, plumb_span stage);

#endif
