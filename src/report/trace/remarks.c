/* remarks.c: the lines that accompany every view of a trace. */
#include <inttypes.h>
#include <string.h>

#include "report/trace/view.h"

struct remark {
    size_t offset;
    const char *one, *many; /* the words after the number */
};

#define FAULT(member) offsetof(struct plumb_table, faults.member)

static const struct remark remarks[] = {
    {FAULT(cut_bytes),
     "byte at the end of the file is not read: its last packet or event is not whole",
     "bytes at the end of the file are not read: its last packet or event is not whole"},
    {offsetof(struct plumb_table, open), "span had not ended: it is shown as long as the trace is",
     "spans had not ended: they are shown as long as the trace is"},
    {offsetof(struct plumb_table, cut),
     "span's end was lost: it is shown up to where it was last known to run",
     "spans' ends were lost: they are shown up to where they were last known to run"},
    {offsetof(struct plumb_table, clock_jumps),
     "time the clock went back: times stand still until it has caught up",
     "times the clock went back: times stand still until it has caught up"},
    {FAULT(lone_ends), "end belongs to no begin, and is left out",
     "ends belong to no begin, and are left out"},
    {FAULT(lost_state), "event is left out: what it refers to was lost",
     "events are left out: what they refer to was lost"},
    {FAULT(unknown_clock), "event is left out: nothing relates its clock to the trace's",
     "events are left out: nothing relates their clock to the trace's"},
    {FAULT(unknown_names), "event has a name that the file does not tell",
     "events have names that the file does not tell"},
    {FAULT(damaged), "packet or event is damaged and left out",
     "packets or events are damaged and left out"},
    {FAULT(other),
     "packet or event is of a kind that plumb does not read (samples, scheduling, logs)",
     "packets or events are of kinds that plumb does not read (samples, scheduling, logs)"},
    {FAULT(moved), "span overlapped another of its thread and has a row of its own",
     "spans overlapped others of their thread and have rows of their own"},
};

uint64_t plumb_trace_dropped(const struct plumb_table *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->drop_count; i++)
        sum += t->drops[i].count;
    return sum;
}

static void put_odds(const struct plumb_table_faults *f, struct plumb_buf *out)
{
    if (f->odds == 0)
        return;
    plumb_buf_printf(out, "the file is not valid JSON: line %" PRIu64 ", column %" PRIu64 ": %s",
                     f->odd_line, f->odd_column, f->odd);
    if (f->odds > 1)
        plumb_buf_printf(out, " (and %" PRIu64 " more)", f->odds - 1);
    plumb_buf_str(out, "; it is read all the same\n");
}

/* The setting that leaves more of the trace: it depends on the bound that ended it. */
static const char *setting_for_drops(const struct plumb_table *t)
{
    const struct plumb_table_fact *end = plumb_table_fact(t, "plumb.trace_end");
    return end && end->type == PLUMB_ARG_TEXT &&
                   strstr(plumb_table_text(t, (uint32_t)end->value.u64), "PLUMB_TRACE_MAX")
               ? "the file was at its bound (raise PLUMB_TRACE_MAX)"
               : "the buffer of their thread was full (raise PLUMB_TRACE_RING)";
}

void plumb_trace_remarks_write(const struct plumb_table *t, struct plumb_buf *out)
{
    uint64_t dropped = plumb_trace_dropped(t);
    if (dropped > 0)
        plumb_buf_printf(out,
                         "%" PRIu64 " spans are not in the trace: %s; the report of the run counts "
                         "them\n",
                         dropped, setting_for_drops(t));
    else if (t->faults.losses > 0)
        plumb_buf_printf(out, "events were lost at %" PRIu64 " places, says their writer\n",
                         t->faults.losses);
    put_odds(&t->faults, out);
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        const uint64_t *count =
            (const uint64_t *)(const void *)((const char *)t + remarks[i].offset);
        if (*count > 0)
            plumb_buf_printf(out, "%" PRIu64 " %s\n", *count,
                             *count == 1 ? remarks[i].one : remarks[i].many);
    }
}
