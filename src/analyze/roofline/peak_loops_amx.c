/* peak_loops_amx.c: matrix tiles of 16 rows of 64 bytes. See peak_loops.h. Four
 * accumulators hide the latency; six leave two tiles for the operands. */
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analyze/roofline/peak_loops.h"

enum { TILES = 8, CHAINS = 6, ROWS = 16, ROW_BYTES = 64, REQUEST = 0x1023, TILE_DATA = 18 };

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void begin(unsigned char value)
{
    struct tile_config config = {.palette = 1};
    unsigned char bytes[ROWS * ROW_BYTES];
    for (int i = 0; i < TILES; i++) {
        config.row_bytes[i] = ROW_BYTES;
        config.rows[i] = ROWS;
    }
    memset(bytes, value, sizeof bytes);
    /* The intrinsics of gcc 12 say that they read eight bytes: the rest must be stored by now. */
    __asm__ volatile("" : : "r"(&config), "r"(bytes) : "memory");
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_loadd(6, bytes, ROW_BYTES);
    _tile_loadd(7, bytes, ROW_BYTES);
}

static void end(void *sink)
{
    _tile_stored(0, sink, ROW_BYTES);
    _tile_release();
}

static void bf16(uint64_t rounds, void *sink)
{
    begin(0x3c);
    for (; rounds; rounds--) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    end(sink);
}

static void int8(uint64_t rounds, void *sink)
{
    begin(3);
    for (; rounds; rounds--) {
        _tile_dpbssd(0, 6, 7);
        _tile_dpbssd(1, 6, 7);
        _tile_dpbssd(2, 6, 7);
        _tile_dpbssd(3, 6, 7);
        _tile_dpbssd(4, 6, 7);
        _tile_dpbssd(5, 6, 7);
    }
    end(sink);
}

static bool has_bit(unsigned bit)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> bit & 1);
}

static bool has_bf16(void)
{
    return has_bit(22);
}

static bool has_int8(void)
{
    return has_bit(25);
}

/* The kernel refuses where it does not save tiles at context switches. */
static bool has(void)
{
    return has_bit(24) && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

/* A product of tiles of 16 rows: 16 * 16 sums of 32 (bf16) or 64 (int8) products. */
static const struct plumb_peak_loop loops[] = {
    {"amx-bf16", PLUMB_PEAK_BF16, 2.0 * 16 * 16 * 32 * CHAINS, bf16, has_bf16},
    {"amx-int8", PLUMB_PEAK_INT8, 2.0 * 16 * 16 * 64 * CHAINS, int8, has_int8},
    {NULL, PLUMB_PEAK_TYPES, 0, NULL, NULL},
};
const struct plumb_peak_table plumb_peak_amx = {has, loops, NULL, NULL};
