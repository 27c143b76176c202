/* sanitize.h: any name as the name of a file. */
#ifndef PLUMB_BASE_TEXT_SANITIZE_H
#define PLUMB_BASE_TEXT_SANITIZE_H

enum { PLUMB_SAFE_NAME_MAX = 100 };

/* Writes a file name of 1 to 100 bytes of valid UTF-8 without '/' and control characters, and not
 * "." or "..". A name that already is such a file name stays as it is. In any other, '_' replaces
 * each character that is not allowed, and the name is cut and ends in '-' and a hash of 12 hex
 * digits of the whole name. So distinct names stay distinct. (A name that happens to end like that
 * gets a hash too.) */
void plumb_sanitize(char out[PLUMB_SAFE_NAME_MAX + 1], const char *name);

/* The same, of letters, digits, '.', '_' and '-' alone, without '.' or '-' at the front: a name
 * that stands in command lines without quotes. "by step" becomes "by_step-" and the hash. */
void plumb_sanitize_word(char out[PLUMB_SAFE_NAME_MAX + 1], const char *name);

#endif
