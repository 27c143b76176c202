/* shapes.c: see shapes.h. Only digits, commas and names of types get into the lists,
 * so that they are JSON whatever a file holds. */
#include "report/export/shapes.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "input.";

/* Splits a text like "float32[2,3]"; false: it has another form. */
static bool parse(const char *text, int *type_bytes, const char **dims, int *dims_bytes)
{
    size_t type = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (type == 0 || text[type] != '[')
        return false;
    *dims = text + type + 1;
    size_t n = strspn(*dims, "0123456789,");
    if (strcmp(*dims + n, "]") != 0)
        return false;
    for (size_t i = 0; i < n;
         i++) { /* each comma stands between numbers, none of which begins with 0 */
        bool number = (*dims)[i] != ',', begins = i == 0 || (*dims)[i - 1] == ',';
        bool long_zero = (*dims)[i] == '0' && i + 1 < n && (*dims)[i + 1] != ',';
        if ((begins && (!number || long_zero)) || (!number && i + 1 == n))
            return false;
    }
    *type_bytes = (int)type;
    *dims_bytes = (int)n;
    return true;
}

static bool append(char *list, size_t *used, const char *format, const char *text, int bytes)
{
    size_t room = PLUMB_EXPORT_SHAPES_MAX - *used;
    int n = snprintf(list + *used, room, format, *used ? "," : "[", bytes, text);
    if (n < 0 || (size_t)n + 2 > room)
        return false;
    *used += (size_t)n;
    return true;
}

bool plumb_export_shapes(const struct plumb_table *t, uint32_t from, uint32_t to,
                         struct plumb_export_shapes *out)
{
    size_t dims_used = 0, types_used = 0;
    bool tensors = false;
    for (uint32_t i = from; i < to; i++) {
        const char *dims = "";
        int type_bytes = 0, dims_bytes = 0;
        bool is_text = t->slice_args.type[i] == PLUMB_ARG_TEXT;
        const char *text = is_text ? plumb_table_text(t, (uint32_t)t->slice_args.value[i].u64) : "";
        if (strncmp(plumb_table_text(t, t->slice_args.key[i]), prefix, sizeof prefix - 1) != 0)
            continue;
        tensors |= parse(text, &type_bytes, &dims, &dims_bytes);
        if (!append(out->dims, &dims_used, "%s[%.*s]", dims, dims_bytes) ||
            !append(out->types, &types_used, "%s\"%.*s\"", text, type_bytes))
            return false;
    }
    if (!tensors)
        return false;
    memcpy(out->dims + dims_used, "]", 2);
    memcpy(out->types + types_used, "]", 2);
    return true;
}
