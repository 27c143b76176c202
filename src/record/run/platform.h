/* platform.h: the platform of a process: system, C library, compiler, GPUs, commit. */
#ifndef PLUMB_RECORD_RUN_PLATFORM_H
#define PLUMB_RECORD_RUN_PLATFORM_H

#include <plumb/plumb.h>

struct plumb_run;

void plumb_run_describe_environment(struct plumb_run *run);
void plumb_environment_do_read(void); /* PLUMB_JOB_ENVIRONMENT */
int plumb_environment_read_impl(plumb_environment *out, const char *framework, const char *version,
                                plumb_error *err);

#endif
