/* lttng_tp.c: the code behind lttng_tp.h, made by LTTng-UST's macros. In a file of its own, because
 * the macros do not compile without warnings. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
