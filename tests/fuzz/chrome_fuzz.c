/* Fuzz target: any bytes as a Chrome trace. If the reader accepts them, the table holds together
 * (table_check.h). */
#include <stdlib.h>
#include <string.h>

#include "read/json/scan.h"
#include "read/trace/chrome.h"
#include "table_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plumb_table t;
    plumb_error err;
    char *text = calloc(1, size + PLUMB_JSON_PADDING);
    if (!text)
        return 0;
    memcpy(text, data, size);
    if (plumb_chrome_parse(&t, text, size, "input", &err) == PLUMB_OK) {
        table_check(&t);
        plumb_table_fini(&t);
    }
    plumb_chrome_looks(text, size);
    free(text);
    return 0;
}
