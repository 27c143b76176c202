/* mark.h: marks the runs of a bench in the recording of this process, if it records: each is a
 * stage "bench", and measured ones are in the region "bench". */
#ifndef PLUMB_ISOLATE_MARK_H
#define PLUMB_ISOLATE_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct plumb_mark {
    uint64_t span, region;
};

#define PLUMB_MARK_REGION "bench"

struct plumb_mark plumb_mark_begin(bool measured);
void plumb_mark_end(const struct plumb_mark *mark);

#endif
