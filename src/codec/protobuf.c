/* protobuf.c: the writer of protobuf.h: fields of messages, one function a kind. */
#include "codec/protobuf.h"

#include <string.h>

#include "base/text/utf8.h"
#include "codec/varint.h"

static bool has_room(struct plumb_pb *w, size_t n)
{
    if ((size_t)(w->end - w->p) < n)
        w->full = true;
    return !w->full;
}

static void put_bytes(struct plumb_pb *w, const void *bytes, size_t n)
{
    if (!has_room(w, n))
        return;
    memcpy(w->p, bytes, n);
    w->p += n;
}

static void put_varint(struct plumb_pb *w, uint64_t v)
{
    if (has_room(w, plumb_varint_size(v)))
        w->p = plumb_varint_put(w->p, v);
}

static void put_key(struct plumb_pb *w, uint32_t field, enum plumb_pb_wire wire)
{
    put_varint(w, (uint64_t)field << 3 | wire);
}

void plumb_pb_u64(struct plumb_pb *w, uint32_t field, uint64_t v)
{
    put_key(w, field, PLUMB_PB_VARINT);
    put_varint(w, v);
}

void plumb_pb_i64(struct plumb_pb *w, uint32_t field, int64_t v)
{
    plumb_pb_u64(w, field, (uint64_t)v);
}

void plumb_pb_fixed64(struct plumb_pb *w, uint32_t field, uint64_t v)
{
    unsigned char bytes[8];
    plumb_store_le64(bytes, v);
    put_key(w, field, PLUMB_PB_FIXED64);
    put_bytes(w, bytes, sizeof bytes);
}

void plumb_pb_f64(struct plumb_pb *w, uint32_t field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    plumb_pb_fixed64(w, field, bits);
}

void plumb_pb_bytes(struct plumb_pb *w, uint32_t field, const void *bytes, size_t n)
{
    put_key(w, field, PLUMB_PB_BYTES);
    put_varint(w, n);
    put_bytes(w, bytes, n);
}

unsigned char *plumb_pb_open(struct plumb_pb *w, uint32_t field)
{
    put_key(w, field, PLUMB_PB_BYTES);
    put_varint(w, 0);
    return w->p;
}

void plumb_pb_close(struct plumb_pb *w, unsigned char *start)
{
    if (w->full)
        return;
    size_t n = (size_t)(w->p - start);
    size_t more = plumb_varint_size(n) - 1;
    if (more > 0) {
        if (!has_room(w, more))
            return;
        memmove(start + more, start, n);
        w->p += more;
    }
    plumb_varint_put(start - 1, n);
}

/* The next piece of a text as it is written: a character, or a byte in our notation. Returns its
 * bytes; *read is how many of the text it stands for. */
static size_t next_piece(char piece[4], const char *p, size_t *read)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = plumb_utf8_sequence(p);
    if (n > 0 && !plumb_utf8_looks_escaped(p)) {
        memcpy(piece, p, n);
        *read = n;
        return n;
    }
    unsigned char byte = (unsigned char)*p;
    piece[0] = '\\';
    piece[1] = 'x';
    piece[2] = digits[byte >> 4];
    piece[3] = digits[byte & 15];
    *read = 1;
    return 4;
}

static void put_escaped(struct plumb_pb *w, const char *text, size_t max)
{
    static const char dots[3] = {'.', '.', '.'};
    unsigned char *start = w->p, *cut = w->p; /* the last place where the dots would fit */
    char piece[4];
    size_t read;
    while (*text && !w->full) {
        size_t n = next_piece(piece, text, &read);
        if ((size_t)(w->p - start) + sizeof dots <= max)
            cut = w->p;
        if ((size_t)(w->p - start) + n > max) {
            w->p = cut;
            put_bytes(w, dots, sizeof dots);
            return;
        }
        put_bytes(w, piece, n);
        text += read;
    }
}

void plumb_pb_text(struct plumb_pb *w, uint32_t field, const char *text, size_t max)
{
    unsigned char *start = plumb_pb_open(w, field);
    put_escaped(w, text, max);
    plumb_pb_close(w, start);
}
