/* close.c: ends spans that their program left open: an outer one has ended, or their thread has.
 *
 * One record can close all of them, but a block may end no more runs than one of plain records
 * does: the undo log, the log of what a trace lost and the tables that count it have room for so
 * many. So they are closed in pieces, and each piece has its words' worth of the block to itself.
 */
#include "core/ring.h"
#include "core/runtime.h"

enum { PIECE = 60 };

void plumb_close_to(struct plumb_in in, uint32_t depth, enum plumb_close why)
{
    struct plumb_thread *th = in.th;
    while (plumb_depth(th) > depth) {
        uint32_t n = plumb_depth(th) - depth < PIECE ? plumb_depth(th) - depth : PIECE;
        uint64_t down_to = plumb_depth(th) - n;
        plumb_block_room(in, n < 2 ? 2 : n, plumb_ticks_from(th->clock));
        plumb_wide(in, PLUMB_WIDE_CLOSE, why, &down_to, 2);
        th->top = th->open + down_to;
        if (n > 2) /* more than the record has words */
            plumb_block_next(in, plumb_ticks_from(th->clock));
    }
}
