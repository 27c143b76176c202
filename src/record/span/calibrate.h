/* calibrate.h: the cost of a span. */
#ifndef PLUMB_RECORD_SPAN_CALIBRATE_H
#define PLUMB_RECORD_SPAN_CALIBRATE_H

/* Measures plumb_rt.overhead_ticks_x1000 and overhead_work_ticks_x1000, once a process. */
void plumb_calibrate(void);

#endif
