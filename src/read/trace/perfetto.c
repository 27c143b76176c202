/* perfetto.c: a trace file as a row of packets, some of which may be packed into one.
 *
 * The file is read, not mapped: if another process truncates a mapped file, the reader is killed.
 */
#include "read/trace/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/varint.h"
#include "read/file/unpack.h"
#include "read/trace/perfetto_parts.h"

enum { CHUNK = 1 << 20 };
/* The longest packet. A longer length means that the file is not a trace. */
#define PACKET_MAX ((uint64_t)512 << 20)
#define PACKET_KEY (PF_TRACE_PACKET << 3 | PLUMB_PB_BYTES)

bool plumb_perfetto_looks(const unsigned char *bytes, size_t size)
{
    const unsigned char *p = bytes + 1, *end = bytes + size;
    uint64_t n, key;
    if (size < 2 || bytes[0] != PACKET_KEY || !plumb_wire_varint(&p, end, &n) || n > PACKET_MAX)
        return false;
    if (n == 0 || p == end)
        return true;
    return plumb_wire_varint(&p, end, &key) && key >> 3 != 0 && (key & 7) <= 5 && (key & 7) != 3 &&
           (key & 7) != 4;
}

/* ---- Packets -------------------------------------------------------------------------------- */

struct source {
    const char *name;
    const char *within; /* what its bytes are counted in */
    uint64_t offset;    /* of the bytes that are looked at */
    struct plumb_unpack_sum *sum;
    bool inner; /* packets that are packed into one */
};

static bool is_blank(const unsigned char *p, const unsigned char *end)
{
    while (p < end && *p == 0)
        p++;
    return p == end;
}

/* Other messages may begin as a trace does: those of XSpace, for one. */
static int not_a_trace(const struct plumb_pfr *r, const struct source *from, plumb_error *err)
{
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is not a trace: none of its %" PRIu64
                      " messages is a packet of Perfetto's format",
                      from->name, r->packets);
}

static int not_a_packet(const struct plumb_pfr *r, const struct source *from, uint64_t at,
                        plumb_error *err)
{
    if (at == 0 && !from->inner)
        return plumb_fail(
            err, PLUMB_ERR_FORMAT,
            "'%s' is not a trace: it does not begin with a packet of Perfetto's format",
            from->name);
    if (!r->known && r->packets > 0)
        return not_a_trace(r, from, err);
    return plumb_fail(err, PLUMB_ERR_FORMAT,
                      "'%s' is damaged at byte %" PRIu64 "%s: no packet begins there", from->name,
                      at, from->within);
}

static int read_inner(struct plumb_pfr *r, const struct source *outer, plumb_error *err);

/* Reads the whole packets of `bytes`; *used is where the first one begins that is not whole. */
static int read_packets(struct plumb_pfr *r, const struct source *from, const unsigned char *bytes,
                        size_t size, size_t *used, plumb_error *err)
{
    const unsigned char *p = bytes, *end = bytes + size;
    while (p < end && !r->failed) {
        const unsigned char *at = p + 1;
        uint64_t n;
        if (*p != PACKET_KEY) {
            if (*p == 0 && p > bytes + (from->offset == 0) && is_blank(p, end)) {
                /* Room that the writer had not filled yet, as far as is known here. */
                *used = (size_t)(p - bytes);
                return PLUMB_OK;
            }
            return not_a_packet(r, from, from->offset + (uint64_t)(p - bytes), err);
        }
        bool whole = plumb_wire_varint(&at, end, &n);
        if ((!whole && end - p > PLUMB_VARINT_MAX) || (whole && n > PACKET_MAX))
            return not_a_packet(r, from, from->offset + (uint64_t)(p - bytes), err);
        if (!whole || n > (uint64_t)(end - at))
            break;
        plumb_pfr_packet(r, at, (size_t)n);
        int rc = PLUMB_UNLIKELY(r->packed_bytes > 0) ? read_inner(r, from, err) : PLUMB_OK;
        if (rc < 0)
            return rc;
        p = at + n;
    }
    *used = (size_t)(p - bytes);
    return PLUMB_OK;
}

/* ---- Streams of packets --------------------------------------------------------------------- */

/* Appends more bytes to the window; *ended when the stream has ended. */
static int fill(struct plumb_pfr_window *w, struct plumb_unpack *from, const char *name,
                bool *ended, plumb_error *err)
{
    size_t got = 0;
    if (w->cap - w->size < CHUNK / 2) {
        size_t cap = w->cap ? 2 * w->cap : 2 * (size_t)CHUNK;
        unsigned char *bytes = realloc(w->bytes, cap);
        if (!bytes)
            return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", name);
        w->bytes = bytes;
        w->cap = cap;
    }
    int rc = plumb_unpack_read(from, w->bytes + w->size, w->cap - w->size, &got, err);
    w->size += got;
    *ended = got == 0;
    return rc;
}

/* Bytes left in the window at the end belong to a packet that is cut off. */
static int read_stream(struct plumb_pfr *r, struct source *from, struct plumb_unpack *u,
                       struct plumb_pfr_window *w, plumb_error *err)
{
    bool ended = false;
    int rc = PLUMB_OK;
    w->size = 0;
    while (rc == PLUMB_OK && !ended) {
        size_t used = 0;
        if ((rc = fill(w, u, from->name, &ended, err)) < 0)
            break;
        rc = read_packets(r, from, w->bytes, w->size, &used, err);
        memmove(w->bytes, w->bytes + used, w->size - used);
        w->size -= used;
        from->offset += used;
    }
    return rc;
}

/* The packets that the last one has packed; those have none packed in turn. */
static int read_inner(struct plumb_pfr *r, const struct source *outer, plumb_error *err)
{
    struct source from = {outer->name, " of packets that are packed in it", 0, outer->sum, true};
    size_t n = r->packed_bytes;
    r->packed_bytes = 0;
    r->known = true;
    if (outer->inner) {
        r->t->faults.damaged++;
        return PLUMB_OK;
    }
    int rc = plumb_unpack_open_bytes(&r->inner, r->packed, n, from.name, from.sum, err);
    if (rc == PLUMB_OK)
        rc = read_stream(r, &from, r->inner, &r->inner_window, err);
    if (rc == PLUMB_OK && r->inner_window.size > 0)
        rc = not_a_packet(r, &from, from.offset, err);
    return rc;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static int begin(struct plumb_pfr *r, struct plumb_table *t, plumb_error *err)
{
    memset(r, 0, sizeof *r);
    r->t = t;
    plumb_buf_str(&r->text, "");
    int rc = plumb_table_init(t, err);
    if (rc == PLUMB_OK && !(r->seen = calloc((size_t)1 << PLUMB_PFR_SEEN_BITS, sizeof *r->seen)))
        rc = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory for reading a trace");
    return rc;
}

static void end(struct plumb_pfr *r)
{
    for (size_t i = 0; i < r->sequence_count; i++)
        for (int index = 0; index < PLUMB_PFR_INDEXES; index++)
            plumb_ids_fini(&r->sequences[i]->told[index]);
    plumb_unpack_close(r->inner);
    free(r->inner_window.bytes);
    free(r->seen);
    plumb_ids_fini(&r->sequence_of);
    plumb_ids_fini(&r->counter_of);
    plumb_buf_fini(&r->text);
    plumb_arena_fini(&r->arena);
}

/* `left`: bytes after the last whole packet. */
static int finish(struct plumb_pfr *r, const struct source *from, uint64_t left, plumb_error *err)
{
    struct plumb_table *t = r->t;
    t->faults.cut_bytes = left;
    t->packet_bytes = from->offset;
    if (r->failed || r->text.failed)
        return plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory while reading '%s'", from->name);
    if (r->packets == 0 && t->faults.damaged > 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' is not a trace, or damaged: not one of its %" PRIu64
                          " packets can be read",
                          from->name, t->faults.damaged);
    if (r->packets == 0 && left == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT, "'%s' is not a trace: it is empty", from->name);
    if (r->packets == 0)
        return plumb_fail(err, PLUMB_ERR_FORMAT,
                          "'%s' has no whole packet: it was cut off, or is not a trace",
                          from->name);
    if (!r->known)
        return not_a_trace(r, from, err);
    if (r->has_snapshot)
        plumb_table_set_zero(t, r->first_ns, 0);
    return plumb_table_finish(t, err);
}

int plumb_perfetto_parse(struct plumb_table *out, const void *bytes, size_t size, const char *name,
                         plumb_error *err)
{
    struct plumb_table t;
    struct plumb_pfr r;
    struct plumb_unpack_sum sum = {size, 0};
    struct source from = {name, "", 0, &sum, false};
    size_t used = 0;
    int rc = begin(&r, &t, err);
    if (rc == PLUMB_OK)
        rc = read_packets(&r, &from, bytes, size, &used, err);
    from.offset = used;
    if (rc == PLUMB_OK)
        rc = finish(&r, &from, size - used, err);
    end(&r);
    if (rc == PLUMB_OK)
        *out = t;
    else
        plumb_table_fini(&t);
    return rc;
}

int plumb_perfetto_read(struct plumb_table *out, const char *path, plumb_error *err)
{
    struct plumb_table t;
    struct plumb_pfr r;
    struct plumb_pfr_window w = {.cap = 0};
    struct plumb_unpack_sum sum = {0, 0};
    struct source from = {path, "", 0, &sum, false};
    struct plumb_unpack *u;
    int rc = plumb_unpack_open(&u, path, &sum, err);
    if (rc < 0)
        return rc;
    if (plumb_unpack_is_packed(u))
        from.within = " of what is packed in it";
    rc = begin(&r, &t, err);
    if (rc == PLUMB_OK)
        rc = read_stream(&r, &from, u, &w, err);
    if (rc == PLUMB_OK)
        rc = finish(&r, &from, w.size, err);
    plumb_unpack_close(u);
    free(w.bytes);
    end(&r);
    if (rc == PLUMB_OK)
        *out = t;
    else
        plumb_table_fini(&t);
    return rc;
}
