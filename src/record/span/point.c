/* point.c: trace points and the objects that own them. Each shared object has a list of its points
 * (the struct plumb_client of plumb.h); the runtime has a list of the objects. Switching writes the
 * mode word of every point; a point that was never passed stays unknown until its first pass. */
#include <string.h>

#include "base/pages.h"
#include "record/activation/activation.h"
#include "record/runtime/lock.h"
#include "record/runtime/node.h"
#include "record/runtime/point.h"
#include "record/runtime/runtime.h"

static bool any_enabled(void)
{
    uint32_t count = PLUMB_ACQUIRE(plumb_rt.pipeline_count);
    for (uint32_t i = 0; i < count; i++) {
        if (PLUMB_LOAD(plumb_rt.pipelines[i].enabled))
            return true;
    }
    return false;
}

/* An estimate without the lock, under which its node is written. */
static bool is_on(const struct plumb_point *p)
{
    return plumb_wanted() && (!(p->flags & PLUMB_POINT_DEBUG) || PLUMB_LOAD(plumb_rt.debug));
}

/* Of a point that records nothing. */
static uint32_t mode_off(void)
{
    return PLUMB_LOAD(plumb_rt.control_waits) ? PLUMB_MODE_SPECIAL : PLUMB_MODE_OFF;
}

static uint32_t mode_of(const struct plumb_point *p)
{
    if (!is_on(p))
        return mode_off();
    if (p->flags & (PLUMB_POINT_STAGE | PLUMB_POINT_MEMORY | PLUMB_POINT_REGION) ||
        plumb_node_at(p->node)->hooks)
        return PLUMB_MODE_SPECIAL;
    return PLUMB_MODE_ON;
}

static uint32_t activations_mode(void)
{
    return plumb_activations_wanted() ? PLUMB_MODE_ON : PLUMB_MODE_OFF;
}

void plumb_points_refresh(void)
{
    bool none = !any_enabled();
    for (uint32_t i = 0; i < plumb_rt.client_count; i++) {
        for (struct plumb_point *p = plumb_rt.clients[i]->points; p; p = p->next)
            PLUMB_RELEASE(p->mode, none ? mode_off() : mode_of(p));
        /* A client with an older header never reads this word. */
        PLUMB_RELEASE(plumb_rt.clients[i]->activations, activations_mode());
    }
}

static bool client_add(struct plumb_client *client)
{
    for (uint32_t i = 0; i < plumb_rt.client_count; i++) {
        if (plumb_rt.clients[i] == client)
            return true;
    }
    if (plumb_rt.client_count == plumb_rt.client_cap) {
        uint32_t cap = plumb_rt.client_cap ? plumb_rt.client_cap * 2 : 512;
        struct plumb_client **grown = plumb_pages_map(cap * sizeof *grown);
        if (!grown)
            return false;
        if (plumb_rt.client_count)
            memcpy(grown, plumb_rt.clients, plumb_rt.client_count * sizeof *grown);
        plumb_pages_unmap(plumb_rt.clients, plumb_rt.client_cap * sizeof *grown);
        plumb_rt.clients = grown;
        plumb_rt.client_cap = cap;
    }
    plumb_rt.clients[plumb_rt.client_count++] = client;
    return true;
}

void plumb_point_register(struct plumb_client *client, struct plumb_point *point)
{
    bool region = point->flags & PLUMB_POINT_REGION;
    plumb_node node;
    /* Stays unknown: this is a handler that interrupted plumb; a later pass resolves the point. */
    if (plumb_locked) {
        if (any_enabled() && is_on(point))
            plumb_turn_handler_away();
        return;
    }
    /* Whether its name is a region's is decided when it is entered, because it may be registered
     * until then. */
    node = region ? 0 : plumb_node_intern(point->name);
    plumb_lock();
    /* Two threads may make the first pass at once. */
    if (PLUMB_LOAD(point->mode) == PLUMB_MODE_UNKNOWN && (node || region) && client_add(client)) {
        point->node = node;
        point->next = client->points;
        client->points = point;
        if (node)
            plumb_node_add_site(node, point->file, point->line, point->flags);
        PLUMB_RELEASE(point->mode, any_enabled() ? mode_of(point) : mode_off());
    } else if (!node && !region) {
        PLUMB_RELEASE(point->mode, PLUMB_MODE_OFF);
    }
    plumb_unlock();
}

void plumb_activation_register_impl(struct plumb_client *client)
{
    if (plumb_locked)
        return; /* as above */
    plumb_lock();
    if (client_add(client))
        PLUMB_RELEASE(client->activations, activations_mode());
    plumb_unlock();
}

void plumb_client_detach(struct plumb_client *client)
{
    plumb_lock();
    for (uint32_t i = 0; i < plumb_rt.client_count; i++) {
        if (plumb_rt.clients[i] != client)
            continue;
        plumb_rt.clients[i] = plumb_rt.clients[--plumb_rt.client_count];
        /* Destructors that run after this one may pass the points again. */
        for (struct plumb_point *p = client->points; p; p = p->next)
            PLUMB_RELEASE(p->mode, PLUMB_MODE_OFF);
        client->points = NULL;
        PLUMB_RELEASE(client->activations, PLUMB_MODE_OFF);
        break;
    }
    plumb_unlock();
}

void plumb_set_debug_points(int on)
{
    /* Then the holder of the lock does it. */
    if (plumb_locked) {
        PLUMB_RELEASE(plumb_rt.debug_asked, 1u + (on != 0));
        return;
    }
    plumb_lock();
    PLUMB_STORE(plumb_rt.debug, on != 0);
    plumb_points_refresh();
    plumb_unlock();
}
