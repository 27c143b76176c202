/* Fuzz target: any bytes as records that wait for their lines. The file has a fixed size, so the
 * input is what it begins with: its head, then the ring. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/pending.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_buf lines = {0};
    char *bytes = calloc(1, PLUMB_PENDING_BYTES);
    plumb_error err;
    if (!bytes)
        return 0;
    memcpy(bytes, data, size < PLUMB_PENDING_BYTES ? size : PLUMB_PENDING_BYTES);
    plumb_pending_lines(&lines, bytes, PLUMB_PENDING_BYTES, -1, &err);
    plumb_buf_fini(&lines);
    free(bytes);
    return 0;
}
