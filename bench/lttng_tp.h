/* lttng_tp.h: the tracepoints of bench_peers.c, in the form that LTTng-UST's generator includes
 * again and again. One integer of payload each, as a begin and an end have. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER plumb_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_tp.h"

#if !defined(BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(plumb_bench, begin, LTTNG_UST_TP_ARGS(unsigned int, node),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, node, node)))

LTTNG_UST_TRACEPOINT_EVENT(plumb_bench, end, LTTNG_UST_TP_ARGS(unsigned int, node),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, node, node)))

#endif

#include <lttng/tracepoint-event.h>
