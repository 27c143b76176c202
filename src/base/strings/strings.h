/* strings.h: texts that are stored once and named by number. Number 0 is "". One thread at a time
 * while texts are added; any number of threads read. */
#ifndef PLUMB_BASE_STRINGS_STRINGS_H
#define PLUMB_BASE_STRINGS_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { PLUMB_STRINGS_MAX = 1 << 29 };

struct plumb_strings {
    struct plumb_buf text;     /* one after the other, each with a NUL at its end */
    size_t *at;                /* of each, in `text` */
    uint32_t *slots;           /* hash table of numbers + 1 */
    uint32_t count, cap, mask; /* mask: slots less one */
};

/* The number of the `n` bytes at `text`, which need not end in NUL; a NUL among them becomes a
 * space. Sets `text.failed` when out of memory, and gives 0. */
uint32_t plumb_strings_put(struct plumb_strings *s, const void *text, size_t n);
/* The same for a text as plumb writes it: each \xHH in it is the byte that it stands for. */
uint32_t plumb_strings_put_escaped(struct plumb_strings *s, const void *text, size_t n);
/* The number of a text, or UINT32_MAX: it is not among them. */
uint32_t plumb_strings_find(const struct plumb_strings *s, const char *text);
/* The same for a key of `n` texts, 1 or more: two keys are one where each of their texts is equal.
 * Never 0 but out of memory. A table holds either texts or keys. */
uint32_t plumb_strings_put_key(struct plumb_strings *s, const char *const *texts, size_t n);
uint32_t plumb_strings_find_key(const struct plumb_strings *s, const char *const *texts, size_t n);
/* Lives until the next text is added. */
static inline const char *plumb_strings_get(const struct plumb_strings *s, uint32_t id)
{
    return id < s->count ? s->text.data + s->at[id] : "";
}
void plumb_strings_fini(struct plumb_strings *s);

#endif
