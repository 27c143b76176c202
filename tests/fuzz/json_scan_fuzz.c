/* Fuzz target: any bytes as a JSON text, and as lines of it.
 *
 * jansson and both ways of the scan must agree about the text; and of the lines, both ways must
 * give the same tokens. */
#include <stdint.h>
#include <stdio.h>

#include "../json_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_lines(const char *padded, size_t size)
{
    static struct plumb_json_scan a, b;
    plumb_json_scan_init(&a, PLUMB_JSON_LINES | PLUMB_JSON_NAN);
    plumb_json_scan_init(&b, PLUMB_JSON_LINES | PLUMB_JSON_NAN | PLUMB_JSON_SCALAR);
    plumb_json_scan_text(&a, padded, size);
    plumb_json_scan_text(&b, padded, size);
    do {
        plumb_json_next(&a);
        plumb_json_next(&b);
        if (a.token != b.token || a.line != b.line || a.slot != b.slot || a.at != b.at ||
            a.depth != b.depth)
            abort();
        if (a.token == PLUMB_JSON_STRING && (a.size != b.size || memcmp(a.text, b.text, a.size)))
            abort();
    } while (a.token > PLUMB_JSON_END);
    if (a.token == PLUMB_JSON_ERROR) {
        plumb_error err = {0, ""};
        if (plumb_json_scan_fail(&a, "input", &err) != PLUMB_ERR_FORMAT ||
            strchr(err.message, '\n'))
            abort();
    }
    plumb_json_scan_fini(&a);
    plumb_json_scan_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned ways[] = {0, PLUMB_JSON_SCALAR};
    char *padded = calloc(1, size + PLUMB_JSON_PADDING);
    if (!padded)
        return 0;
    if (size)
        memcpy(padded, data, size);
    for (int i = 0; i < 2; i++) {
        const char *wrong = json_compare(padded, size, ways[i]);
        if (wrong) {
            fprintf(stderr, "%s\n", wrong);
            abort();
        }
    }
    compare_lines(padded, size);
    free(padded);
    return 0;
}
