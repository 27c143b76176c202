/* Fuzz target: any bytes as JSONL of activation records. */
#include "../activation_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    activation_fuzz(data, size, "x.jsonl");
    return 0;
}
