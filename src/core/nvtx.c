/* nvtx.c: see nvtx.h. The headers carry all of NVTX in them: they open the tool's library at the
 * first call and fill a table of functions, so nothing is linked. */
#include "core/nvtx.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/runtime.h"

#if PLUMB_HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

bool plumb_nvtx_is_built(void)
{
    return true;
}

void plumb_nvtx_tell(void)
{
}

void plumb_nvtx_push(struct plumb_thread *th, uint32_t node)
{
    int saved = errno;
    nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII};
    range.message.ascii = plumb_rt.nodes[node].name;
    if (th->step >= 0) {
        range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
        range.payload.llValue = th->step;
    }
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

#else

bool plumb_nvtx_is_built(void)
{
    return false;
}

void plumb_nvtx_tell(void)
{
    if (plumb_rt.settings.nvtx)
        plumb_say("plumb: PLUMB_NVTX does nothing: this libplumb was built without the nvtx3 "
                  "headers");
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

#endif
