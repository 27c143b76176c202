/* speedscope.c: a profile of kind "evented" for each track with spans, in speedscope's format
 * (https://www.speedscope.app/file-format-schema.json): frames are names, events open and close
 * them in the order of time, which the table's nesting gives. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "codec/digits.h"
#include "codec/json_write.h"
#include "report/export/export.h"
#include "report/export/rows.h"
#include <plumb/version.h>

enum { STACK_MAX = 4096 }; /* deeper spans are left out */

struct speedscope {
    struct plumb_export_out *x;
    const struct plumb_table *t;
    struct plumb_export_rows rows;
    struct plumb_buf buf;
    uint32_t *frame; /* of each text */
    uint64_t done, last_ns;
    bool first; /* event of its profile */
};

static void put_us(struct plumb_buf *b, uint64_t ns)
{
    unsigned char text[PLUMB_DIGITS_TOUCHES];
    plumb_buf_append(b, text, (size_t)(plumb_put_us(text, ns) - text));
}

static void put_text(struct speedscope *s, const char *text)
{
    struct plumb_json json;
    plumb_json_init(&json, &s->buf, 0);
    plumb_json_str(&json, text);
}

/* A frame for each name of a span, numbered as they come in the table of texts. */
static void put_frames(struct speedscope *s)
{
    uint32_t frames = 0;
    for (uint32_t i = 0; i < s->t->slices.count; i++)
        s->frame[s->t->slices.name[i]] = 1;
    plumb_buf_str(&s->buf, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                           "\"exporter\":\"plumb@" PLUMB_VERSION "\",\n\"activeProfileIndex\":0,\n"
                           "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < s->t->strings.count; i++) {
        const char *name = plumb_table_text(s->t, i);
        if (!s->frame[i])
            continue;
        plumb_buf_str(&s->buf, frames ? ",\n{\"name\":" : "\n{\"name\":");
        s->frame[i] = frames++;
        put_text(s, *name ? name : "(no name)");
        plumb_buf_char(&s->buf, '}');
        plumb_export_take(s->x, &s->buf);
    }
    plumb_buf_str(&s->buf, "]},\n\"profiles\":[");
}

/* Time does not go back in a profile. A span that was open at the end outlives those around it:
 * they end with it here. */
static void put_event(struct speedscope *s, char type, uint32_t slice, uint64_t ns)
{
    s->last_ns = ns > s->last_ns ? ns : s->last_ns;
    plumb_buf_printf(&s->buf,
                     "%s{\"type\":\"%c\",\"frame\":%" PRIu32 ",\"at\":", s->first ? "\n" : ",\n",
                     type, s->frame[s->t->slices.name[slice]]);
    put_us(&s->buf, s->last_ns);
    plumb_buf_char(&s->buf, '}');
    s->first = false;
    plumb_export_take(s->x, &s->buf);
}

static void put_events(struct speedscope *s, struct plumb_table_range range)
{
    uint32_t stack[STACK_MAX], depth = 0;
    s->first = true;
    s->last_ns = 0;
    for (uint32_t i = range.first; i < range.first + range.count && !s->x->failed; i++) {
        uint32_t around = s->t->slices.depth[i];
        for (; depth > around; depth--)
            put_event(s, 'C', stack[depth - 1], plumb_table_end_ns(s->t, stack[depth - 1]));
        if (around >= STACK_MAX)
            continue;
        put_event(s, 'O', i, s->t->slices.ts_ns[i]);
        stack[depth++] = i;
        plumb_export_tell(&s->x->progress, ++s->done, s->t->slices.count);
    }
    for (; depth > 0; depth--)
        put_event(s, 'C', stack[depth - 1], plumb_table_end_ns(s->t, stack[depth - 1]));
}

static void put_profile(struct speedscope *s, uint32_t track, bool first)
{
    struct plumb_buf name = {0};
    plumb_export_row_name(&name, &s->rows, track);
    plumb_buf_str(&s->buf, first ? "\n{\"type\":\"evented\",\"name\":"
                                 : ",\n{\"type\":\"evented\",\"name\":");
    put_text(s, name.data ? name.data : "");
    plumb_buf_str(&s->buf, ",\"unit\":\"microseconds\",\"startValue\":0,\"endValue\":");
    put_us(&s->buf, s->t->end_ns);
    plumb_buf_str(&s->buf, ",\"events\":[");
    put_events(s, s->t->tracks[track].slices);
    plumb_buf_str(&s->buf, "]}");
    plumb_export_take(s->x, &s->buf);
    s->buf.failed |= name.failed;
    plumb_buf_fini(&name);
}

int plumb_export_speedscope(struct plumb_export_out *out, const struct plumb_table *t,
                            const char *name, plumb_error *err)
{
    struct speedscope s = {.x = out, .t = t};
    int rc = plumb_export_rows_init(&s.rows, t, true, err);
    s.frame = calloc((size_t)t->strings.count + 1, sizeof *s.frame);
    if (rc == PLUMB_OK && !s.frame)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
    if (rc < 0)
        goto out;
    put_frames(&s);
    for (uint32_t i = 0; i < s.rows.count && !out->failed; i++)
        put_profile(&s, s.rows.tracks[i], i == 0);
    plumb_buf_str(&s.buf, "],\n\"name\":");
    put_text(&s, name);
    plumb_buf_str(&s.buf, "}\n");
    plumb_export_take(out, &s.buf);
    if (s.buf.failed)
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for an export");
out:
    plumb_buf_fini(&s.buf);
    plumb_export_rows_fini(&s.rows);
    free(s.frame);
    return rc;
}
