/* protobuf.h: writes Protocol Buffers messages straight into memory of the caller. The first field
 * that does not fit sets `full`, and from then on nothing is written: check it once, at the end.
 * Nothing is allocated.
 *
 * A message's length stands before it and is known only after it. One byte is kept free for it, and
 * a message of 128 bytes or more moves up by another when it is closed. So every length is as short
 * as it can be, and a message has the bytes that any other writer would make of the same fields. */
#ifndef PLUMB_CODEC_PROTOBUF_H
#define PLUMB_CODEC_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a field's value is laid out: the low 3 bits of its key. */
enum plumb_pb_wire {
    PLUMB_PB_VARINT = 0,
    PLUMB_PB_FIXED64 = 1,
    PLUMB_PB_BYTES = 2, /* and messages, and texts */
    PLUMB_PB_FIXED32 = 5,
};

struct plumb_pb {
    unsigned char *p, *end;
    bool full;
};

void plumb_pb_u64(struct plumb_pb *w, uint32_t field, uint64_t v); /* and bool, enum, uint32 */
void plumb_pb_i64(struct plumb_pb *w, uint32_t field, int64_t v);  /* and int32; not sint */
void plumb_pb_fixed64(struct plumb_pb *w, uint32_t field, uint64_t v);
void plumb_pb_f64(struct plumb_pb *w, uint32_t field, double v);
/* Bytes as they are: of names that need not be UTF-8. */
void plumb_pb_bytes(struct plumb_pb *w, uint32_t field, const void *bytes, size_t n);
/* A text as valid UTF-8, escaped as json_write.h has it, and cut to `max` bytes (3 or more), the
 * last three then "...". */
void plumb_pb_text(struct plumb_pb *w, uint32_t field, const char *text, size_t max);
/* Begins a message; the return value is for its end. */
unsigned char *plumb_pb_open(struct plumb_pb *w, uint32_t field);
void plumb_pb_close(struct plumb_pb *w, unsigned char *start);

#endif
