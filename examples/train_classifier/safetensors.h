/* The header of a safetensors file: 8 bytes of length, then JSON that says which tensor lies where,
 * then the data. https://github.com/huggingface/safetensors has the format.
 *
 * Of the format this knows tensors of float32 with one or two axes, and metadata; anything else is
 * refused with a reason. */
#ifndef TRAIN_CLASSIFIER_SAFETENSORS_H
#define TRAIN_CLASSIFIER_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

enum { SAFETENSORS_MAX_TENSORS = 16, SAFETENSORS_MAX_FACTS = 16, SAFETENSORS_MAX_AXES = 2 };

struct safetensors_tensor {
    char name[32];
    int n_axes;
    int64_t shape[SAFETENSORS_MAX_AXES];
    uint64_t begin_bytes, end_bytes; /* from the first byte of the data */
};

/* One line of the metadata. */
struct safetensors_fact {
    char key[32], value[64];
};

struct safetensors_header {
    int n_tensors, n_facts;
    struct safetensors_tensor tensors[SAFETENSORS_MAX_TENSORS];
    struct safetensors_fact facts[SAFETENSORS_MAX_FACTS];
};

/* Reads JSON of `size` bytes, any bytes at all, in front of `data_bytes` bytes of data. On success
 * (0) the tensors cover the data without gap or overlap. On failure (-1) `error` says why. */
int safetensors_parse(struct safetensors_header *out, const char *json, size_t size,
                      uint64_t data_bytes, char *error, size_t error_bytes);

/* Writes the JSON, padded with blanks to a multiple of 8. Returns its length, or 0 when `size`
 * bytes are too few. Names, keys and values must not hold quotes, backslashes or control
 * characters. */
size_t safetensors_format(const struct safetensors_header *header, char *json, size_t size);

const struct safetensors_tensor *safetensors_find(const struct safetensors_header *header,
                                                  const char *name);

/* The value of a fact, or NULL. */
const char *safetensors_fact(const struct safetensors_header *header, const char *key);

#endif
