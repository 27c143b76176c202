/* close.c: ends spans that their program left open: an outer one has ended, or their thread has.
 *
 * One record can close all of them, but a block may end no more runs than one of plain records
 * does: the undo log, the log of what a trace lost and the tables that count it have room for so
 * many. So they are closed in pieces, and the record of a piece is as many words long as it ends
 * spans.
 */
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
