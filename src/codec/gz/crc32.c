/* crc32.c: the checksum of gzip, eight bytes a step by tables. The tables are the caller's: 8 KiB
 * that few processes need have no place among a library's constants. */
#include <string.h>

#include "codec/gz/parts.h"

void plumb_crc32_table(uint32_t table[8][256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

static uint32_t load_le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t plumb_crc32(uint32_t table[8][256], uint32_t crc, const unsigned char *p, size_t n)
{
    crc = ~crc;
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t a = crc ^ load_le32(p), b = load_le32(p + 4);
        crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^
              table[4][a >> 24] ^ table[3][b & 255] ^ table[2][b >> 8 & 255] ^
              table[1][b >> 16 & 255] ^ table[0][b >> 24];
    }
    for (; n > 0; p++, n--)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}
