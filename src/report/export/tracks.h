/* tracks.h: whole numbers for processes and threads, which formats of other tools want:
 *
 *   thread     its pid and tid; where two tracks would have both in common (the system gives a tid
 *              again when its thread has ended) the later ones get a tid of their own
 *   device     all queues below one track are one device: numbered from 0, which is its pid, with
 *              the number at the end of a queue's name ("stream 7") as tid. A number that a process
 *              of the trace has is passed over. Overlapping spans of a queue have tids of their own
 *   the rest   pid of the process, a tid of their own, from PLUMB_EXPORT_OWN_TID on */
#ifndef PLUMB_REPORT_EXPORT_TRACKS_H
#define PLUMB_REPORT_EXPORT_TRACKS_H

#include "read/trace/table.h"

enum { PLUMB_EXPORT_OWN_TID = 5000000 }; /* above what Linux gives: 2^22 */

struct plumb_export_track {
    int64_t pid, tid;
    bool device;
};

/* [t->track_count], to be freed with free(); NULL: out of memory. */
struct plumb_export_track *plumb_export_tracks(const struct plumb_table *t);
/* The track whose name is the device's: the topmost below the process. */
uint32_t plumb_export_device(const struct plumb_table *t, uint32_t track);

#endif
