/* list.h: the collectors that are part of libplumb. A new one is a file here and a line in list.c.
 */
#ifndef PLUMB_COLLECT_LIST_H
#define PLUMB_COLLECT_LIST_H

#include <plumb/collector.h>

extern const plumb_collector_ops *const plumb_collector_list[]; /* ends with NULL */

#endif
