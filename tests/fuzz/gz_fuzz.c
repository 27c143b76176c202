/* Fuzz target: zlib unpacks whatever gz packed, in blocks whose size is the first byte, to the same
 * bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "codec/gz/gz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_HERE = 64 * 1024 };

static struct plumb_gz gz;
static unsigned char block[PLUMB_GZ_OUT], packed[8 * SIZE_MAX_HERE], unpacked[SIZE_MAX_HERE + 1];
static size_t packed_bytes;

static void keep(bool (*step)(struct plumb_gz *, struct plumb_out *))
{
    struct plumb_out out = {block, sizeof block, 0};
    if (!step(&gz, &out) || packed_bytes + out.used > sizeof packed)
        abort();
    memcpy(packed + packed_bytes, block, out.used);
    packed_bytes += out.used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > SIZE_MAX_HERE)
        return 0;
    size_t piece = (size_t)16 << (data[0] & 15);
    packed_bytes = 0;
    plumb_gz_open(&gz);
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < piece ? size - at : piece;
        memcpy(gz.in.base, data + at, n);
        gz.in.used = n;
        keep(plumb_gz_flush);
    }
    keep(plumb_gz_close);
    z_stream s = {.next_in = packed,
                  .avail_in = (uInt)packed_bytes,
                  .next_out = unpacked,
                  .avail_out = sizeof unpacked};
    if (inflateInit2(&s, 16 + MAX_WBITS) != Z_OK || inflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    if (s.total_out != size || memcmp(unpacked, data, size) != 0)
        abort();
    inflateEnd(&s);
    return 0;
}
