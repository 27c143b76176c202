/* Fuzz target: any bytes as a dump.json of msprobe. */
#include "../activation_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    activation_fuzz(data, size, "dump.json");
    return 0;
}
