/* Fuzz target: any bytes as a JSON text, as a tree, and as lines of it. jansson and the scan must
 * agree about the text, and jansson and the tree about names that come twice; of lines, a fault is
 * explained in one line. */
#include <stdint.h>
#include <stdio.h>

#include "../json_compare.h"
#include "read/json/tree.h"

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

/* Looks at every byte of a tree; the number of its values. */
static size_t walk(const struct plumb_json_value *v)
{
    size_t n = 1;
    if (v->name && strlen(v->name) != v->name_bytes)
        abort();
    if (plumb_json_text(v) && strlen(plumb_json_text(v)) != v->count)
        abort();
    (void)plumb_json_as_real(v);
    for (size_t i = 0; i < plumb_json_count(v); i++)
        n += walk(plumb_json_at(v, i));
    return n;
}

static void read_tree(const char *text, size_t size)
{
    struct plumb_json_tree tree;
    plumb_error err = {0, ""};
    int rc = plumb_json_tree_read(&tree, text, size, 0, "input", &err);
    json_t *any = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    json_t *unique = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (any && (unique != NULL) != (rc == PLUMB_OK)) {
        fprintf(stderr, "%s\n", rc < 0 ? err.message : "a name that comes twice went through");
        abort();
    }
    if (rc == PLUMB_OK && walk(tree.root) == 0)
        abort();
    plumb_json_tree_fini(&tree);
    json_decref(any);
    json_decref(unique);
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
    read_tree(padded, size);
    scan_lines(padded, size);
    free(padded);
    return 0;
}
