/* chrome_args.c: see chrome_args.h. */
#include "report/export/chrome_args.h"

static struct plumb_chrome_arg chrome_arg(const struct plumb_table *t,
                                          const struct plumb_table_args *args, uint32_t i)
{
    struct plumb_chrome_arg to = {plumb_table_text(t, args->key[i]), PLUMB_CHROME_TEXT, {0}};
    switch ((enum plumb_table_type)args->type[i]) {
    case PLUMB_ARG_I64:
        to.type = PLUMB_CHROME_I64;
        to.v.i64 = args->value[i].i64;
        break;
    case PLUMB_ARG_U64:
        to.type = PLUMB_CHROME_U64;
        to.v.u64 = args->value[i].u64;
        break;
    case PLUMB_ARG_F64:
        to.type = PLUMB_CHROME_F64;
        to.v.f64 = args->value[i].f64;
        break;
    case PLUMB_ARG_BOOL:
        to.type = PLUMB_CHROME_BOOL;
        to.v.boolean = args->value[i].u64 != 0;
        break;
    case PLUMB_ARG_POINTER:
        to.type = PLUMB_CHROME_POINTER;
        to.v.u64 = args->value[i].u64;
        break;
    case PLUMB_ARG_TEXT:
    case PLUMB_ARG_JSON: /* said to be JSON by a file that may say anything */
        to.v.text = plumb_table_text(t, (uint32_t)args->value[i].u64);
        break;
    }
    return to;
}

size_t plumb_export_chrome_args(const struct plumb_table *t, const struct plumb_table_args *args,
                                uint32_t from, uint32_t to, struct plumb_chrome_arg *out, size_t n)
{
    for (uint32_t i = from; i < to && n < PLUMB_CHROME_ARGS_MAX; i++)
        out[n++] = chrome_arg(t, args, i);
    return n;
}
