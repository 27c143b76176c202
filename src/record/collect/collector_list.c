/* collector_list.c: the list of collectors: registering, finding, removing. */
#include <string.h>

#include "record/collect/collector.h"
#include "record/runtime/helper.h"
#include "record/runtime/keeper.h"
#include "record/runtime/lock.h"
#include "record/runtime/runtime.h"

/* The list; entries never leave it. Guarded by life_lock; `count` is released. */
static struct {
    struct plumb_collector *at[PLUMB_LIVE_COLLECTORS];
    uint32_t count;
} list;

uint32_t plumb_collectors_count(void)
{
    return PLUMB_ACQUIRE(list.count);
}

struct plumb_collector *plumb_collector_at(uint32_t i)
{
    return i < PLUMB_ACQUIRE(list.count) ? list.at[i] : NULL;
}

static bool is_word(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-.")
                    : 0;
    return n > 0 && n < 64 && name[n] == '\0' && strcmp(name, "auto") != 0 &&
           strcmp(name, "none") != 0;
}

/* Under its lock, as the place may be given to another collector in between. */
static bool is_called(struct plumb_collector *c, const char *name)
{
    bool is;
    pthread_mutex_lock(&c->lock);
    is = c->registered && strcmp(c->ops.name, name) == 0;
    pthread_mutex_unlock(&c->lock);
    return is;
}

plumb_collector *plumb_collector_find_impl(const char *name)
{
    for (uint32_t i = 0; name && i < PLUMB_ACQUIRE(list.count); i++) {
        if (PLUMB_ACQUIRE(list.at[i]->registered) && is_called(list.at[i], name))
            return list.at[i];
    }
    return NULL;
}

static void init_locks(struct plumb_collector *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->asked, &attr);
    pthread_cond_init(&c->answered, &attr);
    pthread_condattr_destroy(&attr);
}

/* Returns a free place, or a new one. A place that was in use in this run is skipped: its lanes
 * stay shut. */
static struct plumb_collector *place(void)
{
    struct plumb_collector *c;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!list.at[i]->registered && list.at[i]->generation != plumb_rt.generation)
            return list.at[i];
    }
    if (list.count == PLUMB_LIVE_COLLECTORS)
        return NULL;
    c = plumb_keep_bytes(sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->index = list.count;
    init_locks(c);
    list.at[list.count] = c;
    PLUMB_RELEASE(list.count, list.count + 1);
    return c;
}

/* Under life_lock. */
static struct plumb_collector *add(const plumb_collector_ops *given, void *arg, plumb_error *err)
{
    plumb_collector_ops ops = {0};
    struct plumb_collector *c;
    memcpy(&ops, given, given->size < sizeof ops ? given->size : sizeof ops);
    if (!is_word(ops.name) || !ops.start) {
        plumb_fail(err, PLUMB_ERR_ARG,
                   "a collector needs a `start` and a name of letters, digits, "
                   "'_', '-' and '.', which is neither 'auto' nor 'none'");
        return NULL;
    }
    if (plumb_collector_find_impl(ops.name)) {
        plumb_fail(err, PLUMB_ERR_STATE, "there is a collector '%s' already", ops.name);
        return NULL;
    }
    plumb_lock();
    c = place();
    ops.name = c ? plumb_keep_text(ops.name) : NULL;
    ops.help = c ? plumb_keep_text(ops.help ? ops.help : "") : NULL;
    plumb_unlock();
    if (!ops.name || !ops.help) {
        plumb_fail(err, PLUMB_ERR_MEMORY, "too many collectors: there are %d",
                   (int)PLUMB_LIVE_COLLECTORS);
        return NULL;
    }
    pthread_mutex_lock(&c->lock);
    c->ops = ops;
    c->arg = arg;
    c->state = PLUMB_COLLECTOR_IDLE;
    PLUMB_STORE(c->generation, 0);
    c->built_in = false;
    c->why[0] = '\0';
    PLUMB_RELEASE(c->registered, 1);
    pthread_mutex_unlock(&c->lock);
    return c;
}

void plumb_collectors_add(const plumb_collector_ops *const *ops)
{
    for (; *ops; ops++) {
        struct plumb_collector *c = add(*ops, NULL, NULL);
        if (c)
            c->built_in = true;
    }
}

plumb_collector *plumb_collector_register_impl(const plumb_collector_ops *ops, void *arg,
                                               plumb_error *err)
{
    struct plumb_collector *c;
    if (!ops || ops->size < sizeof ops->size || plumb_life_locked) {
        plumb_fail(err, PLUMB_ERR_ARG, "plumb_collector_register: no ops, or inside start or stop");
        return NULL;
    }
    if (plumb_may_lock_all("plumb_collector_register", err) < 0)
        return NULL;
    plumb_life_lock();
    c = add(ops, arg, err);
    if (c && plumb_helper_is_there())
        plumb_keeper_start();
    if (c && plumb_rt.run)
        plumb_collector_start_one(c, plumb_rt.run);
    plumb_life_unlock();
    return c;
}

int plumb_collector_unregister_impl(plumb_collector *c, plumb_error *err)
{
    int rc = PLUMB_OK;
    uint32_t state;
    if (!c || plumb_life_locked)
        return plumb_fail(err, PLUMB_ERR_ARG, "plumb_collector_unregister: none, or not now");
    if (plumb_may_lock_all("plumb_collector_unregister", err) < 0)
        return PLUMB_ERR_STATE;
    plumb_life_lock();
    if (plumb_rt.run && PLUMB_LOAD(c->generation) == plumb_rt.run->generation &&
        PLUMB_LOAD(c->open))
        plumb_collector_stop_one(c, plumb_rt.run);
    pthread_mutex_lock(&c->lock);
    state = c->state;
    pthread_mutex_unlock(&c->lock);
    if (!c->registered || state == PLUMB_COLLECTOR_ABANDONED) {
        rc = plumb_fail(err, PLUMB_ERR_STATE, "collector '%s' %s", c->ops.name,
                        c->registered ? "is held up in one of its functions" : "is gone already");
    } else {
        if (c->ops.destroy)
            c->ops.destroy(c->arg);
        pthread_mutex_lock(&c->lock);
        PLUMB_STORE(c->registered, 0);
        pthread_mutex_unlock(&c->lock);
    }
    plumb_life_unlock();
    return rc;
}

const void *plumb_collector_offer_impl(plumb_collector *c)
{
    const void *offer = NULL;
    if (!c || !PLUMB_ACQUIRE(c->registered))
        return NULL;
    pthread_mutex_lock(&c->lock);
    if (c->registered)
        offer = c->ops.offer;
    pthread_mutex_unlock(&c->lock);
    return offer;
}

void plumb_collectors_forked(void)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct plumb_collector *c = list.at[i];
        init_locks(c);
        PLUMB_STORE(c->open, 0);
        PLUMB_STORE(c->generation, 0);
        c->serial++;
        c->threads = 0;
        c->ask = PLUMB_ASK_NOTHING;
        c->state = PLUMB_COLLECTOR_IDLE;
    }
}
