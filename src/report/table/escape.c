/* escape.c: names in Markdown and CSV. No state. */
#include "report/table/escape.h"

#include <string.h>

#include "summary/cells.h"

void plumb_put_clean_md(struct plumb_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_<[&", *text))
            plumb_buf_char(out, '\\');
        plumb_buf_char(out, *text);
    }
}

void plumb_put_md(struct plumb_buf *out, const char *text)
{
    struct plumb_buf clean = {0};
    plumb_put_left(&clean, text, 0);
    out->failed |= clean.failed;
    plumb_put_clean_md(out, clean.data ? clean.data : "");
    plumb_buf_fini(&clean);
}

void plumb_put_clean_csv(struct plumb_buf *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        plumb_buf_char(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            plumb_buf_char(out, '"');
        plumb_buf_char(out, *p);
    }
    if (quoted)
        plumb_buf_char(out, '"');
}

void plumb_put_csv(struct plumb_buf *out, const char *text)
{
    struct plumb_buf clean = {0};
    plumb_put_left(&clean, text, 0);
    out->failed |= clean.failed;
    plumb_put_clean_csv(out, clean.data ? clean.data : "");
    plumb_buf_fini(&clean);
}
