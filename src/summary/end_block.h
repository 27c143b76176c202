/* end_block.h: the lines that a run prints to stderr at its end. */
#ifndef PLUMB_SUMMARY_END_BLOCK_H
#define PLUMB_SUMMARY_END_BLOCK_H

#include "model/timing.h"

/* Prints what was recorded and where, what was lost and why, and the cost of recording. `dir` NULL:
 * the run lives in memory only, so the table itself is printed. `summary`: the files of
 * rank_summary.h are in it; rank 0 prints that for all. Any thread. */
void plumb_end_block(const struct plumb_timing *t, const char *dir, bool summary);

#endif
