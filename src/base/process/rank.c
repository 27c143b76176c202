/* rank.c: the rank variables of the usual launchers. No state; any thread, as long as the
 * environment does not change during the call. */
#include "base/process/rank.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/process/environment.h"

struct source {
    const char *rank, *world_size, *local_rank;
    const char *needs; /* counts only when this is set as well */
};

static const struct source sources[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {"PMIX_RANK", NULL, NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
    {"PALS_RANKID", NULL, "PALS_LOCAL_RANKID", NULL},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", NULL},
    {"RANK_ID", "RANK_SIZE", NULL, "RANK_SIZE"},
};
static const char *const local_only = "MPI_LOCALRANKID";

static int32_t number_of(char *const *environment, const char *name)
{
    const char *text = name ? plumb_environment_get(environment, name) : NULL;
    int64_t value = 0;
    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = 10 * value + (*text - '0');
        if (value > INT32_MAX)
            return -1;
    }
    return (int32_t)value;
}

static bool ask(struct plumb_rank *out, const struct source *s, char *const *environment)
{
    int32_t rank = number_of(environment, s->rank);
    if (rank < 0 || (s->needs && !plumb_environment_get(environment, s->needs)))
        return false;
    out->rank = rank;
    out->source = s->rank;
    out->local_rank = number_of(environment, s->local_rank);
    out->world_size = number_of(environment, s->world_size);
    if (out->world_size <= rank)
        out->world_size = -1; /* a variable left over from another job */
    return true;
}

void plumb_rank_find(struct plumb_rank *out, char *const *environment)
{
    *out = (struct plumb_rank){-1, -1, -1, NULL};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (ask(out, &sources[i], environment))
            break;
    if (out->local_rank >= 0)
        return;
    out->local_rank = number_of(environment, local_only);
    if (out->local_rank >= 0 && !out->source)
        out->source = local_only;
}
