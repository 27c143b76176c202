/* fake.h: a simulated device, to try out and test how plumb records asynchronous devices.
 *
 * PLUMB_COLLECT=fake starts it with a run. Enqueueing returns at once. Each queue processes one
 * piece of work after the other, each for the time that the program asked for. Four threads of the
 * device report completed work to plumb, out of order, as drivers do. Its clock is 12 s ahead and
 * drifts by 50 ppm. Options follow after colons, PLUMB_COLLECT=fake:threads=8:drift=-20 :
 *
 *   threads=4    that emit, 1 to 16
 *   queues=1     lanes, 1 to 16
 *   drift=50     ppm that the clock runs fast
 *   offset=12    seconds that it is ahead
 *   events=1     0: the device reports no times; only launches are seen
 *   fail=WHAT    start: it finds no device. hang-start, hang-stop, hang-clock: that function does
 *                not return for 1.5 s. times: every second event has impossible times.
 *                late: it goes on emitting after its stop
 *
 * Under PLUMB_CLOCK=virtual only plumb_fake_advance() and plumb_fake_wait() advance the time, of
 * the host and the device alike, so that all times are exact.
 *
 * Any thread may call; a signal handler may not. A call costs a lookup of the collector and a lock,
 * below a microsecond, but for waiting. */
#ifndef PLUMB_FAKE_H
#define PLUMB_FAKE_H

#include <plumb/collector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The collector's functions for the program (plumb_collector_offer); use the wrappers below. Only
 * appended to. */
typedef struct plumb_fake_offer {
    size_t size;
    uint64_t (*enqueue)(plumb_node node, uint32_t queue, const char *name, uint64_t ns);
    int (*wait)(uint64_t work);
    int (*advance)(uint64_t ns);
    int (*jump)(int64_t ns);
    uint64_t (*device_ticks)(void);
} plumb_fake_offer;

static inline const plumb_fake_offer *plumb_fake_offer_(void)
{
    return (const plumb_fake_offer *)plumb_collector_offer(plumb_collector_find("fake"));
}

/* Queues work of `ns` nanoseconds on queue `queue` (from 0; the first one if there is no such
 * queue) for `node` (0: the node of the innermost open span). `name` is the name of the kernel.
 * Returns the number of the work at once; 0: the device is not running, or 1024 pieces wait in the
 * queue. */
static inline uint64_t plumb_fake_enqueue(plumb_node node, uint32_t queue, const char *name,
                                          uint64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->enqueue(node, queue, name, ns) : 0;
}
/* Blocks until that work is done, and records that the thread waited for it. Errors:
 * PLUMB_ERR_STATE: the device is not running; PLUMB_ERR_ARG: there is no such work, or 1024 newer
 * pieces. */
static inline int plumb_fake_wait(uint64_t work)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->wait(work) : (int)PLUMB_ERR_STATE;
}
/* Advances the virtual time by `ns` nanoseconds. Errors: PLUMB_ERR_STATE: the clock is not virtual,
 * or the device is not running. */
static inline int plumb_fake_advance(uint64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->advance(ns) : (int)PLUMB_ERR_STATE;
}
/* Makes the device's clock jump by `ns` nanoseconds without informing plumb. Errors:
 * PLUMB_ERR_STATE: the device is not running. */
static inline int plumb_fake_jump(int64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->jump(ns) : (int)PLUMB_ERR_STATE;
}
/* Returns a reading of the device's clock, of about 1e9 ticks a second; 0: not running. */
static inline uint64_t plumb_fake_device_ticks(void)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->device_ticks() : 0;
}

#ifdef __cplusplus
}
#endif
#endif
