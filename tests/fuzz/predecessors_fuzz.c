/* Fuzz target: any bytes as the table of other profilers' names. An accepted table answers
 * questions, and an error is explained in one line. */
#include <stdlib.h>
#include <string.h>

#include "report/names/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plumb_predecessors *table = NULL;
    plumb_error err = {0, ""};
    struct plumb_buf out = {0};
    int rc = plumb_predecessors_parse(&table, (const char *)data, size, "input", &err);
    if (rc != PLUMB_OK) {
        if (rc != PLUMB_ERR_FORMAT || table || !err.message[0] || strchr(err.message, '\n'))
            abort();
        return 0;
    }
    plumb_predecessors_list(&out, table);
    plumb_predecessors_page(&out, table);
    plumb_predecessors_explain(&out, table, "FASTVIDEO_STAGE_LOGGING=1", &err);
    plumb_buf_fini(&out);
    plumb_predecessors_close(table);
    return 0;
}
