/* device.c: the device figures of stages: work that they launched, its time on the device, and the
 * time that they waited for work, by the stage that launched it.
 *
 * In the ledger and not in the trace: they must be right without a trace, and with one that has
 * dropped events. Under the ledger's lock, because the few figures of a stage belong together and a
 * launch costs microseconds anyway. */
#include <string.h>

#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/thread.h"
#include "record/stage/ledger.h"
#include "record/stage/stage.h"

/* Returns the key of a launch: its stage's, or without a stage its node's. */
static uint64_t key_of(const plumb_origin *o)
{
    return o->stage ? o->stage - 1 : plumb_key(o->group & 0xffff, o->node);
}

static struct plumb_live_device *make(struct plumb_run *run, uint64_t key)
{
    struct plumb_live_device *d;
    plumb_lock();
    d = plumb_table_add(run, &run->h->devices);
    if (d && plumb_map_put(&run->devices, key + 1, run->h->devices.count + 1) == PLUMB_OK) {
        memset(d, 0, sizeof *d);
        d->key = key;
        plumb_table_commit(&run->h->devices);
    } else {
        d = NULL;
    }
    plumb_unlock();
    return d;
}

/* Returns the figures of a key, cleared if they are from before the pipeline's last reset. NULL:
 * the mapping is full. */
static struct plumb_live_device_use *use_of(struct plumb_run *run, uint64_t key)
{
    struct plumb_live_pipeline *p = plumb_pipeline_of_group(run, plumb_key_group(key));
    uint32_t generation = PLUMB_LOAD(p->reset_generation);
    uint64_t known = plumb_map_get(&run->devices, key + 1);
    struct plumb_live_device *d =
        known ? plumb_table_at(run, &run->h->devices, (uint32_t)known - 1) : make(run, key);
    if (!d)
        return NULL;
    if (d->reset_generation != generation) {
        memset(&d->use, 0, sizeof d->use);
        d->reset_generation = generation;
    }
    return &d->use;
}

void plumb_device_launched(struct plumb_in in, const plumb_origin *o)
{
    struct plumb_live_device_use *u;
    plumb_ledger_lock();
    if ((u = use_of(in.run, key_of(o))) != NULL)
        u->launches++;
    if (o->stage && o->node != plumb_key_node(o->stage - 1) &&
        (u = use_of(in.run, plumb_key(o->group & 0xffff, o->node))) != NULL)
        u->launches++;
    if (o->stage && (u = plumb_request_use(in.run, o->request, o->stage - 1)) != NULL)
        u->launches++;
    plumb_ledger_unlock();
}

static void add_work(struct plumb_live_device_use *u, uint64_t ns)
{
    if (!u)
        return;
    u->works++;
    u->device_ns += ns;
}

void plumb_device_done(struct plumb_in in, const plumb_origin *o, uint64_t ns)
{
    plumb_ledger_lock();
    add_work(use_of(in.run, key_of(o)), ns);
    if (o->stage && o->request)
        add_work(plumb_request_use(in.run, o->request, o->stage - 1), ns);
    plumb_ledger_unlock();
}

static void add_wait(struct plumb_live_device_use *u, uint64_t key, uint64_t ns)
{
    uint32_t i = 0;
    if (!u)
        return;
    u->wait_count++;
    u->wait_ns += ns;
    while (i < u->waits && u->wait[i].key != key)
        i++;
    if (i == PLUMB_LIVE_WAITS)
        return;
    if (i == u->waits) {
        u->wait[i] = (struct plumb_live_wait){key, 0, 0};
        PLUMB_RELEASE(u->waits, i + 1);
    }
    u->wait[i].count++;
    u->wait[i].ns += ns;
}

void plumb_device_waited(struct plumb_in in, const plumb_origin *o, uint64_t ns)
{
    struct plumb_thread *th = in.th;
    const struct plumb_stage_run *s = th->stages ? &th->stage[th->stages - 1] : NULL;
    uint64_t key = s ? s->key : plumb_key(th->group, plumb_innermost_node(th));
    if (!plumb_key_node(key))
        return;
    plumb_ledger_lock();
    add_wait(use_of(in.run, key), key_of(o), ns);
    if (s && s->request)
        add_wait(plumb_request_use(in.run, s->request, key), key_of(o), ns);
    plumb_ledger_unlock();
}
