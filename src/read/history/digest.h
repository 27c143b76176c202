/* digest.h: SHA-256 in hex digits, by Nettle; without it (PLUMB_HISTORY is not defined) all zeros,
 * which no caller comes to, because plumb_store_is_built() fails first. Any thread. */
#ifndef PLUMB_READ_HISTORY_DIGEST_H
#define PLUMB_READ_HISTORY_DIGEST_H

#include <stddef.h>

enum { PLUMB_DIGEST = 65 }; /* 64 digits and a NUL */

void plumb_digest(char out[PLUMB_DIGEST], const void *bytes, size_t n);
void plumb_digest_text(char out[PLUMB_DIGEST], const char *text);

#endif
