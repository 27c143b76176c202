/* Fuzz target: any bytes as a trace in Perfetto's format. If the reader accepts them, the table
 * holds together (table_check.h). */
#include "read/trace/perfetto.h"
#include "table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_table t;
    plumb_error err;
    if (plumb_perfetto_parse(&t, data, size, "input", &err) < 0)
        return 0;
    table_check(&t);
    plumb_table_fini(&t);
    return 0;
}
