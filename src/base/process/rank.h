/* rank.h: which process of a distributed job this is, as the launcher's variables tell it. */
#ifndef PLUMB_BASE_PROCESS_RANK_H
#define PLUMB_BASE_PROCESS_RANK_H

#include <stdint.h>

struct plumb_rank {
    int32_t rank, world_size, local_rank; /* -1: unknown */
    const char *source; /* the variable that answered, a static string; NULL: none */
};

/* Looks into `environment` (NULL-terminated "NAME=value"), in this order: RANK with WORLD_SIZE
 * (torchrun), OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, MV2_COMM_WORLD_RANK, MPI_LOCALRANKID (a
 * local rank only, so that the search goes on), SLURM_PROCID (only with SLURM_STEP_ID: a batch
 * shell has the former too), PALS_RANKID, FLUX_TASK_RANK, JSM_NAMESPACE_RANK, RANK_ID with
 * RANK_SIZE (Ascend). Values that are not a number from 0 to 2^31 - 1 count as absent. */
void plumb_rank_find(struct plumb_rank *out, char *const *environment);

#endif
