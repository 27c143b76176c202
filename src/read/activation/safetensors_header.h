/* safetensors_header.h: what the header of a .safetensors file says, checked before a byte of the
 * data is touched: ranges against the file, against the sizes, and against each other. Any thread,
 * one header at a time. */
#ifndef PLUMB_READ_ACTIVATION_SAFETENSORS_HEADER_H
#define PLUMB_READ_ACTIVATION_SAFETENSORS_HEADER_H

#include "base/arena.h"
#include "read/activation/array.h"

struct plumb_safetensors_entry {
    const char *name;
    size_t name_size;
    struct plumb_activation_array a;
};

struct plumb_safetensors_note { /* a member of `__metadata__` that is a string */
    const char *key, *text;     /* with a NUL at the end of each; there may be others in `text` */
    size_t text_size;
};

/* Owned as a whole: everything lives in `arena` and dies with plumb_safetensors_fini(). */
struct plumb_safetensors {
    struct plumb_arena arena;
    struct plumb_safetensors_entry **at; /* in the order of their data */
    size_t count, cap;
    struct plumb_safetensors_note *notes;
    size_t note_count, note_cap;
};

/* Bytes of the file that plumb_safetensors_read() needs, from its first 8; more than any header
 * has: PLUMB_ERR_FORMAT. */
int plumb_safetensors_head_bytes(uint64_t *out, const unsigned char first[8], uint64_t file_bytes,
                                 const char *name, plumb_error *err);

/* Fills `out`, the caller's to end, from the first bytes of a file of `file_bytes`; `name` is what
 * errors call it.
 *   errors  PLUMB_ERR_FORMAT, PLUMB_ERR_MEMORY. After one there is nothing to end. */
int plumb_safetensors_read(struct plumb_safetensors *out, const unsigned char *head,
                           uint64_t file_bytes, const char *name, plumb_error *err);
void plumb_safetensors_fini(struct plumb_safetensors *s);

/* Returns the note or the tensor of that name, or NULL. */
const struct plumb_safetensors_note *plumb_safetensors_note(const struct plumb_safetensors *s,
                                                            const char *key);
const struct plumb_safetensors_entry *plumb_safetensors_find(const struct plumb_safetensors *s,
                                                             const char *name);

#endif
