/* span.c: the span path: the code between the user's code and the clock, twice a span.
 *
 * The short path does at begin: a check of `busy` (a signal handler that interrupted plumb must not
 * touch the ring), a check of `gate` (anything but "open and plain" takes the long path), the
 * clock, one 8-byte record, one entry on the stack of open spans. At end: the same checks, a
 * comparison of the handle with the stack, the clock, one record. No locked instruction, no branch
 * on data, no call. All other work (statistics, self time, call tree) is left to the fold, of
 * several blocks of 63 spans at once.
 *
 * Each entry exists once per clock source, chosen when the library is loaded: otherwise every span
 * would pay for a test of the source at each clock read.
 *
 * `busy` is stored before `gate` is read, and plumb_stop() closes the gate, passes a barrier on all
 * threads, and waits for `busy`: after that no thread is in a mapping that is about to go away. */
#include "record/runtime/async.h"
#include "record/runtime/caller.h"
#include "record/runtime/carve.h"
#include "record/runtime/control_wanted.h"
#include "record/runtime/enter.h"
#include "record/runtime/lock.h"
#include "record/runtime/mapping.h"
#include "record/runtime/node.h"
#include "record/runtime/open_spans.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread.h"
#include "record/span/pipeline.h"
#include "record/span/region.h"
#include "record/span/ring.h"
#include "record/span/span_records.h"
#include "record/stage/check.h"
#include "record/stage/stage.h"
#include "record/trace/nvtx.h"
#include "record/trace/trace.h"

static const plumb_span no_span = {0};

/* ---- The short way --------------------------------------------------------------------------- */

static PLUMB_ALWAYS_INLINE bool too_far(uint64_t placed)
{
    return PLUMB_UNLIKELY(placed & ((UINT64_C(1) << (64 - PLUMB_TICK_BITS)) - 1));
}

/* Inside busy, with the gate checked and space in the block. */
static PLUMB_ALWAYS_INLINE plumb_span push(struct plumb_thread *th, uint32_t node, uint64_t placed)
{
    uint64_t *at = th->head, *top = th->top + 1;
    plumb_span span = {(uint64_t)(uintptr_t)at};
    PLUMB_STORE(*at, placed + 4 * (uint64_t)node + PLUMB_REC_BEGIN);
    th->head = at + 1;
    *top = span.id;
    th->top = top;
    return span;
}

/* Returns the place of the next record. */
static PLUMB_ALWAYS_INLINE uint64_t *pop(struct plumb_thread *th, uint64_t placed)
{
    uint64_t *at = th->head;
    PLUMB_STORE(*at, placed + PLUMB_REC_END);
    th->head = at + 1;
    th->top--;
    return at + 1;
}

static PLUMB_ALWAYS_INLINE bool enter(struct plumb_thread *th)
{
    if (PLUMB_UNLIKELY(!th || PLUMB_LOAD(th->busy)))
        return false;
    PLUMB_STORE(th->busy, 1);
    plumb_order();
    if (PLUMB_LIKELY(PLUMB_LOAD(th->gate) == PLUMB_GATE_OPEN))
        return true;
    plumb_order();
    PLUMB_STORE(th->busy, 0);
    return false;
}

static PLUMB_ALWAYS_INLINE void leave(struct plumb_thread *th)
{
    plumb_order();
    PLUMB_RELEASE(th->busy, 0);
}

/* ---- The long way ---------------------------------------------------------------------------- */

/* Enters with any gate of a thread that is attached to the open run. */
static bool enter_any(struct plumb_thread *th, struct plumb_in *in)
{
    PLUMB_STORE(th->busy, 1);
    plumb_order();
    in->th = th;
    in->run = plumb_is_attached(th) ? plumb_run_inside(th) : NULL;
    if (in->run)
        return true;
    leave(th);
    return false;
}

/* Counts a dropped record of a handler that interrupted the runtime on this thread. A thread that
 * only holds the lock, or is about to be attached, does not keep a run open. */
static void turn_away(const struct plumb_thread *th)
{
    bool inside = PLUMB_LOAD(th->busy) == PLUMB_BUSY_RECORDING && plumb_is_attached(th);
    struct plumb_run *run = inside ? plumb_run_inside(th) : NULL;
    if (run)
        plumb_drop(run, PLUMB_DROP_REENTRANT);
    else
        plumb_turn_handler_away();
}

struct plumb_thread *plumb_attached(void)
{
    struct plumb_thread *th = plumb_tls;
    if (th && PLUMB_LOAD(th->busy)) {
        turn_away(th);
        return NULL;
    }
    if (!th && plumb_locked)
        plumb_turn_handler_away();
    if (!th)
        th = plumb_thread_self();
    if (!th)
        return NULL;
    if ((PLUMB_LOAD(th->gate) & (PLUMB_GATE_OPEN | PLUMB_GATE_ENDED)) != PLUMB_GATE_OPEN &&
        plumb_thread_attach(th) < 0)
        return NULL;
    return th;
}

void plumb_synchronise(struct plumb_thread *th, uint32_t node)
{
    plumb_device *d = PLUMB_ACQUIRE(plumb_node_at(node)->device);
    if (!d)
        d = PLUMB_ACQUIRE(plumb_rt.pipelines[th->group >> 8].device);
    if (d)
        plumb_device_sync(d);
}

/* Returns the node of the innermost span, from the frames of a fold made for that. Inside enter. */
static plumb_node innermost_node(struct plumb_in in)
{
    struct plumb_thread *th = in.th;
    plumb_block_settle(in, plumb_ticks_from(th->clock));
    return plumb_key_node(th->live->frames[th->live->context.depth].key);
}

void plumb_begin_wait(struct plumb_thread *th, uint32_t node)
{
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_SYNC)
        plumb_synchronise(th, node);
}

plumb_span plumb_begin_inside(struct plumb_in in, uint32_t node, uint64_t *ticks)
{
    struct plumb_thread *th = in.th;
    uint64_t t;
    if (plumb_depth(th) >= PLUMB_DEPTH_MAX) {
        plumb_drop(in.run, PLUMB_DROP_DEPTH);
        return no_span;
    }
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_STACK)
        plumb_trace_stack(in, &th->caller);
    t = plumb_ticks_from(th->clock);
    if (th->head >= th->limit || too_far(plumb_placed(th, t))) {
        plumb_block_next(in, t);
        t = plumb_ticks_from(th->clock);
    }
    if (ticks)
        *ticks = t;
    return push(th, node, plumb_placed(th, t));
}

void plumb_begin_report(struct plumb_thread *th, uint32_t node)
{
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_NVTX)
        plumb_nvtx_push(th, node);
}

PLUMB_COLD plumb_span plumb_begin_plain(struct plumb_thread *th, uint32_t node)
{
    struct plumb_in in;
    plumb_span span;
    plumb_begin_wait(th, node);
    if (!enter_any(th, &in))
        return no_span;
    span = plumb_begin_inside(in, node, NULL);
    leave(th);
    if (span.id)
        plumb_begin_report(th, node);
    return span;
}

static PLUMB_COLD plumb_span begin_long(uint32_t node, uint32_t flags, struct plumb_caller caller)
{
    struct plumb_thread *th = plumb_attached();
    if (!th || PLUMB_LOAD(th->gate) & PLUMB_GATE_OFF)
        return no_span;
    th->caller = caller;
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_MEMORY)
        flags |= PLUMB_POINT_MEMORY;
    /* The calibration of a run that opens with a request comes before any node. */
    if (flags & (PLUMB_POINT_STAGE | PLUMB_POINT_MEMORY) ||
        (PLUMB_LOAD(plumb_rt.hooked) && PLUMB_ACQUIRE(plumb_node_at(node)->hooks)))
        return plumb_stage_begin(th, node, flags);
    return plumb_begin_plain(th, node);
}

/* Returns whether `span` is open on this thread, and closes the spans inside it. Inside enter. */
static bool settle(struct plumb_in in, plumb_span span)
{
    struct plumb_thread *th = in.th;
    uint64_t depth = plumb_span_depth(th, span);
    if (!depth) {
        plumb_drop(in.run, PLUMB_DROP_STALE);
        return false;
    }
    if (depth < plumb_depth(th)) {
        plumb_regions_closing(in, (uint32_t)depth);
        plumb_close_to(in, (uint32_t)depth, PLUMB_CLOSE_OUTER);
        plumb_stages_closed(in, (uint32_t)depth);
    }
    return true;
}

/* A pop that may need a new block before or after it. */
static void pop_far(struct plumb_in in, uint64_t t)
{
    struct plumb_thread *th = in.th;
    if (too_far(plumb_placed(th, t)))
        plumb_block_next(in, t);
    if (pop(th, plumb_placed(th, t)) == th->end)
        plumb_block_next(in, t);
}

/* Ends a span whose run is over: calls its hooks, and ends its range in the tool. */
static void end_late(struct plumb_thread *th, plumb_span span)
{
    uint32_t depth = th->nvtx_depth || th->stages || th->unhooked ? plumb_span_depth(th, span) : 0;
    if (!depth)
        return;
    plumb_stages_late(th, depth - 1);
    plumb_nvtx_pop_to(th, depth - 1);
}

/* On a thread that has recorded nothing yet: the span is another thread's. */
static void end_elsewhere(void)
{
    struct plumb_in in;
    if (!plumb_enter(&in, true))
        return;
    plumb_drop(in.run, PLUMB_DROP_STALE);
    plumb_leave(in);
}

/* Waits for the device of the innermost span, outside enter. Returns false if the run or the span
 * has ended since. */
static bool end_waits(struct plumb_in *in, plumb_span span)
{
    struct plumb_thread *th = in->th;
    plumb_node node = innermost_node(*in);
    leave(th);
    plumb_synchronise(th, node);
    if (!enter_any(th, in)) {
        end_late(th, span);
        return false;
    }
    if (settle(*in, span))
        return true;
    leave(th);
    return false;
}

/* Does the work after the end of a span, outside enter. `ended`: NULL if it was not a stage. */
static void end_reports(struct plumb_thread *th, const struct plumb_stage_ended *ended)
{
    if (th->unhooked)
        plumb_stages_unhook(th);
    if (ended)
        plumb_stage_end_report(ended);
    if (th->regions.closing)
        plumb_regions_closed(th);
    if (th->nvtx_depth)
        plumb_nvtx_pop_to(th, plumb_depth(th));
}

/* Inside enter, which it leaves. */
static __attribute__((noinline)) void end_stage(struct plumb_in in, uint64_t ticks)
{
    struct plumb_stage_ended ended;
    plumb_stage_end_inside(in, ticks, &ended);
    leave(in.th);
    end_reports(in.th, &ended);
}

static PLUMB_COLD void end_long(plumb_span span)
{
    struct plumb_thread *th = plumb_tls;
    struct plumb_in in;
    uint64_t t;
    bool stage;
    if (!th) {
        end_elsewhere();
        return;
    }
    if (PLUMB_LOAD(th->busy)) {
        turn_away(th);
        return;
    }
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.settings.verify) != PLUMB_VERIFY_OFF))
        plumb_verify_ending(th, span);
    if (!enter_any(th, &in)) {
        end_late(th, span);
        return;
    }
    if (!settle(in, span)) {
        leave(th);
        return;
    }
    if (PLUMB_LOAD(th->gate) & PLUMB_GATE_SYNC && !end_waits(&in, span))
        return;
    if (th->regions.count)
        plumb_regions_closing(in, plumb_depth(th) - 1);
    t = plumb_ticks_from(th->clock);
    stage = plumb_stage_of(th, span) != NULL;
    pop_far(in, t);
    if (stage) {
        end_stage(in, t);
        return;
    }
    leave(th);
    end_reports(th, NULL);
}

/* ---- The table's entries --------------------------------------------------------------------- */

/* The exits of the short path are tail calls, so it saves no registers. They return numbers,
 * because not every compiler treats a struct of one number like it. `address`: the return address
 * of the function of the table. That function uses no callee-saved register, so the frame pointer
 * is still the program's; or it keeps a frame, which leads to it. */
static PLUMB_COLD uint64_t begin_away(const void *address, uint32_t node)
{
    return begin_long(node, 0, PLUMB_CALLER_OF(address)).id;
}

static PLUMB_COLD uint64_t begin_again(struct plumb_thread *th, uint32_t node, const void *address)
{
    leave(th);
    return begin_long(node, 0, PLUMB_CALLER_OF(address)).id;
}

static PLUMB_COLD void end_again(struct plumb_thread *th, plumb_span span)
{
    leave(th);
    end_long(span);
}

static __attribute__((noinline)) void end_full(struct plumb_thread *th)
{
    struct plumb_in in = {th, plumb_run_inside(th)};
    if (in.run)
        plumb_block_next(in, th->base + plumb_record_ticks(th->end[-1]));
    leave(th);
}

static PLUMB_ALWAYS_INLINE uint64_t begin_on(uint32_t node, enum plumb_clock_source clock)
{
    struct plumb_thread *th = plumb_tls;
    plumb_span span;
    uint64_t t;
    if (clock != PLUMB_CLOCK_TSC)
        PLUMB_KEEP_FRAME(); /* its calls use all other registers */
    if (PLUMB_UNLIKELY(!enter(th)))
        return begin_away(__builtin_return_address(0), node);
    /* Space is made before the clock is read, so only the span around this one pays for the
     * fold. */
    if (PLUMB_UNLIKELY(th->head >= th->limit))
        return begin_again(th, node, __builtin_return_address(0));
    t = plumb_placed(th, plumb_ticks_from(clock));
    if (too_far(t))
        return begin_again(th, node, __builtin_return_address(0));
    span = push(th, node, t);
    leave(th);
    return span.id;
}

static PLUMB_ALWAYS_INLINE bool is_innermost(const struct plumb_thread *th, plumb_span span)
{
    return PLUMB_LIKELY(*th->top == span.id);
}

static PLUMB_ALWAYS_INLINE void end_on(plumb_span span, enum plumb_clock_source clock)
{
    struct plumb_thread *th = plumb_tls;
    uint64_t t;
    if (PLUMB_UNLIKELY(!enter(th))) {
        end_long(span);
        return;
    }
    if (!is_innermost(th, span)) {
        end_again(th, span);
        return;
    }
    t = plumb_placed(th, plumb_ticks_from(clock));
    if (too_far(t)) {
        end_again(th, span);
        return;
    }
    if (PLUMB_UNLIKELY(pop(th, t) == th->end)) {
        end_full(th);
        return;
    }
    leave(th);
}

static PLUMB_COLD uint64_t lap_long(plumb_span span, uint32_t node, const void *address)
{
    struct plumb_caller caller = PLUMB_CALLER_OF(address);
    if (span.id)
        end_long(span);
    return begin_long(node, 0, caller).id;
}

static PLUMB_COLD uint64_t lap_again(struct plumb_thread *th, plumb_span span, uint32_t node,
                                     const void *address)
{
    struct plumb_caller caller = PLUMB_CALLER_OF(address);
    leave(th);
    end_long(span);
    return begin_long(node, 0, caller).id;
}

static PLUMB_ALWAYS_INLINE uint64_t lap_on(plumb_span span, uint32_t node,
                                           enum plumb_clock_source clock)
{
    struct plumb_thread *th = plumb_tls;
    uint64_t t;
    if (clock != PLUMB_CLOCK_TSC)
        PLUMB_KEEP_FRAME();
    if (PLUMB_UNLIKELY(!span.id || !enter(th)))
        return lap_long(span, node, __builtin_return_address(0));
    if (PLUMB_UNLIKELY(!is_innermost(th, span) || th->head + 1 >= th->limit))
        return lap_again(th, span, node, __builtin_return_address(0));
    t = plumb_placed(th, plumb_ticks_from(clock));
    if (too_far(t))
        return lap_again(th, span, node, __builtin_return_address(0));
    pop(th, t);
    span = push(th, node, t);
    leave(th);
    return span.id;
}

static PLUMB_ALWAYS_INLINE plumb_span span_of(uint64_t id)
{
    plumb_span span = {id};
    return span;
}

static PLUMB_COLD plumb_span begin_node_long(plumb_node node, const void *address)
{
    return node && node < PLUMB_ACQUIRE(plumb_rt.node_count)
               ? begin_long(node, 0, PLUMB_CALLER_OF(address))
               : no_span;
}

/* The code of a span is on one page, each piece aligned to a pair of cache lines: a cold span waits
 * for each of these lines. */
#define ENTRY static __attribute__((section(".text.plumb_spans"), aligned(128)))

#define ENTRIES(suffix, clock)                                                                     \
    ENTRY plumb_span begin_##suffix(struct plumb_point *point)                                     \
    {                                                                                              \
        return span_of(begin_on(point->node, clock));                                              \
    }                                                                                              \
    static plumb_span begin_node_##suffix(plumb_node node)                                         \
    {                                                                                              \
        return !PLUMB_LIKELY(plumb_wanted()) ? no_span                                             \
               : PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.hooked))                                       \
                   ? begin_node_long(node, __builtin_return_address(0))                            \
                   : span_of(begin_on(node, clock));                                               \
    }                                                                                              \
    ENTRY void end_##suffix(plumb_span span)                                                       \
    {                                                                                              \
        end_on(span, clock);                                                                       \
    }                                                                                              \
    ENTRY plumb_span lap_##suffix(plumb_span span, struct plumb_point *point)                      \
    {                                                                                              \
        return span_of(lap_on(span, point->node, clock));                                          \
    }                                                                                              \
    typedef int entries_of_##suffix

ENTRIES(tsc, PLUMB_CLOCK_TSC);
ENTRIES(gettime, PLUMB_CLOCK_GETTIME);
ENTRIES(virtual, PLUMB_CLOCK_VIRTUAL);

static plumb_span begin_special(struct plumb_point *point)
{
    if (PLUMB_UNLIKELY(PLUMB_LOAD(plumb_rt.control_waits)))
        plumb_control_by_point();
    /* The mode may say no more than that the control socket waits, or waited. */
    if (!plumb_wanted() || (point->flags & PLUMB_POINT_DEBUG && !PLUMB_LOAD(plumb_rt.debug)))
        return no_span;
    if (point->flags & PLUMB_POINT_REGION)
        return plumb_region_begin_point(point, __builtin_frame_address(0), PLUMB_CALLER());
    return begin_long(point->node, point->flags, PLUMB_CALLER());
}

static plumb_span begin_with(plumb_node node, uint32_t flags)
{
    if (node == 0 || node >= PLUMB_ACQUIRE(plumb_rt.node_count) || !plumb_wanted())
        return no_span;
    if (flags & PLUMB_POINT_DEBUG && !PLUMB_LOAD(plumb_rt.debug))
        return no_span;
    plumb_node_flagged(node, flags);
    return begin_long(node, flags, PLUMB_CALLER());
}

/* ---- Records other than spans ---------------------------------------------------------------- */

bool plumb_enter(struct plumb_in *in, bool even_if_off)
{
    struct plumb_thread *th;
    if (!plumb_wanted())
        return false;
    th = plumb_attached();
    return th && (even_if_off || !(PLUMB_LOAD(th->gate) & PLUMB_GATE_OFF)) && enter_any(th, in);
}

void plumb_leave(struct plumb_in in)
{
    leave(in.th);
}

uint64_t plumb_calibrate_span(struct plumb_in in, int spans, void (*work)(void *arg), void *arg,
                              bool mark)
{
    enum { A_BLOCK = (PLUMB_BLOCK_WORDS - PLUMB_BLOCK_HEAD) / 2 - 1 };
    struct plumb_thread *th = in.th, *mine = plumb_tls;
    uint64_t begin = plumb_ticks_from(th->clock);
    /* With a clock that stands still, the cost cannot be measured. */
    if (th->clock == PLUMB_CLOCK_VIRTUAL)
        return 0;
    plumb_tls = th;
    plumb_block_next(in, begin);
    for (int i = 0; i < spans; i++) {
        bool tsc = th->clock == PLUMB_CLOCK_TSC;
        plumb_span span = {0};
        if (mark)
            span = span_of(tsc ? begin_on(PLUMB_NODE_OTHER, PLUMB_CLOCK_TSC)
                               : begin_on(PLUMB_NODE_OTHER, PLUMB_CLOCK_GETTIME));
        if (work)
            work(arg);
        if (mark && tsc)
            end_tsc(span);
        else if (mark)
            end_gettime(span);
        /* Before the block is full: the run is not the open one, into which full blocks are
         * folded. */
        if (i % A_BLOCK == A_BLOCK - 1)
            plumb_block_next(in, plumb_ticks_from(th->clock));
    }
    plumb_block_settle(in, begin); /* a part of their cost */
    plumb_tls = mine;
    return (plumb_ticks_from(th->clock) - begin) * 1000 / (uint64_t)spans;
}

void plumb_api_fill(struct plumb_api *api, enum plumb_clock_source clock)
{
    bool tsc = clock == PLUMB_CLOCK_TSC;
    api->span_begin = tsc ? begin_tsc : begin_gettime;
    api->span_end = tsc ? end_tsc : end_gettime;
    api->span_lap = tsc ? lap_tsc : lap_gettime;
    api->span_begin_node = tsc ? begin_node_tsc : begin_node_gettime;
    if (clock == PLUMB_CLOCK_VIRTUAL) {
        api->span_begin = begin_virtual;
        api->span_end = end_virtual;
        api->span_lap = lap_virtual;
        api->span_begin_node = begin_node_virtual;
    }
    api->span_begin_special = begin_special;
    api->span_begin_with = begin_with;
    api->span_mark = plumb_span_mark_impl;
    api->span_arg = plumb_span_arg_impl;
    api->record_ns = plumb_record_ns_impl;
}
