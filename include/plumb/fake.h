/* fake.h: a device that is none, to try out what plumb says of asynchronous devices, and to test
 * it.
 *
 * PLUMB_COLLECT=fake starts it with a run. Its queues take work and return at once; each does one
 * piece after the other, in a time that the program gives; four threads of its own tell plumb of
 * what is done, out of order, as drivers do; its clock starts 12 s off and drifts by 50 ppm.
 * Options follow in colons, PLUMB_COLLECT=fake:threads=8:drift=-20 :
 *
 *   threads=4    that emit, 1 to 16
 *   queues=1     lanes, 1 to 16
 *   drift=50     ppm that the clock runs fast
 *   offset=12    seconds that it is ahead
 *   events=1     0: the device tells of no times; only launches are seen
 *   fail=WHAT    start: it finds no device. hang-start, hang-stop, hang-clock: that function does
 *                not return for 1.5 s. times: every second event has times that cannot be. late:
 *                it goes on emitting after its stop
 *
 * Under PLUMB_CLOCK=virtual time stands still but for plumb_fake_advance() and plumb_fake_wait(),
 * for the host and the device alike, and everything is exact. */
#ifndef PLUMB_FAKE_H
#define PLUMB_FAKE_H

#include <plumb/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the collector offers (plumb_collector_offer); use the functions below. Only appended to. */
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

/* Queues `ns` of device time on queue `queue`, on behalf of `node` (0: the innermost open span's),
 * and returns at once. `name` is the kernel's. 0: the device is not running. */
static inline uint64_t plumb_fake_enqueue(plumb_node node, uint32_t queue, const char *name,
                                          uint64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->enqueue(node, queue, name, ns) : 0;
}
/* Blocks until that work is done, and tells plumb that the thread has waited for it.
 * PLUMB_ERR_STATE: the device is not running; PLUMB_ERR_ARG: there is no such work. */
static inline int plumb_fake_wait(uint64_t work)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->wait(work) : (int)PLUMB_ERR_STATE;
}
/* Lets `ns` of virtual time go by. PLUMB_ERR_STATE: the clock is a real one. */
static inline int plumb_fake_advance(uint64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->advance(ns) : (int)PLUMB_ERR_STATE;
}
/* The device's clock jumps by `ns`; plumb is not told. */
static inline int plumb_fake_jump(int64_t ns)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->jump(ns) : (int)PLUMB_ERR_STATE;
}
/* A reading of the device's clock, 1e9 ticks a second more or less; 0: not running. */
static inline uint64_t plumb_fake_device_ticks(void)
{
    const plumb_fake_offer *fake = plumb_fake_offer_();
    return fake ? fake->device_ticks() : 0;
}

#ifdef __cplusplus
}
#endif
#endif
