/* run.c: the records of a run: their settings, their file, and the log lines at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/log.h"
#include "base/pages.h"
#include "record/activation/activation.h"
#include "record/activation/calls.h"
#include "record/runtime/carve.h"
#include "record/runtime/helper.h"
#include "record/runtime/mapping.h"
#include "record/runtime/paths.h"
#include "record/runtime/runtime.h"

enum { CLOSE_WAIT_MS = 10000 };
#define FILE_WAIT_NS UINT64_C(5000000000)

/* ---- What is asked for ----------------------------------------------------------------------- */

/* Writes the reason, with the variable before it. */
static int blame(const char *variable, const plumb_error *why, plumb_error *err)
{
    return plumb_fail(err, why->code, "PLUMB_ACTIVATIONS_%s: %s", variable, why->message);
}

static int parse(struct plumb_act *a, const struct plumb_settings *s, plumb_error *err)
{
    plumb_error why = {0, ""};
    a->steps.count = 0;
    a->dumps = s->activations_dump[0] != '\0';
    if (plumb_step_list_parse(&a->steps, s->activations_steps, &why) < 0)
        return blame("STEPS", &why, err);
    if (plumb_pattern_init(&a->layers, s->activations_layers, &why) < 0)
        return blame("LAYERS", &why, err);
    if (plumb_pattern_init(&a->dump, s->activations_dump, &why) == PLUMB_OK)
        return PLUMB_OK;
    plumb_pattern_fini(&a->layers);
    return blame("DUMP", &why, err);
}

int plumb_activations_check(const struct plumb_settings *s, plumb_error *err)
{
    struct plumb_act *trial;
    int rc;
    if (!s->activations)
        return PLUMB_OK;
    trial = plumb_pages_map(sizeof *trial);
    if (!trial)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    rc = parse(trial, s, err);
    if (rc == PLUMB_OK) {
        plumb_pattern_fini(&trial->layers);
        plumb_pattern_fini(&trial->dump);
    }
    plumb_pages_unmap(trial, sizeof *trial);
    return rc;
}

bool plumb_activations_wanted(void)
{
    return PLUMB_LOAD(plumb_rt.settings.activations) && plumb_wanted();
}

/* ---- The life of a run ----------------------------------------------------------------------- */

/* Chooses the file of the records. Returns false, after a log line, if there is none. */
static bool choose_path(const struct plumb_run *run)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    char *path = plumb_act.path;
    if (s->activations_output[0])
        return plumb_path_own(path, sizeof plumb_act.path, s->activations_output,
                              "no activations are recorded");
    if (run->dir[0])
        snprintf(path, sizeof plumb_act.path, "%s/activations.jsonl", run->dir);
    else
        plumb_say("plumb: the run has no directory; no activations are recorded");
    return run->dir[0] != '\0';
}

static bool open_file(void)
{
    const struct plumb_settings *s = &plumb_rt.settings;
    plumb_error why = {0, ""};
    int rc = s->activations_output[0] ? plumb_run_make_parents(plumb_act.path, &why) : PLUMB_OK;
    if (rc == PLUMB_OK)
        /* A file that the user named gets the mode that the umask allows, as with a redirection. */
        rc = plumb_act_queue_open(plumb_act.path, s->activations_append,
                                  s->activations_output[0] ? 0666 : 0600, &why);
    if (rc < 0)
        plumb_say("plumb: %s; no activations are recorded", why.message);
    return rc == PLUMB_OK;
}

/* Under begin_lock: looks the statistics up, and opens the file if one is left. `last`: names that
 * are unknown now stay unknown. */
static void decide(bool last)
{
    struct plumb_act *a = &plumb_act;
    const char *names = plumb_rt.settings.activations_stats;
    uint32_t unknown, columns;
    pthread_mutex_lock(&a->lock);
    unknown = plumb_act_resolve(names);
    columns = a->columns.count;
    pthread_mutex_unlock(&a->lock);
    if ((unknown || !columns) && !last)
        return;
    if (unknown || !columns)
        plumb_act_log_unknown(names);
    PLUMB_RELEASE(a->state, columns && open_file() ? PLUMB_ACT_ON : PLUMB_ACT_OFF);
}

void plumb_activations_do_open(void)
{
    if (PLUMB_ACQUIRE(plumb_act.state) == PLUMB_ACT_UNDECIDED && PLUMB_ACQUIRE(plumb_act.called))
        decide(true);
    plumb_act_queue_begin();
    plumb_act_dump_open();
}

/* Under begin_lock. The file is among the helper's descriptors. */
static void settle(void)
{
    PLUMB_RELEASE(plumb_act.called, 1);
    if (!plumb_helper_do(PLUMB_JOB_ACTIVATIONS, FILE_WAIT_NS))
        PLUMB_RELEASE(plumb_act.state, PLUMB_ACT_OFF);
    plumb_log_show(PLUMB_LOG_TO_ANY);
}

bool plumb_act_is_on(void)
{
    struct plumb_act *a = &plumb_act;
    struct plumb_cancel before;
    if (PLUMB_ACQUIRE(a->state) == PLUMB_ACT_UNDECIDED) {
        /* Opening a file is a cancellation point, and the lock is held. */
        before = plumb_cancel_off();
        pthread_mutex_lock(&a->begin_lock);
        if (PLUMB_ACQUIRE(a->state) == PLUMB_ACT_UNDECIDED)
            settle();
        pthread_mutex_unlock(&a->begin_lock);
        plumb_cancel_on(before);
    }
    return PLUMB_ACQUIRE(a->state) == PLUMB_ACT_ON;
}

void plumb_activations_open(struct plumb_run *run)
{
    struct plumb_act *a = &plumb_act;
    plumb_error why = {0, ""};
    if (!plumb_rt.settings.activations)
        return;
    pthread_mutex_lock(&a->lock);
    a->step_seen = a->step_reached = a->said = false;
    a->matched = a->said_matched = 0;
    a->told = a->seq = a->dumped_bytes = 0;
    memset(a->dumps_left_out, 0, sizeof a->dumps_left_out);
    a->first_step = a->last_step = -1;
    plumb_act_calls_clear(&a->calls);
    pthread_mutex_unlock(&a->lock);
    PLUMB_STORE(a->step_open, 0);
    PLUMB_STORE(a->called, 0);
    PLUMB_STORE(a->state, PLUMB_ACT_UNDECIDED);
    snprintf(a->dir, sizeof a->dir, "%s", run->dir);
    if (parse(a, &plumb_rt.settings, &why) < 0) {
        plumb_say("plumb: %s; no activations are recorded", why.message);
        return;
    }
    if (choose_path(run)) {
        pthread_mutex_lock(&a->begin_lock);
        decide(false);
        pthread_mutex_unlock(&a->begin_lock);
        if (PLUMB_LOAD(a->state) != PLUMB_ACT_OFF) {
            PLUMB_RELEASE(a->generation, run->generation);
            return;
        }
    }
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}

void plumb_act_log_attached(void)
{
    struct plumb_act *a = &plumb_act;
    const struct plumb_settings *s = &plumb_rt.settings;
    char names[1024], more[64] = "";
    uint32_t matched, before;
    bool said, told;
    pthread_mutex_lock(&a->lock);
    said = a->said;
    told = a->told > 0;
    before = a->said_matched;
    a->said = true;
    a->said_matched = matched = a->matched;
    plumb_act_names(names, sizeof names);
    pthread_mutex_unlock(&a->lock);
    if (said && matched == before)
        return;
    if (said)
        snprintf(more, sizeof more, ", %u of them after the first step", matched - before);
    if (matched == 0)
        plumb_say("plumb: activation trace: nothing matched: %s",
                  told ? "no module has that in its path" : "the program reports no activations");
    if (matched == 0 || (said && before == 0) || !s->quiet)
        plumb_say("plumb: activation trace attached to %u module%s%s (pattern='%s', stats=[%s])",
                  matched, matched == 1 ? "" : "s", more, s->activations_layers, names);
}

/* Reports that the chosen steps never came. */
static void warn_steps(void)
{
    const struct plumb_act *a = &plumb_act;
    if (a->steps.count == 0 || a->told == 0 || a->step_reached)
        return;
    if (!a->step_seen && !PLUMB_LOAD(a->step_open))
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS chose steps, and the program opened none "
                  "(PLUMB_STEP, PLUMB_STEPS): no activations were recorded");
    else if (!a->step_seen)
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS chose steps, and no layer ran inside one: a step "
                  "is open on its own thread, others get it by plumb_context_adopt(): no "
                  "activations were recorded");
    else
        plumb_say("plumb: PLUMB_ACTIVATIONS_STEPS: the program came to none of the steps '%s', its "
                  "last was %lld: no activations were recorded",
                  plumb_rt.settings.activations_steps, (long long)a->last_step);
}

static void log_dumps(void)
{
    static const char *const whys[PLUMB_ACT_DUMP_WHYS] = {
        [PLUMB_ACT_DUMP_UNREADABLE] = "no data that can be read, or a type that safetensors lacks",
        [PLUMB_ACT_DUMP_BOUND] = "PLUMB_ACTIVATIONS_DUMP_BYTES is used up",
        [PLUMB_ACT_DUMP_UNWRITTEN] = "they could not be written",
        [PLUMB_ACT_DUMP_LATE] = "the disk took nothing for 5 s"};
    for (int i = 0; i < PLUMB_ACT_DUMP_WHYS; i++) {
        uint64_t n = plumb_act.dumps_left_out[i];
        if (n > 0)
            plumb_say("plumb: %llu tensor%s not kept whole: %s", (unsigned long long)n,
                      n == 1 ? " was" : "s were", whys[i]);
    }
}

void plumb_activations_close(struct plumb_run *run)
{
    struct plumb_act *a = &plumb_act;
    uint64_t lost = 0;
    if (!PLUMB_LOAD(a->generation))
        return;
    __atomic_store_n(&a->generation, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < CLOSE_WAIT_MS && __atomic_load_n(&a->inside, __ATOMIC_SEQ_CST); i++)
        plumb_helper_pause(1000000);
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_UNDECIDED) /* no call came */
        plumb_act_log_unknown(plumb_rt.settings.activations_stats);
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_ON || (a->told == 0 && a->columns.count)) {
        plumb_act_log_attached();
        warn_steps();
    }
    if (PLUMB_LOAD(a->state) == PLUMB_ACT_ON)
        lost = plumb_act_queue_close();
    if (lost > 0) {
        plumb_say("plumb: %llu activation records were left out", (unsigned long long)lost);
        plumb_run_note(run, "%llu activation records were left out", (unsigned long long)lost);
    }
    plumb_act_dump_close();
    log_dumps();
    /* A thread that is held up in a call still uses them. */
    if (PLUMB_LOAD(a->inside))
        return;
    plumb_act_modules_forget();
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}

void plumb_activations_give_back(void)
{
    struct plumb_act *a = &plumb_act;
    /* A pattern that is being matched at the fork cannot be freed. */
    if (!PLUMB_LOAD(a->generation) || PLUMB_LOAD(a->deciding))
        return;
    plumb_pattern_fini(&a->layers);
    plumb_pattern_fini(&a->dump);
}
