/* close.c: ends spans that their program left open: an outer one has ended, or their thread has.
 *
 * One record could close all of them. But the undo log, the log of a trace's losses and the tables
 * that count them are sized for the runs that a block of plain records can end. So the spans are
 * closed in pieces, and the record of a piece has as many words as it ends spans. */
#include "record/runtime/enter.h"
#include "record/runtime/thread.h"

enum { PIECE = 60 };

void plumb_close_to(struct plumb_in in, uint32_t depth, enum plumb_close why)
{
    struct plumb_thread *th = in.th;
    while (plumb_depth(th) > depth) {
        uint32_t n = plumb_depth(th) - depth < PIECE ? plumb_depth(th) - depth : PIECE;
        uint64_t payload[PIECE];
        for (uint32_t i = 0; i < n; i++)
            payload[i] = i ? 0 : plumb_depth(th) - n;
        plumb_wide(in, PLUMB_WIDE_CLOSE, why, payload, n < 2 ? 2 : n);
        th->top = th->open + payload[0];
    }
}
