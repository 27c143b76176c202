/* choice.c: the check of --pipeline and --phase. No state. */
#include "report/table/choice.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/nearest.h"

enum { MAX_LISTED = 16 };

static bool has(const struct plumb_timing_node *node, const char *pipeline, const char *phase)
{
    return (!pipeline || strcmp(node->pipeline, pipeline) == 0) &&
           (!phase || strcmp(node->phase, phase) == 0);
}

/* The phase of node `i`, or its pipeline; NULL when an earlier node of `pipeline` has the same. */
static const char *first_sight(const struct plumb_timing *t, size_t i, const char *pipeline,
                               bool phases)
{
    const char *name = phases ? t->nodes[i].phase : t->nodes[i].pipeline;
    if (!has(&t->nodes[i], pipeline, NULL))
        return NULL;
    for (size_t k = 0; k < i; k++)
        if (has(&t->nodes[k], pipeline, NULL) &&
            strcmp(phases ? t->nodes[k].phase : t->nodes[k].pipeline, name) == 0)
            return NULL;
    return name;
}

/* "inference, val", and the one that `word` was probably meant to be. */
static const char *list_names(struct plumb_buf *out, const struct plumb_timing *t,
                              const char *pipeline, bool phases, const char *word)
{
    struct plumb_nearest nearest = plumb_nearest_start(word);
    size_t listed = 0;
    for (size_t i = 0; i < t->node_count; i++) {
        const char *name = first_sight(t, i, pipeline, phases);
        if (!name)
            continue;
        plumb_nearest_offer(&nearest, name);
        if (listed > MAX_LISTED)
            continue;
        plumb_buf_str(out, listed ? ", " : "");
        plumb_buf_str(out, listed < MAX_LISTED ? name : "...");
        listed++;
    }
    return nearest.best;
}

int plumb_choice_check(const struct plumb_timing *t, const char *pipeline, const char *phase,
                       plumb_error *err)
{
    struct plumb_buf names = {0};
    bool pipeline_seen = false;
    for (size_t i = 0; i < t->node_count; i++) {
        if (has(&t->nodes[i], pipeline, phase))
            return PLUMB_OK;
        pipeline_seen |= has(&t->nodes[i], pipeline, NULL);
    }
    if (t->node_count == 0)
        return PLUMB_OK;
    const char *word = pipeline_seen ? phase : pipeline;
    const char *best = list_names(&names, t, pipeline_seen ? pipeline : NULL, pipeline_seen, word);
    bool inside = pipeline_seen && pipeline;
    int rc =
        plumb_fail(err, PLUMB_ERR_NOT_FOUND, "%s%s%s has no %s '%s': it has %s%s%s%s",
                   inside ? "pipeline '" : "the run", inside ? pipeline : "", inside ? "'" : "",
                   pipeline_seen ? "phase" : "pipeline", word, names.data ? names.data : "",
                   best ? " (did you mean '" : "", best ? best : "", best ? "'?)" : "");
    plumb_buf_fini(&names);
    return rc;
}
