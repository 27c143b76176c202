/* Fuzz target: any bytes as a .npy file. */
#include "../activation_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    activation_fuzz(data, size, "block.3.attn.out.npy");
    return 0;
}
