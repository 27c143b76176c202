/* end_block.h: what a run tells at its end, on stderr. */
#ifndef PLUMB_SUMMARY_END_BLOCK_H
#define PLUMB_SUMMARY_END_BLOCK_H

#include "model/timing.h"

/* What was recorded and where, what was lost and why, what it cost. `dir` NULL: the run lives in
 * memory only, so the table itself is printed. `summary`: the files of rank_summary.h are in it,
 * which rank 0 tells for all. Any thread. */
void plumb_end_block(const struct plumb_timing *t, const char *dir, bool summary);

#endif
