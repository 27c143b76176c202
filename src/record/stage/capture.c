/* capture.c: which call of a stage is captured, and at which step its inputs are taken.
 *
 * An input is of the call when it is named at the step that the thread was in when the stage began,
 * and of a step when it is named inside a loop of the stage. A stage that begins in the wanted step
 * is inside another one's loop: its whole call is of that step. A whole call keeps the first input
 * of each name: a loop of its own may pass the step that it began in, and would then look like the
 * call. A step keeps what is named in it, and for the rest the inputs of the call. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/text/sanitize.h"
#include "model/signature.h"
#include "model/value_parts.h"
#include "record/runtime/helper.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/stage/capture_parts.h"

enum { CLOSE_WAIT_MS = 10000 };

uint32_t plumb_capture_wanted;
struct plumb_capture plumb_capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread is in a call: a copy function of the program, or a signal handler, that names inputs
 * is left out. */
static __thread bool calling __attribute__((tls_model("initial-exec")));

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Counted, so that the end of the run waits; false: no run wants inputs. */
static bool come_in(void)
{
    if (calling)
        return false;
    __atomic_add_fetch(&plumb_capture.inside, 1, __ATOMIC_SEQ_CST);
    calling = __atomic_load_n(&plumb_capture_wanted, __ATOMIC_SEQ_CST) != 0;
    if (!calling)
        __atomic_sub_fetch(&plumb_capture.inside, 1, __ATOMIC_SEQ_CST);
    return calling;
}

static void go_out(void)
{
    calling = false;
    __atomic_sub_fetch(&plumb_capture.inside, 1, __ATOMIC_RELEASE);
}

/* Whether the call has the claim, which it takes if no other call has it. */
static bool claim(const struct plumb_capture_call *call)
{
    struct plumb_capture *c = &plumb_capture;
    uint64_t none = 0;
    if (PLUMB_ACQUIRE(c->owner) == call->span)
        return true;
    if (!__atomic_compare_exchange_n(&c->owner, &none, call->span, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    plumb_capture_items_free(); /* of a call that gave it back */
    c->whole = c->step < 0 || call->begin_step == c->step;
    c->reached = c->whole;
    c->node = call->node;
    PLUMB_ADD(c->claims, 1);
    return true;
}

static void note_step(int64_t step)
{
    PLUMB_STORE(plumb_capture.stepped, 1);
    if (step > PLUMB_LOAD(plumb_capture.last_step))
        PLUMB_STORE(plumb_capture.last_step, step);
}

static struct plumb_capture_item **find(const char *name)
{
    struct plumb_capture_item **at = &plumb_capture.items;
    char cut[PLUMB_CAPTURE_PATH];
    snprintf(cut, sizeof cut, "%s", name);
    while (*at && strcmp((*at)->name, cut) != 0)
        at = &(*at)->next;
    return at;
}

struct taking {
    bool replaces; /* what has the name already */
};

static void take(void *arg, const char *name, const plumb_value *value)
{
    const struct taking *taking = arg;
    struct plumb_capture_item **at = find(name ? name : ""), *old = *at, *made;
    if (old && !taking->replaces)
        return;
    if (old) { /* its name in the file, and its part of the bound, are free again */
        *at = old->next;
        plumb_capture_item_free(old);
    }
    if (!(made = plumb_capture_item_make(name ? name : "", value))) {
        plumb_capture.missing++; /* for lack of memory */
        return;
    }
    made->next = *at;
    *at = made;
}

static bool take_input(const struct plumb_capture_call *call, const char *name,
                       const plumb_value *value)
{
    struct plumb_capture *c = &plumb_capture;
    bool in_loop = call->step != call->begin_step, at_step = call->step == c->step;
    if (in_loop)
        note_step(call->step);
    if (!claim(call))
        return false;
    if (c->whole || at_step || (!in_loop && !c->reached)) {
        c->reached |= at_step;
        plumb_each_part(name, value, take, &(struct taking){at_step && !c->whole});
    }
    return true;
}

static void take_hash(void *arg, const char *name, const plumb_value *value)
{
    plumb_value_hashes_put(arg, name, value);
}

static void take_output(const struct plumb_capture_call *call, const char *name,
                        const plumb_value *value)
{
    struct plumb_capture *c = &plumb_capture;
    if (PLUMB_ACQUIRE(c->owner) != call->span || (!c->whole && call->step != c->step))
        return;
    if (!c->outputs)
        c->outputs = plumb_pages_map(sizeof *c->outputs);
    if (c->outputs)
        plumb_each_part(name, value, take_hash, c->outputs);
}

bool plumb_capture_input(const struct plumb_capture_call *call, const char *name,
                         const plumb_value *value)
{
    struct plumb_cancel before;
    bool claimed = false;
    if (!come_in())
        return false;
    if (strcmp(plumb_node_at(call->node)->name, plumb_capture.stage) == 0) {
        before = plumb_cancel_off();
        claimed = take_input(call, name, value);
        plumb_cancel_on(before);
    }
    go_out();
    return claimed;
}

void plumb_capture_output(const struct plumb_capture_call *call, const char *name,
                          const plumb_value *value)
{
    struct plumb_cancel before;
    if (!come_in())
        return;
    before = plumb_cancel_off();
    take_output(call, name, value);
    plumb_cancel_on(before);
    go_out();
}

void plumb_capture_left(uint64_t span)
{
    __atomic_compare_exchange_n(&plumb_capture.owner, &span, 0, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

void plumb_capture_end(uint64_t span, bool abandoned)
{
    struct plumb_capture *c = &plumb_capture;
    int saved = errno;
    bool complete;
    if (!come_in())
        return;
    complete = PLUMB_ACQUIRE(c->owner) == span && !abandoned && c->reached;
    if (complete) {
        PLUMB_STORE(plumb_capture_wanted, 0);
        PLUMB_RELEASE(c->state, PLUMB_CAPTURE_READY);
    } else {
        plumb_capture_left(span);
    }
    go_out();
    if (complete)
        plumb_capture_write();
    errno = saved;
}

/* ---- The life of a run ----------------------------------------------------------------------- */

/* "denoise:7": the step is what follows the last colon, if that is a number. */
static void parse(struct plumb_capture *c, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    int64_t step = 0;
    c->step = -1;
    snprintf(c->stage, sizeof c->stage, "%s", text);
    if (digits == 0 || digits > 18 || colon[1 + digits] || colon == text)
        return;
    for (size_t i = 1; i <= digits; i++)
        step = 10 * step + (colon[i] - '0');
    c->step = step;
    c->stage[colon - text] = '\0';
}

void plumb_capture_open(struct plumb_run *run)
{
    struct plumb_capture *c = &plumb_capture;
    char safe[PLUMB_SAFE_NAME_MAX + 1];
    uint32_t state = PLUMB_ACQUIRE(c->state);
    if (!plumb_rt.settings.capture[0])
        return;
    if (c->running || PLUMB_ACQUIRE(c->inside) || state == PLUMB_CAPTURE_WRITING) {
        plumb_say("plumb: PLUMB_CAPTURE: the inputs of an earlier run are still being written; "
                  "none are captured of this one");
        return;
    }
    if (!run->dir[0]) {
        plumb_say("plumb: the run has no directory; no inputs are captured");
        return;
    }
    plumb_capture_items_free();
    parse(c, plumb_rt.settings.capture);
    plumb_sanitize(safe, c->stage);
    snprintf(c->path, sizeof c->path, "%s/%s%s", run->dir, safe, PLUMB_CAPTURE_SUFFIX);
    c->file = c->path + strlen(run->dir) + 1;
    c->claims = c->stepped = 0;
    c->last_step = -1;
    c->code = 0;
    c->whole = c->reached = false;
    PLUMB_STORE(c->owner, 0);
    PLUMB_STORE(c->state, PLUMB_CAPTURE_OPEN);
    pthread_mutex_lock(&c->lock);
    c->run = run;
    pthread_mutex_unlock(&c->lock);
    __atomic_store_n(&plumb_capture_wanted, 1, __ATOMIC_SEQ_CST);
}

void plumb_capture_close(struct plumb_run *run)
{
    struct plumb_capture *c = &plumb_capture;
    if (c->run != run)
        return;
    __atomic_store_n(&plumb_capture_wanted, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < CLOSE_WAIT_MS && __atomic_load_n(&c->inside, __ATOMIC_SEQ_CST); i++)
        plumb_helper_pause(1000000);
    plumb_capture_await();
    plumb_capture_note(run);
    pthread_mutex_lock(&c->lock);
    c->run = NULL;
    pthread_mutex_unlock(&c->lock);
    /* A thread that is held up in a call, or on the disk, goes on using them. */
    if (!PLUMB_ACQUIRE(c->inside) && PLUMB_ACQUIRE(c->state) != PLUMB_CAPTURE_WRITING)
        plumb_capture_items_free();
}

/* The parent's threads are not here, nor is what they were making: it may be half made. Its pages
 * stay. */
void plumb_capture_forked(void)
{
    struct plumb_capture *c = &plumb_capture;
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    plumb_capture_wanted = 0;
    c->items = c->item = NULL;
    c->making.data = NULL;
    c->outputs = NULL;
    c->bytes = c->blobs = c->missing = c->keys = 0;
    c->inside = c->state = 0;
    c->owner = 0;
    c->run = NULL;
    c->running = calling = false;
    c->lock = fresh;
}
