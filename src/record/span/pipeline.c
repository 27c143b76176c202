/* pipeline.c: switching, skipping, synchronising and resetting pipelines, while others record. */
#include "record/span/pipeline.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/names.h"
#include "record/runtime/node.h"
#include "record/runtime/point.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

enum { UNREGISTER_MS = 3000 };

static plumb_pipeline *or_default(plumb_pipeline *p)
{
    return p ? p : &plumb_rt.pipelines[0];
}

static struct plumb_live_pipeline *live_of(const plumb_pipeline *p)
{
    struct plumb_run *run = plumb_rt.run;
    if (!run || p->index >= run->h->pipelines.count)
        return NULL;
    return plumb_table_at(run, &run->h->pipelines, p->index);
}

/* Each sample follows the skip that was in force at its end, also if it is not folded yet. */
static void skip_change(struct plumb_live_pipeline *live, uint64_t n)
{
    uint32_t k = live->skips;
    if (live->skip[(k - 1) % PLUMB_SKIPS].n == n)
        return;
    PLUMB_STORE(live->skip[k % PLUMB_SKIPS].from_ticks, plumb_ticks_next(plumb_rt.clock));
    PLUMB_STORE(live->skip[k % PLUMB_SKIPS].n, n);
    PLUMB_RELEASE(live->skips, k + 1);
}

void plumb_pipeline_flags(struct plumb_live_pipeline *live, const plumb_pipeline *p)
{
    if (PLUMB_LOAD(p->device))
        PLUMB_STORE(live->flags, live->flags | PLUMB_PIPELINE_ON_DEVICE);
    if (PLUMB_LOAD(p->sync))
        PLUMB_STORE(live->flags, live->flags | PLUMB_PIPELINE_SYNC);
}

static void apply(plumb_pipeline *p)
{
    struct plumb_live_pipeline *live = live_of(p);
    if (live) {
        skip_change(live, p->skip_first_n);
        plumb_pipeline_flags(live, p);
    }
    for (struct plumb_thread *th = plumb_rt.threads; th; th = th->next)
        plumb_thread_gate(th);
    plumb_points_refresh();
}

/* Rows vanish at once for readers; each thread clears its own when it next touches them. */
static void reset_locked(plumb_pipeline *p)
{
    struct plumb_live_pipeline *live = live_of(p);
    uint32_t next;
    if (!live)
        return;
    next = live->reset_generation + 1;
    PLUMB_STORE(live->reset_ticks[next % 2], plumb_ticks_next(plumb_rt.clock));
    PLUMB_RELEASE(live->reset_generation, next);
}

int plumb_configure_impl(plumb_pipeline *pipeline, const plumb_config *config, plumb_error *err)
{
    plumb_pipeline *p = or_default(pipeline);
    plumb_config c = {0};
    if (!config || config->size < sizeof(size_t))
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_configure: config is %s",
                          config ? "without a size; start from plumb_config_default()" : "NULL");
    memcpy(&c, config, config->size < sizeof c ? config->size : sizeof c);
    if (c.skip_first_n < 0)
        return plumb_fail(err, PLUMB_ERR_ARG, "skip_first_n must be >= 0, got %lld",
                          (long long)c.skip_first_n);
    if (plumb_may_lock("plumb_configure", err) < 0)
        return PLUMB_ERR_STATE;
    plumb_lock();
    PLUMB_STORE(p->enabled, c.enabled != 0);
    PLUMB_STORE(p->sync, c.sync != 0);
    PLUMB_STORE(p->skip_first_n, (uint64_t)c.skip_first_n);
    p->configured = true;
    apply(p);
    if (c.reset)
        reset_locked(p);
    plumb_unlock();
    if (c.enabled && !plumb_wanted())
        plumb_log(PLUMB_LOG_INFO,
                  "plumb: pipeline '%s' is switched on, but no run is open: it records from the "
                  "next plumb_start() on",
                  PLUMB_ACQUIRE(p->name));
    return PLUMB_OK;
}

int plumb_pipeline_enabled_impl(plumb_pipeline *pipeline)
{
    return plumb_wanted() && PLUMB_LOAD(or_default(pipeline)->enabled);
}

int plumb_reset_impl(plumb_pipeline *pipeline, plumb_error *err)
{
    if (plumb_may_lock("plumb_reset", err) < 0)
        return PLUMB_ERR_STATE;
    plumb_lock();
    reset_locked(or_default(pipeline));
    plumb_unlock();
    return PLUMB_OK;
}

void plumb_pipeline_close_impl(plumb_pipeline *pipeline)
{
    plumb_pipeline *p = or_default(pipeline);
    if (plumb_may_lock("plumb_pipeline_close", NULL) < 0)
        return;
    plumb_lock();
    PLUMB_STORE(p->enabled, 0);
    PLUMB_STORE(p->sync, 0);
    PLUMB_RELEASE(p->device, NULL);
    /* Off first: records until then are dropped. */
    apply(p);
    reset_locked(p);
    plumb_unlock();
}

void plumb_pipeline_set_device_impl(plumb_pipeline *pipeline, plumb_device *device)
{
    plumb_pipeline *p = or_default(pipeline);
    struct plumb_live_pipeline *live;
    PLUMB_RELEASE(p->device, device);
    if (plumb_may_lock("plumb_pipeline_set_device", NULL) < 0)
        return;
    plumb_lock();
    live = live_of(p);
    if (live)
        plumb_pipeline_flags(live, p);
    plumb_unlock();
}

void plumb_node_set_device_impl(plumb_node node, plumb_device *device)
{
    if (node && node < PLUMB_ACQUIRE(plumb_rt.node_count))
        PLUMB_RELEASE(plumb_node_at(node)->device, device);
    else
        return;
    if (plumb_may_lock("plumb_node_set_device", NULL) < 0)
        return;
    plumb_lock();
    if (device)
        plumb_node_add_flags(node, PLUMB_NODE_ON_DEVICE);
    plumb_unlock();
}

/* ---- Devices --------------------------------------------------------------------------------- */

static struct plumb_device *device_place(void)
{
    for (uint32_t i = 0; i < plumb_rt.device_count; i++)
        if (!plumb_rt.devices[i].used)
            return &plumb_rt.devices[i];
    return plumb_rt.device_count < PLUMB_DEVICES_MAX ? &plumb_rt.devices[plumb_rt.device_count++]
                                                     : NULL;
}

plumb_device *plumb_device_register_impl(const char *name, void (*sync)(void *), void *arg)
{
    plumb_device *d = NULL;
    if (!sync || plumb_may_lock("plumb_device_register", NULL) < 0)
        return NULL;
    plumb_lock();
    if ((d = device_place()) != NULL) {
        if (!d->name || strcmp(d->name, name ? name : "") != 0)
            d->name = plumb_keep_text(name ? name : "");
        d->used = true;
        PLUMB_STORE(d->arg, arg);
        PLUMB_RELEASE(d->sync, sync);
    }
    plumb_unlock();
    if (!d)
        plumb_log(PLUMB_LOG_WARN, "device '%s' is not registered: there are %d already",
                  name ? name : "", (int)PLUMB_DEVICES_MAX);
    return d;
}

void plumb_device_sync(plumb_device *device)
{
    void (*sync)(void *);
    __atomic_fetch_add(&device->calls, 1, __ATOMIC_SEQ_CST);
    sync = __atomic_load_n(&device->sync, __ATOMIC_SEQ_CST);
    if (sync)
        sync(PLUMB_LOAD(device->arg));
    __atomic_fetch_sub(&device->calls, 1, __ATOMIC_SEQ_CST);
}

/* Under the lock: removes the device, so it is no longer found. */
static void device_remove(plumb_device *device)
{
    __atomic_store_n(&device->sync, NULL, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < plumb_rt.pipeline_count; i++)
        if (PLUMB_LOAD(plumb_rt.pipelines[i].device) == device)
            PLUMB_STORE(plumb_rt.pipelines[i].device, NULL);
    for (uint32_t i = 0; i < plumb_rt.node_count; i++)
        if (PLUMB_LOAD(plumb_node_at(i)->device) == device)
            PLUMB_STORE(plumb_node_at(i)->device, NULL);
}

int plumb_device_unregister_impl(plumb_device *device, plumb_error *err)
{
    bool known = false;
    if (plumb_may_lock("plumb_device_unregister", err) < 0)
        return PLUMB_ERR_STATE;
    plumb_lock();
    for (uint32_t i = 0; i < plumb_rt.device_count; i++)
        known |= device == &plumb_rt.devices[i] && device->used && PLUMB_LOAD(device->sync);
    if (known)
        device_remove(device);
    plumb_unlock();
    if (!known)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_device_unregister: no such device");
    for (int i = 0; i < UNREGISTER_MS && __atomic_load_n(&device->calls, __ATOMIC_SEQ_CST); i++)
        plumb_helper_pause(1000000);
    if (__atomic_load_n(&device->calls, __ATOMIC_SEQ_CST))
        return plumb_fail(err, PLUMB_ERR_STATE,
                          "device '%s': a thread is still in its function, which must stay loaded",
                          device->name);
    plumb_lock();
    device->used = false;
    plumb_unlock();
    return PLUMB_OK;
}
