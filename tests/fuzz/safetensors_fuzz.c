/* Fuzz target: any bytes as a checkpoint of examples/train_classifier.
 *
 * Accepted tensors lie within the data, and what was read is what is read again after it was
 * written: otherwise a checkpoint that was loaded and saved would not be that checkpoint.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tensors(const struct safetensors_header *h, uint64_t data_bytes)
{
    for (int i = 0; i < h->n_tensors; i++) {
        const struct safetensors_tensor *t = &h->tensors[i];

        if (t->begin_bytes > t->end_bytes || t->end_bytes > data_bytes)
            abort();
        if (safetensors_find(h, t->name) != t)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[1 << 16];
    struct safetensors_header once, twice;
    char error[160];
    uint64_t json_bytes;
    size_t written;

    if (size < sizeof json_bytes)
        return 0;
    memcpy(&json_bytes, data, sizeof json_bytes);
    data += sizeof json_bytes;
    size -= sizeof json_bytes;
    if (json_bytes > size)
        return 0;
    if (safetensors_parse(&once, (const char *)data, json_bytes, size - json_bytes, error,
                          sizeof error) < 0)
        return 0;
    check_tensors(&once, size - json_bytes);
    written = safetensors_format(&once, text, sizeof text);
    if (written == 0 ||
        safetensors_parse(&twice, text, written, size - json_bytes, error, sizeof error) < 0)
        abort();
    if (memcmp(&once, &twice, sizeof once) != 0)
        abort();
    return 0;
}
