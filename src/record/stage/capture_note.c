/* capture_note.c: what the end of a run says of its capture: where it is, or why there is none, in
 * one line; and a line for each of the first inputs that could not be kept. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "record/runtime/carve.h"
#include "record/runtime/lock.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/stage/capture_parts.h"

enum known { IS_A_STAGE, IS_A_NODE, IS_UNKNOWN };

/* `near`: the stage that was probably meant; NULL: none. */
static enum known look_up(const char *name, const char **near)
{
    struct plumb_nearest nearest = plumb_nearest_start(name);
    uint32_t nodes = PLUMB_ACQUIRE(plumb_rt.node_count);
    enum known known = IS_UNKNOWN;
    for (uint32_t i = 1; i < nodes; i++) {
        const struct plumb_node_entry *node = plumb_node_at(i);
        bool stage = (PLUMB_LOAD(node->flags) & PLUMB_POINT_STAGE) != 0;
        if (strcmp(node->name, name) == 0)
            known = stage ? IS_A_STAGE : IS_A_NODE;
        else if (stage)
            plumb_nearest_offer(&nearest, node->name);
    }
    *near = nearest.best;
    return known;
}

static void note_unseen(struct plumb_run *run)
{
    const char *asked = plumb_rt.settings.capture, *stage = plumb_capture.stage, *near;
    switch (look_up(stage, &near)) {
    case IS_A_STAGE:
        plumb_run_note(run,
                       "PLUMB_CAPTURE=%.100s: no run of the stage named an input "
                       "(plumb_stage_input()): nothing was captured",
                       asked);
        break;
    case IS_A_NODE:
        plumb_run_note(run,
                       "PLUMB_CAPTURE=%.100s: '%.100s' is a span, not a stage (PLUMB_STAGE): "
                       "nothing was captured",
                       asked, stage);
        break;
    case IS_UNKNOWN:
        plumb_run_note(run, "PLUMB_CAPTURE=%.100s: no stage that ran is called '%.100s'%s%.100s%s",
                       asked, stage, near ? ": did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
        break;
    }
}

/* The stage ran, and no call of it was kept. */
static void note_unkept(struct plumb_run *run)
{
    const struct plumb_capture *c = &plumb_capture;
    const char *asked = plumb_rt.settings.capture;
    if (c->step >= 0 && !PLUMB_LOAD(c->stepped))
        plumb_run_note(run,
                       "PLUMB_CAPTURE=%.100s: the stage names no input inside its steps "
                       "(plumb_stage_input() in the loop), so a step cannot be captured; without "
                       "':%" PRId64 "' the whole call can",
                       asked, c->step);
    else if (c->step >= 0 && !c->reached)
        plumb_run_note(run,
                       "PLUMB_CAPTURE=%.100s: no call that was followed named an input in step "
                       "%" PRId64 ", the last with inputs was %" PRId64 ": nothing was captured",
                       asked, c->step, c->last_step);
    else
        plumb_run_note(run,
                       "PLUMB_CAPTURE=%.100s: the call did not end before the run did: nothing "
                       "was captured",
                       asked);
}

static void note_missing(struct plumb_run *run)
{
    const struct plumb_capture *c = &plumb_capture;
    uint64_t left = c->missing;
    uint32_t lines = 0;
    for (const struct plumb_capture_item *i = c->items; i && lines < PLUMB_CAPTURE_LINES;
         i = i->next) {
        if (!i->missing)
            continue;
        plumb_run_note(run, "not captured of %.100s: %s", c->stage, i->why);
        lines++;
        left--;
    }
    if (left > 0)
        plumb_run_note(run, "not captured of %.100s: %" PRIu64 " more", c->stage, left);
}

static void note_file(struct plumb_run *run)
{
    const struct plumb_capture *c = &plumb_capture;
    char step[40] = "";
    if (c->step >= 0)
        snprintf(step, sizeof step, " at step %" PRId64, c->step);
    if (c->code)
        plumb_run_note(run, "captured inputs of %.100s%s: cannot write '%.200s': %s", c->stage,
                       step, c->path, strerror(c->code));
    else
        plumb_run_note(
            run, "captured inputs of %.100s%s: %.150s, %" PRIu64 " tensor%s of %" PRIu64 " bytes",
            c->stage, step, c->file, c->blobs, c->blobs == 1 ? "" : "s", c->bytes);
    note_missing(run);
}

void plumb_capture_note(struct plumb_run *run)
{
    const struct plumb_capture *c = &plumb_capture;
    plumb_lock();
    switch (PLUMB_ACQUIRE(c->state)) {
    case PLUMB_CAPTURE_DONE:
        note_file(run);
        break;
    case PLUMB_CAPTURE_OPEN:
        if (PLUMB_LOAD(c->claims))
            note_unkept(run);
        else
            note_unseen(run);
        break;
    default:
        plumb_run_note(run, "captured inputs of %.100s: the disk took nothing for 5 s: given up",
                       c->stage);
    }
    plumb_unlock();
}
