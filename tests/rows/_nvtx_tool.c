/* A tool that NVTX injects (NVTX_INJECTION64_PATH): writes a line for each call it gets to the file
 * that NVTX_LOG names: "<thread> push <depth before> <text> [payload]", "<thread> pop <depth
 * after>", "<thread> start <range> <text> [payload]", "<thread> end <range>". Threads are numbered
 * in the order of their first call, ranges from 1. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static int threads;
static nvtxRangeId_t ranges;
static __thread int thread, depth;

static void tell(const char *line)
{
    int fd = open(getenv("NVTX_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        abort();
    close(fd);
}

static int me(void)
{
    if (!thread)
        thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return thread;
}

static void tell_begin(const char *what, unsigned long long number, const nvtxEventAttributes_t *e)
{
    char line[512], payload[32] = "";
    if (e->payloadType == NVTX_PAYLOAD_TYPE_INT64)
        snprintf(payload, sizeof payload, " %lld", (long long)e->payload.llValue);
    snprintf(line, sizeof line, "%d %s %llu %s%s\n", me(), what, number, e->message.ascii, payload);
    tell(line);
}

static int push(const nvtxEventAttributes_t *e)
{
    tell_begin("push", (unsigned)depth, e);
    return depth++;
}

static nvtxRangeId_t start(const nvtxEventAttributes_t *e)
{
    nvtxRangeId_t range = __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED);
    tell_begin("start", range, e);
    return range;
}

static void end(nvtxRangeId_t range)
{
    char line[64];
    snprintf(line, sizeof line, "%d end %llu\n", me(), (unsigned long long)range);
    tell(line);
}

static int pop(void)
{
    char line[64];
    if (depth == 0) {
        tell("pop of nothing\n");
        return -1;
    }
    snprintf(line, sizeof line, "%d pop %d\n", me(), --depth);
    tell(line);
    return depth;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *table =
        (const NvtxExportTableCallbacks *)get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable functions;
    unsigned n;
    if (!table || !table->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &n))
        return 0;
    *functions[NVTX_CBID_CORE_RangePushEx] = (NvtxFunctionPointer)push;
    *functions[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    *functions[NVTX_CBID_CORE_RangeStartEx] = (NvtxFunctionPointer)start;
    *functions[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
    tell("ready\n");
    return 1;
}
