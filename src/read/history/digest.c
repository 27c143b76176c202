/* digest.c: see digest.h. */
#include "read/history/digest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(PLUMB_HISTORY)
#include <nettle/sha2.h>

static void hash(uint8_t out[32], const void *bytes, size_t n)
{
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, n, bytes);
    sha256_digest(&sha, 32, out);
}
#else
static void hash(uint8_t out[32], const void *bytes, size_t n)
{
    (void)bytes, (void)n;
    memset(out, 0, 32);
}
#endif

void plumb_digest(char out[PLUMB_DIGEST], const void *bytes, size_t n)
{
    uint8_t digest[32];
    hash(digest, bytes, n);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void plumb_digest_text(char out[PLUMB_DIGEST], const char *text)
{
    plumb_digest(out, text, strlen(text));
}
