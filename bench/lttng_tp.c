/* lttng_tp.c: the definitions for lttng_tp.h, which macros of LTTng-UST generate. They have a file
 * of their own because the macros do not compile without warnings. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
