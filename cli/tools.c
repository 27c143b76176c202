/* tools.c: what users of general profilers look for, by capability: `plumb help coming-from perf`.
 * docs/coming-from.md shows what it prints, and a test compares. */
#include <string.h>
#include <strings.h>

#include "help.h"

struct capability {
    const char *there, *here; /* "": plumb has nothing for it */
};

enum { MOST = 12 };

static const struct tool {
    const char *names; /* separated by '|'; the first is the heading */
    const char *summary;
    struct capability capabilities[MOST];
} tools[] = {
    {"perf|linux perf|perf record|perf stat",
     "samples whole programs; plumb times the nodes that you mark",
     {{"perf record CMD; perf report", "plumb record -- CMD; plumb report (of marked nodes)"},
      {"call graph (-g), flame graph", "plumb report tree; plumb report --format svg -o flame.svg"},
      {"perf stat -r 10", "plumb_measure(); or ten runs, and plumb compare"},
      {"perf diff", "plumb compare A B (tested, with an exit status)"},
      {"perf trace, perf sched",
       "PLUMB_TRACE=1 for the timeline of nodes; PLUMB_COLLECT=sched for their switches"},
      {"perf annotate, hardware counters, functions without marks", ""}}},
    {"nsys|nsight systems|nsight|nvtx",
     "timeline of CPU and GPU; plumb has the host side, and devices by plug-in",
     {{"nsys profile CMD", "PLUMB_TRACE=1 plumb record -- CMD"},
      {"NVTX ranges (nvtxRangePush)",
       "PLUMB_SPAN(\"x\"); with PLUMB_NVTX=1 spans are NVTX ranges too (docs/regions.md)"},
      {"nsys stats --report nvtx_sum", "plumb report; plumb report trace"},
      {"nsys-ui timeline", "plumb export, then ui.perfetto.dev"},
      {"--capture-range, cudaProfilerApi", "PLUMB_TRACE_STEPS, PLUMB_REGION(), PLUMB_KEEP_IF"},
      {"CUDA kernels, memory copies, GPU metrics",
       "a collector that reports them (docs/collectors.md); none for CUDA is built in"}}},
    {"tracy|tracy profiler",
     "live timeline over the network; plumb writes files, and statistics without a viewer",
     {{"ZoneScoped, ZoneScopedN(\"x\")", "PLUMB_SPAN(\"x\");"},
      {"FrameMark", "for (PLUMB_STEPS(i, n)); the rate is in plumb report"},
      {"TracyPlot", "plumb_counter_add(), plumb_gauge_set()"},
      {"TracyAlloc, TracyFree", "plumb_mem_alloc(), plumb_mem_free(); plumb record --malloc"},
      {"statistics window", "plumb report"},
      {"compare traces", "plumb compare A B"},
      {"the viewer", "plumb export, then ui.perfetto.dev"},
      {"live view, call stack sampling, lock contention",
       "plumb report of a run that still records; nothing for stacks and locks"}}},
    {"torch.profiler|pytorch profiler|kineto|torch profiler",
     "operators of PyTorch; plumb reads its traces, and compares outputs of modules",
     {{"with profile() as p: ...; p.export_chrome_trace()",
       "keep it: plumb report trace.json; the views slowest NODE, gaps, steps"},
      {"p.key_averages().table()", "plumb report trace.json"},
      {"record_function(\"x\")", "PLUMB_SPAN(\"x\"); in an extension module"},
      {"schedule(wait, warmup, active)", "PLUMB_TRACE_STEPS=10-12, PLUMB_SKIP_FIRST=3"},
      {"profile_memory=True", "plumb_mem_alloc() in the allocator; plumb report memory"},
      {"tensorboard, HTA", "plumb export (named as Kineto names its files)"},
      {"(no counterpart)", "plumb_torch_activations.attach(model); plumb diverge GOOD BAD"}}},
    {"caliper|cali|mpi-caliquery|hatchet",
     "annotated regions of HPC codes; plumb's nodes are its regions",
     {{"CALI_MARK_BEGIN(\"x\"), CALI_CXX_MARK_FUNCTION", "PLUMB_SPAN(\"x\"); plumb::span"},
      {"CALI_CONFIG=runtime-report", "PLUMB=1; the end block, and plumb report tree"},
      {"CALI_CONFIG=event-trace", "PLUMB_TRACE=1"},
      {"cali-query -t -q \"SELECT ...\"",
       "plumb report --format csv|json, --node REGEX, --phase NAME"},
      {"loop.start_iteration", "for (PLUMB_STEPS(i, n))"},
      {"hatchet, thicket", "plumb compare A B; plumb report --format json"},
      {"aggregation over MPI ranks", "a run directory for each rank; they are not merged yet"}}},
};
enum { TOOLS = sizeof tools / sizeof *tools };

static bool is_called(const struct tool *tool, const char *name)
{
    for (const char *word = tool->names; word;) {
        size_t n = strcspn(word, "|");
        if (strlen(name) == n && strncasecmp(word, name, n) == 0)
            return true;
        word = word[n] ? word + n + 1 : NULL;
    }
    return false;
}

static void show(const struct tool *tool, FILE *out)
{
    fprintf(out, "%.*s: %s\n", (int)strcspn(tool->names, "|"), tool->names, tool->summary);
    for (const struct capability *c = tool->capabilities; c < tool->capabilities + MOST && c->there;
         c++)
        fprintf(out, "  %s\n    %s\n", c->there, c->here[0] ? c->here : "nothing in plumb");
}

bool plumb_cli_show_tool(const char *name, FILE *out)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (is_called(&tools[i], name)) {
            show(&tools[i], out);
            return true;
        }
    return false;
}
