/* csv.c: a line for each span, instant and value of a counter (RFC 4180), with stable names
 * of columns. Arguments are one JSON object. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "codec/json_write.h"
#include "report/export/export.h"
#include "report/table/escape.h"

struct csv {
    struct plumb_export_out *x;
    const struct plumb_table *t;
    struct plumb_buf line, scratch;
    uint64_t done, all;
};

static void put_number(struct csv *c, bool known, int64_t value)
{
    if (known)
        plumb_buf_printf(&c->line, "%" PRId64, value);
    plumb_buf_char(&c->line, ',');
}

static void put_text(struct csv *c, const char *text)
{
    plumb_put_csv(&c->line, text);
    plumb_buf_char(&c->line, ',');
}

static void put_track(struct csv *c, const char *kind, uint32_t track)
{
    const struct plumb_table_track *l = &c->t->tracks[track];
    put_text(c, kind);
    put_number(c, l->has_pid, l->pid);
    put_number(c, l->has_tid, l->tid);
    c->scratch.len = 0;
    plumb_table_put_track(&c->scratch, c->t, track);
    put_text(c, c->scratch.data ? c->scratch.data : "");
}

/* Spelled as chrome.c spells it. */
static void put_value(struct plumb_json *json, const struct plumb_table *t,
                      enum plumb_table_type type, union plumb_table_number v)
{
    char digits[24];
    switch (type) {
    case PLUMB_ARG_I64:
        plumb_json_i64(json, v.i64);
        break;
    case PLUMB_ARG_U64:
        snprintf(digits, sizeof digits, "%" PRIu64, v.u64);
        if (v.u64 > INT64_MAX)
            plumb_json_str(json, digits);
        else
            plumb_json_u64(json, v.u64);
        break;
    case PLUMB_ARG_POINTER:
        snprintf(digits, sizeof digits, "0x%" PRIx64, v.u64);
        plumb_json_str(json, digits);
        break;
    case PLUMB_ARG_F64:
        plumb_json_real(json, v.f64);
        break;
    case PLUMB_ARG_BOOL:
        plumb_json_bool(json, v.u64 != 0);
        break;
    case PLUMB_ARG_TEXT:
    case PLUMB_ARG_JSON:
        plumb_json_str(json, plumb_table_text(t, (uint32_t)v.u64));
        break;
    }
}

static void put_args(struct csv *c, const struct plumb_table_args *args, uint32_t from, uint32_t to)
{
    struct plumb_json json;
    if (from == to)
        return;
    c->scratch.len = 0;
    plumb_json_init(&json, &c->scratch, 0);
    plumb_json_object(&json);
    for (uint32_t i = from; i < to; i++) {
        plumb_json_key(&json, plumb_table_text(c->t, args->key[i]));
        put_value(&json, c->t, args->type[i], args->value[i]);
    }
    plumb_json_object_end(&json);
    plumb_put_clean_csv(&c->line, c->scratch.data ? c->scratch.data : "");
}

static void end_line(struct csv *c)
{
    plumb_buf_char(&c->line, '\n');
    plumb_export_take(c->x, &c->line);
    plumb_export_tell(&c->x->progress, ++c->done, c->all);
}

static void put_slice(struct csv *c, uint32_t i)
{
    const struct plumb_table_slices *s = &c->t->slices;
    uint8_t flags = s->flags[i];
    put_track(c, "span", s->track[i]);
    plumb_buf_printf(&c->line, "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",", s->ts_ns[i], s->dur_ns[i],
                     s->depth[i]);
    put_text(c, plumb_table_text(c->t, s->name[i]));
    put_text(c, plumb_table_text(c->t, s->category[i]));
    plumb_buf_char(&c->line, ','); /* value */
    plumb_buf_str(&c->line, flags & PLUMB_SLICE_OPEN     ? "open,"
                            : flags & PLUMB_SLICE_CUT    ? "cut,"
                            : flags & PLUMB_SLICE_FAILED ? "failed,"
                                                         : ",");
    put_args(c, &c->t->slice_args, s->args[i], s->args[i + 1]);
    end_line(c);
}

static void put_instant(struct csv *c, uint32_t i)
{
    const struct plumb_table_instants *in = &c->t->instants;
    put_track(c, "instant", in->track[i]);
    plumb_buf_printf(&c->line, "%" PRIu64 ",,,", in->ts_ns[i]);
    put_text(c, plumb_table_text(c->t, in->name[i]));
    put_text(c, plumb_table_text(c->t, in->category[i]));
    plumb_buf_str(&c->line, ",,");
    put_args(c, &c->t->instant_args, in->args[i], in->args[i + 1]);
    end_line(c);
}

static void put_counter(struct csv *c, uint32_t i)
{
    const struct plumb_table_counters *values = &c->t->counters;
    const struct plumb_table_track *l = &c->t->tracks[values->track[i]];
    struct plumb_json json;
    const char *word = l->whole ? NULL : plumb_json_special(values->value[i].f64);
    put_track(c, "counter", values->track[i]);
    plumb_buf_printf(&c->line, "%" PRIu64 ",,,", values->ts_ns[i]);
    put_text(c, plumb_table_text(c->t, l->name));
    plumb_buf_char(&c->line, ','); /* category */
    plumb_json_init(&json, &c->line, 0);
    if (word)
        plumb_buf_str(&c->line, word);
    else if (l->whole)
        plumb_json_i64(&json, values->value[i].i64);
    else
        plumb_json_f64(&json, values->value[i].f64);
    plumb_buf_str(&c->line, ",,");
    end_line(c);
}

int plumb_export_csv(struct plumb_export_out *out, const struct plumb_table *t, const char *name,
                     plumb_error *err)
{
    struct csv c = {.x = out, .t = t};
    (void)name;
    c.all = (uint64_t)t->slices.count + t->instants.count + t->counters.count;
    plumb_export_text(out, "kind,pid,tid,lane,start_ns,duration_ns,depth,name,category,value,"
                           "state,args\n");
    for (uint32_t i = 0; i < t->slices.count && !out->failed; i++)
        put_slice(&c, i);
    for (uint32_t i = 0; i < t->instants.count && !out->failed; i++)
        put_instant(&c, i);
    for (uint32_t i = 0; i < t->counters.count && !out->failed; i++)
        put_counter(&c, i);
    bool failed = c.line.failed || c.scratch.failed;
    plumb_buf_fini(&c.line);
    plumb_buf_fini(&c.scratch);
    return failed ? plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export") : PLUMB_OK;
}
