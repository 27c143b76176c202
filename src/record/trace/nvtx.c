/* nvtx.c: see nvtx.h. NVTX consists of headers only: they open the tool's library at the first call
 * and fill a table of functions, so nothing is linked. */
#include "record/trace/nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pages.h"
#include "base/process/environment.h"
#include "base/process/nvidia.h"
#include "record/runtime/node.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"

#if PLUMB_HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

enum { SLOTS = PLUMB_ASYNC_CHUNK * PLUMB_ASYNC_CHUNKS };

/* Ranges of async spans by slot, 0: none. Never freed, because threads may still read it after the
 * run that it was made for. */
static uint64_t *ranges;
static bool wiped; /* the kernel clears it in a forked child */

/* Checked once a process: devices do not come and go. */
static bool gpu_is_there(void)
{
    static uint32_t known; /* 1: there is none, 2: there is. Atomic */
    if (!PLUMB_LOAD(known))
        PLUMB_STORE(known,
                    plumb_nvidia_is_there(
                        "/dev", plumb_environment_get(plumb_environ(), "CUDA_VISIBLE_DEVICES"))
                        ? 2
                        : 1);
    return PLUMB_LOAD(known) == 2;
}

bool plumb_nvtx_emits(void)
{
    uint32_t asked = plumb_rt.settings.nvtx;
    return asked == PLUMB_NVTX_ALWAYS || (asked == PLUMB_NVTX_ON && gpu_is_there());
}

void plumb_nvtx_warn(void)
{
    if (plumb_rt.settings.nvtx == PLUMB_NVTX_ON && !gpu_is_there())
        plumb_say("plumb: PLUMB_NVTX emits no ranges: no NVIDIA GPU is there (/dev/nvidia0, "
                  "CUDA_VISIBLE_DEVICES); PLUMB_NVTX=always emits them nevertheless");
    if (plumb_nvtx_emits() && !ranges)
        PLUMB_RELEASE(ranges, plumb_pages_map_private(SLOTS * sizeof *ranges, &wiped));
}

void plumb_nvtx_receipt(int32_t rank, int32_t local_rank)
{
    const char *visible = plumb_environment_get(plumb_environ(), "CUDA_VISIBLE_DEVICES");
    /* A launcher gives each process all GPUs, of which the local rank picks one, or one GPU. */
    bool picks = local_rank > 0 && (!visible || strchr(visible, ','));
    char uuid[PLUMB_NVIDIA_UUID];
    if (!plumb_nvtx_emits() || plumb_log_level() < PLUMB_LOG_INFO)
        return;
    plumb_nvidia_uuid(uuid, picks ? (uint32_t)local_rank : 0, visible, PLUMB_NVIDIA_PROC);
    if (uuid[0])
        plumb_log(PLUMB_LOG_INFO, "Worker %d CUDA device UUID: %s", (int)(rank > 0 ? rank : 0),
                  uuid);
}

static nvtxEventAttributes_t attributes(uint32_t node, int64_t step)
{
    nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII};
    range.message.ascii = plumb_node_at(node)->name;
    if (step >= 0) {
        range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
        range.payload.llValue = step;
    }
    return range;
}

void plumb_nvtx_push(struct plumb_thread *th, uint32_t node)
{
    int saved = errno;
    nvtxEventAttributes_t range = attributes(node, th->step);
    th->nvtx_depth++;
    nvtxRangePushEx(&range);
    errno = saved;
}

void plumb_nvtx_pop_to(struct plumb_thread *th, uint32_t depth)
{
    int saved = errno;
    while (th->nvtx_depth > depth) {
        th->nvtx_depth--;
        nvtxRangePop();
    }
    errno = saved;
}

/* ---- Async spans ---------------------------------------------------------------------------- */

uint64_t plumb_nvtx_start(uint32_t node, int64_t step)
{
    int saved = errno;
    nvtxEventAttributes_t range = attributes(node, step);
    uint64_t id = PLUMB_ACQUIRE(ranges) ? nvtxRangeStartEx(&range) : 0;
    errno = saved;
    return id;
}

void plumb_nvtx_end(uint64_t range)
{
    int saved = errno;
    if (range)
        nvtxRangeEnd(range);
    errno = saved;
}

void plumb_nvtx_keep(uint32_t slot, uint64_t range)
{
    PLUMB_RELEASE(ranges[slot], range);
}

uint64_t plumb_nvtx_take(uint32_t slot)
{
    uint64_t *all = PLUMB_ACQUIRE(ranges);
    return all && PLUMB_LOAD(all[slot]) ? __atomic_exchange_n(&all[slot], 0, __ATOMIC_ACQ_REL) : 0;
}

void plumb_nvtx_end_all(void)
{
    for (uint32_t i = 0; ranges && i < SLOTS; i++)
        plumb_nvtx_end(plumb_nvtx_take(i));
}

void plumb_nvtx_forked(void)
{
    if (ranges && !wiped)
        memset(ranges, 0, SLOTS * sizeof *ranges);
}

#else

bool plumb_nvtx_emits(void)
{
    return false;
}

void plumb_nvtx_warn(void)
{
    if (plumb_rt.settings.nvtx != PLUMB_NVTX_OFF)
        plumb_say("plumb: PLUMB_NVTX does nothing: this libplumb was built without the nvtx3 "
                  "headers");
}

void plumb_nvtx_receipt(int32_t rank, int32_t local_rank)
{
    (void)rank;
    (void)local_rank;
}

void plumb_nvtx_push(struct plumb_thread *th, uint32_t node)
{
    (void)th;
    (void)node;
}

void plumb_nvtx_pop_to(struct plumb_thread *th, uint32_t depth)
{
    (void)th;
    (void)depth;
}

uint64_t plumb_nvtx_start(uint32_t node, int64_t step)
{
    (void)node;
    (void)step;
    return 0;
}

void plumb_nvtx_end(uint64_t range)
{
    (void)range;
}

void plumb_nvtx_keep(uint32_t slot, uint64_t range)
{
    (void)slot;
    (void)range;
}

uint64_t plumb_nvtx_take(uint32_t slot)
{
    (void)slot;
    return 0;
}

void plumb_nvtx_end_all(void)
{
}

void plumb_nvtx_forked(void)
{
}

#endif
