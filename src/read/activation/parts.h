/* parts.h: what the readers of activation records share. Each reader appends to a table that read.c
 * initialises and finishes. Order, calls and memory are the table's affair, not the reader's. */
#ifndef PLUMB_READ_ACTIVATION_PARTS_H
#define PLUMB_READ_ACTIVATION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "read/activation/table.h"
#include <plumb/error.h>

/* A text that ends in PLUMB_JSON_PADDING zeros, or any bytes, with the name that errors use. */
struct plumb_activation_source {
    struct plumb_activations *table;
    const char *name; /* also the path that refs lead to */
    int64_t step;     /* of the folder it lies in; < 0: none */
    int64_t rank;     /* likewise */
    bool bare;        /* of arrays only the place is wanted: their values are not looked at */
};

/* files.c: a file of any kind. */
/* pending.c: completes the file of a killed process; called before `path` is read. `lines` begins
 * empty and gets the lines that could not be written to the file. */
void plumb_activations_pending(struct plumb_buf *lines, const char *path);

int plumb_activations_file(const struct plumb_activation_source *from, plumb_error *err);
/* read.c: ends the table `t`, unless `rc` is an error already, and makes it `out`. */
int plumb_activations_finish(struct plumb_activations *out, struct plumb_activations *t,
                             const char *name, int rc, plumb_error *err);

/* JSONL, piece by piece. `fill` puts up to `size` bytes at `to` and returns how many, 0 at the end,
 * or an error. */
typedef int64_t (*plumb_activation_fill)(void *arg, char *to, size_t size, plumb_error *err);
int plumb_activations_lines(const struct plumb_activation_source *from, plumb_activation_fill fill,
                            void *arg, plumb_error *err);

/* A dump.json. `construct` and `stack` are NULL where there are none; all three are padded. */
struct plumb_activation_text_of {
    const char *text;
    size_t size;
    const char *name;
};
int plumb_activations_msprobe(const struct plumb_activation_source *from,
                              const struct plumb_activation_text_of *dump,
                              const struct plumb_activation_text_of *construct,
                              const struct plumb_activation_text_of *stack, plumb_error *err);

/* Arrays. */
int plumb_activations_npy(const struct plumb_activation_source *from, const char *module_of,
                          const unsigned char *data, size_t size, plumb_error *err);
int plumb_activations_safetensors(const struct plumb_activation_source *from,
                                  const unsigned char *data, size_t size, plumb_error *err);

/* Tells the records of `t` from `first` on where their values lie. `dumps` are the records of the
 * files next to them, read bare. A record and its values agree in module, tensor, step, call and
 * rank. Writes the numbers of the dumps without a record into `left` [dumps->count] and returns how
 * many, or PLUMB_ERR_MEMORY. */
int64_t plumb_activations_attach(struct plumb_activations *t, size_t first,
                                 const struct plumb_activations *dumps, uint32_t *left,
                                 plumb_error *err);

/* Gives a record the step and the rank of the folder, where it has none of its own. */
void plumb_activation_place(struct plumb_activation *r, const struct plumb_activation_source *from);

/* The texts of "block.3.attn.out[1]" as `r->module` and `r->tensor`; without a label at its end,
 * "out". `r->io` follows from the label. */
void plumb_activation_name(struct plumb_activations *t, struct plumb_activation *r,
                           const char *name, size_t size);
enum plumb_activation_io plumb_activation_io_of(const char *label, size_t size);
/* A type's name without "torch." and the like. */
uint32_t plumb_activation_dtype(struct plumb_activations *t, const char *name, size_t size);

#endif
