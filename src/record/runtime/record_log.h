/* record_log.h: lines from a process to the `plumb record` that started it. */
#ifndef PLUMB_RECORD_RUNTIME_RECORD_LOG_H
#define PLUMB_RECORD_RUNTIME_RECORD_LOG_H

#include <stdint.h>

/* Writes a line for `plumb record`. */
void plumb_run_report_line(const char *kind, const char *dir, uint64_t nodes, uint64_t samples);
void plumb_run_loaded(void); /* reports to `plumb record` that the library is loaded */

#endif
