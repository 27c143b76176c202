/* gz.h: compresses lines of text that resemble each other (the events of a JSON trace) into one
 * gzip member (RFC 1952, RFC 1951), faster and smaller than a compressor that knows nothing of
 * lines.
 *
 * The text is written straight into the stream's own buffer, so that nothing is copied on the way.
 * `out` is a buffer of the caller of at least PLUMB_GZ_OUT bytes:
 *
 *     plumb_gz_open(z);
 *     for each event
 *         if (!plumb_chrome_event(&z->in, event)) {     // full
 *             plumb_gz_flush(z, &out);
 *             write out.used bytes, set it to 0, and write the event again
 *         }
 *     plumb_gz_close(z, &out);
 *     write out.used bytes
 *
 * The flushed bytes are a valid beginning: decompressors return its text, and then report that the
 * end is missing. Any bytes may be written; bytes other than lines of JSON take more time and
 * shrink less.
 *
 * No allocation, no system call, no lock. Threads: a stream belongs to one caller at a time. */
#ifndef PLUMB_CODEC_GZ_GZ_H
#define PLUMB_CODEC_GZ_GZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/out.h"

enum {
    PLUMB_GZ_WINDOW = 32 * 1024,
    PLUMB_GZ_TEXT = 384 * 1024,          /* size of z->in: any event fits */
    PLUMB_GZ_OUT = PLUMB_GZ_TEXT + 4096, /* free bytes in `out` that are always enough */
    PLUMB_GZ_PAIRS = 32 * 1024,
    PLUMB_GZ_HASH_BITS = 12,
    PLUMB_GZ_LINES = 1024, /* more than a window has */
    PLUMB_GZ_PAD = 64,
};

/* Literals, then a match; the last ones of a block have length 0. */
struct plumb_gz_pair {
    uint32_t literals;
    uint16_t length, distance;
};

struct plumb_gz_line {
    uint32_t position;   /* modulo 2^32 */
    uint16_t hash, head; /* of its bytes up to its time; how many they are */
};

struct plumb_gz {
    struct plumb_out in; /* append here */
    /* ---- The encoder's ---- */
    uint64_t total;        /* bytes of text before in.base */
    uint64_t bits;         /* not yet written; the first one lowest */
    uint32_t bit_count;    /* below 8 between calls */
    uint32_t crc, history; /* history: bytes before in.base that may be referred to */
    uint32_t pair_count;
    bool begun;
    uint32_t tokens[1 << PLUMB_GZ_HASH_BITS];   /* where a token began, by its first bytes */
    uint32_t by_head[1 << PLUMB_GZ_HASH_BITS];  /* number of a line, by its hash */
    struct plumb_gz_line lines[PLUMB_GZ_LINES]; /* by their numbers */
    uint32_t line_count, likely_line;
    uint32_t crc_table[8][256];
    uint32_t literal_counts[288], distance_counts[32];
    struct plumb_gz_pair pairs[PLUMB_GZ_PAIRS];
    unsigned char text[PLUMB_GZ_WINDOW + PLUMB_GZ_TEXT + PLUMB_GZ_PAD];
};

/* Whatever `z`, some 700 KiB, holds. */
void plumb_gz_open(struct plumb_gz *z);
/* Compresses the contents of z->in and empties it. False, with nothing done: `out` has too few free
 * bytes. */
bool plumb_gz_flush(struct plumb_gz *z, struct plumb_out *out);
/* Writes the remaining bytes and the member's end. The stream may then be opened again. */
bool plumb_gz_close(struct plumb_gz *z, struct plumb_out *out);

#endif
