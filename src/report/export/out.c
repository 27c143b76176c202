/* out.c: see out.h. */
#include "report/export/out.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int plumb_export_open(struct plumb_export_out *x, bool gzip,
                      int (*write)(void *arg, const void *bytes, size_t n), void *arg,
                      plumb_error *err)
{
    memset(x, 0, sizeof *x);
    x->write = write;
    x->arg = arg;
    if (gzip) {
        x->gz = malloc(sizeof *x->gz);
        x->packed = (struct plumb_out){malloc(PLUMB_GZ_OUT), PLUMB_GZ_OUT, 0};
        if (x->gz) {
            plumb_gz_open(x->gz);
            x->room = &x->gz->in;
        }
    } else {
        x->plain = (struct plumb_out){malloc(PLUMB_GZ_TEXT), PLUMB_GZ_TEXT, 0};
        x->room = &x->plain;
    }
    if (gzip ? x->gz && x->packed.base : x->plain.base != NULL)
        return PLUMB_OK;
    plumb_export_close(x);
    return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for the buffers of an export");
}

static void hand_on(struct plumb_export_out *x, struct plumb_out *from)
{
    if (!x->failed && from->used > 0 && x->write(x->arg, from->base, from->used) < 0)
        x->failed = true;
    x->bytes += x->failed ? 0 : from->used;
    from->used = 0;
}

void plumb_export_flush(struct plumb_export_out *x)
{
    if (!x->gz) {
        hand_on(x, &x->plain);
        return;
    }
    plumb_gz_flush(x->gz, &x->packed);
    hand_on(x, &x->packed);
}

void plumb_export_put(struct plumb_export_out *x, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    while (n > 0) {
        struct plumb_out *room = x->room;
        size_t part = room->size - room->used;
        if (part == 0) {
            plumb_export_flush(x);
            continue;
        }
        part = part < n ? part : n;
        memcpy(room->base + room->used, p, part);
        room->used += part;
        p += part;
        n -= part;
    }
}

void plumb_export_text(struct plumb_export_out *x, const char *text)
{
    plumb_export_put(x, text, strlen(text));
}

void plumb_export_take(struct plumb_export_out *x, struct plumb_buf *b)
{
    if (b->len > 0)
        plumb_export_put(x, b->data, b->len);
    b->len = 0;
}

bool plumb_export_finish(struct plumb_export_out *x)
{
    if (x->gz) {
        plumb_gz_close(x->gz, &x->packed);
        hand_on(x, &x->packed);
    } else {
        hand_on(x, &x->plain);
    }
    return !x->failed;
}

void plumb_export_close(struct plumb_export_out *x)
{
    free(x->gz);
    free(x->packed.base);
    free(x->plain.base);
    x->gz = NULL;
    x->packed.base = x->plain.base = NULL;
}
