/* calibrate.h: what a span costs. */
#ifndef PLUMB_RECORD_SPAN_CALIBRATE_H
#define PLUMB_RECORD_SPAN_CALIBRATE_H

/* Measures plumb_rt.overhead_ticks_x1000 and its like, once a process. */
void plumb_calibrate(void);

#endif
