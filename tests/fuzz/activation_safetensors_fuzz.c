/* Fuzz target: any bytes as a .safetensors file of activations. */
#include "../activation_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    activation_fuzz(data, size, "x.safetensors");
    return 0;
}
