/* Fuzz target: any bytes as a JSON text, and as lines of it. jansson and the scan must agree about
 * the text; of lines, a fault is explained in one line. */
#include <stdint.h>
#include <stdio.h>

#include "../json_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan_lines(const char *padded, size_t size)
{
    static struct plumb_json_scan s;
    plumb_json_scan_init(&s, PLUMB_JSON_LINES | PLUMB_JSON_NAN);
    plumb_json_scan_text(&s, padded, size);
    while (plumb_json_next(&s) > PLUMB_JSON_END)
        continue;
    if (s.token == PLUMB_JSON_ERROR) {
        plumb_error err = {0, ""};
        if (plumb_json_scan_fail(&s, "input", &err) != PLUMB_ERR_FORMAT ||
            strchr(err.message, '\n'))
            abort();
    }
    plumb_json_scan_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *padded = calloc(1, size + PLUMB_JSON_PADDING);
    if (!padded)
        return 0;
    if (size)
        memcpy(padded, data, size);
    const char *wrong = json_compare(padded, size, 0);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    scan_lines(padded, size);
    free(padded);
    return 0;
}
